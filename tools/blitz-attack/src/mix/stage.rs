//! The shared state of a round's operations: its runtimes, its ledger, and the check of results.

use crate::ledger::{Kind, Ledger, Stub, Ticket};
use crate::plan::op::{Child, Op};
use crate::plan::{Plan, Planned};
use crate::watch::{self, Doing};
use blitz::{Handle, JoinError, Runtime};
use std::any::Any;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

/// The runtime ended before the operation did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop;

/// What an operation returns.
pub type Outcome = Result<u64, Stop>;
/// An operation that is awaited.
pub type Running = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// One runtime of a round.
pub struct Arena {
    /// Outlives the runtime.
    pub handle: Handle,
    /// `None` once the runtime is about to end.
    runtime: Mutex<Option<Arc<Runtime>>>,
    /// How many strays the runtime's panic handler certainly gets. A stray is a panic that no
    /// handle returns.
    pub strays_certain: AtomicU64,
    /// How many more strays the handler may get.
    pub strays_possible: AtomicU64,
    /// How many panics the handler got.
    pub strays_seen: Arc<AtomicU64>,
    /// Whether its start handler and its exit handler panic, on each of its threads.
    handlers_panic: bool,
}

impl Arena {
    /// The most panics that the runtime's handler may get, once the runtime has ended.
    #[must_use]
    pub fn strays_most(&self) -> u64 {
        let metrics = self.handle.metrics();
        // Spares that were started are among the workers.
        let threads = if self.handlers_panic { metrics.workers.len() as u64 } else { 0 };
        self.strays_certain.load(SeqCst) + self.strays_possible.load(SeqCst) + 2 * threads
    }
}

/// The shared state of a round's operations.
pub struct Stage {
    /// The runtimes.
    pub arenas: Vec<Arena>,
    /// The ledger.
    pub ledger: Ledger,
    /// The folder for files, which every round of the mix uses.
    pub folder: PathBuf,
    next_file: AtomicUsize,
}

impl Stage {
    /// Builds the runtimes of `plan`.
    ///
    /// # Errors
    /// The error of a builder.
    pub fn build(
        plan: &Plan,
        ledger: Ledger,
        folder: PathBuf,
    ) -> Result<Arc<Stage>, blitz::BuildError> {
        let mut arenas = Vec::new();
        for (home, settings) in plan.runtimes.iter().enumerate() {
            let seen = Arc::new(AtomicU64::new(0));
            let (counter, books) = (seen.clone(), ledger.clone());
            let on_panic = move |payload: Box<dyn Any + Send>| {
                counter.fetch_add(1, SeqCst);
                if !payload.is::<Planned>() {
                    let text = text_of(&*payload);
                    books.complain(format!("runtime {home} reports a panic: {text}"));
                }
            };
            let runtime = settings.build(Box::new(on_panic))?;
            let handle = runtime.handle();
            watch::add_runtime(handle.clone());
            arenas.push(Arena {
                handle,
                runtime: Mutex::new(Some(Arc::new(runtime))),
                strays_certain: AtomicU64::new(0),
                strays_possible: AtomicU64::new(0),
                strays_seen: seen,
                handlers_panic: settings.handlers_panic,
            });
        }
        Ok(Arc::new(Stage { arenas, ledger, folder, next_file: AtomicUsize::new(0) }))
    }

    /// Takes runtime `home` out, so that the caller can end it. From now on operations do not find
    /// it; waits until those that have found it no longer use it.
    ///
    /// # Panics
    /// If it was taken before.
    #[must_use]
    pub fn take(&self, home: usize) -> Runtime {
        let slot = self.arenas[home].runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut shared = slot.expect("a runtime is taken once");
        loop {
            match Arc::try_unwrap(shared) {
                Ok(runtime) => return runtime,
                Err(again) => shared = again,
            }
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
    }
}

/// Where an operation runs.
#[derive(Clone)]
pub struct Ctx {
    /// The round.
    pub stage: Arc<Stage>,
    /// The index of the runtime whose thread runs it.
    pub home: usize,
}

impl Ctx {
    /// The same round, on another runtime.
    #[must_use]
    pub fn on(&self, home: usize) -> Ctx {
        Ctx { stage: self.stage.clone(), home }
    }

    /// The handle of the current runtime.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.stage.arenas[self.home].handle
    }

    /// The current runtime, unless it is about to end.
    #[must_use]
    pub fn runtime(&self) -> Option<Arc<Runtime>> {
        let arena = &self.stage.arenas[self.home];
        arena.runtime.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A ticket for something of the current runtime.
    #[must_use]
    pub fn ticket(&self, kind: Kind) -> Ticket {
        self.stage.ledger.ticket(kind, self.home)
    }

    /// Whether the current runtime is about to end, or has ended.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.stage.ledger.is_ending(self.home)
    }

    /// Notes an event that must not happen.
    pub fn complain(&self, text: impl Into<String>) {
        self.stage.ledger.complain(text.into());
    }

    /// Notes that the runtime's panic handler may get a panic; if `certain`, it must.
    pub fn expect_stray(&self, certain: bool) {
        let arena = &self.stage.arenas[self.home];
        let count = if certain { &arena.strays_certain } else { &arena.strays_possible };
        count.fetch_add(1, SeqCst);
    }

    /// Notes that the operation is under way until the guard is dropped.
    #[must_use]
    pub fn doing(&self, op: &Op) -> Doing {
        watch::begin(op.name(), self.home)
    }

    /// Complains if `holds` is false.
    pub fn check(&self, holds: bool, what: &str) {
        if !holds {
            self.complain(what);
        }
    }

    /// Compares the result of `op` with the expected one.
    pub fn expect(&self, op: &Op, outcome: Outcome) -> Outcome {
        match outcome {
            Ok(value) if value != op.value() => {
                self.complain(format!("{} returned {value}, not {}", op.name(), op.value()));
            }
            _ => {}
        }
        outcome
    }

    /// Returns `Stop` if the current runtime is ending; complains otherwise.
    #[track_caller]
    pub fn stopped<T>(&self, what: &str) -> Result<T, Stop> {
        if !self.is_ending() {
            let place = std::panic::Location::caller();
            self.complain(format!("{place}: {what}, and runtime {} was not ending", self.home));
        }
        Err(Stop)
    }

    /// Checks the result of a handle of the current runtime whose work was not aborted.
    #[track_caller]
    pub fn settle<T>(&self, result: Result<T, JoinError>) -> Result<T, Stop> {
        match result {
            Ok(value) => Ok(value),
            Err(error) if error.is_cancelled() => self.stopped("a handle says cancelled"),
            Err(error) => {
                let payload = error.into_panic();
                if payload.is::<Planned>() && self.is_ending() {
                    // A custom waker of the program panicked; it was dropped with a cancelled task.
                    return Err(Stop);
                }
                let text = text_of(&*payload);
                let place = std::panic::Location::caller();
                self.complain(format!("{place}: a handle has a panic: {text}"));
                Err(Stop)
            }
        }
    }

    /// Checks the result of an I/O operation: an error is allowed only when the runtime ends.
    #[track_caller]
    pub fn io<T>(&self, what: &str, result: io::Result<T>) -> Result<T, Stop> {
        match result {
            Ok(value) => Ok(value),
            Err(error) => self.stopped(&format!("{what}: {error}")),
        }
    }

    /// A path that no other operation uses.
    #[must_use]
    pub fn new_path(&self) -> PathBuf {
        let number = self.stage.next_file.fetch_add(1, SeqCst);
        self.stage.folder.join(number.to_string())
    }

    /// Runs `op` as the body of the closure that carries `ticket`.
    pub fn with_ticket(&self, ticket: Ticket, op: &Child) -> Outcome {
        ticket.begin();
        let outcome = super::run::run(self, op);
        ticket.end();
        outcome
    }
}

/// A future that carries a ticket.
pub struct Ticketed<F> {
    future: Pin<Box<F>>,
    ticket: Ticket,
    begun: bool,
}

/// Gives `future` a ticket.
pub fn ticketed<F: Future>(ticket: Ticket, future: F) -> (Ticketed<F>, Stub) {
    let stub = ticket.stub();
    (Ticketed { future: Box::pin(future), ticket, begun: false }, stub)
}

impl<F: Future> Future for Ticketed<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        if self.begun {
            self.ticket.touch();
        } else {
            self.begun = true;
            self.ticket.begin();
        }
        let polled = self.future.as_mut().poll(cx);
        if polled.is_ready() {
            self.ticket.end();
        }
        polled
    }
}

/// The message of a panic.
#[must_use]
pub fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| {
        if payload.is::<Planned>() { "a planned panic".into() } else { "no text".into() }
    })
}
