//! `spawn_cpu`: a job of its own, with a handle to its result.

#![forbid(unsafe_code)]

use super::detached;
use super::latch::AnyLatch;
use crate::error::JoinError;
use crate::global;
use crate::panic::Payload;
use crate::pool::Pool;
use crate::team::Team;
use crate::worker::current;
use blitz_parts::prim::AtomicBool;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Runs `f` on the current pool, or on the global one, and returns at once.
///
/// Dropping the handle detaches the job; it still runs. Jobs that one worker spawns run newest first on
/// that worker.
///
/// ```
/// let handle = blitz::spawn_cpu(|| 6 * 7);
/// assert_eq!(handle.join().unwrap(), 42);
/// ```
pub fn spawn_cpu<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    global::current_team_or_global(|team| spawn_in(team, f))
}

impl Pool {
    /// As [`spawn_cpu`](crate::spawn_cpu), on this pool.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let handle = pool.spawn_cpu(|| (1..=10).sum::<i32>());
    /// assert_eq!(handle.join()?, 55);
    /// # Ok(())
    /// # }
    /// ```
    pub fn spawn_cpu<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        spawn_in(self.team(), f)
    }
}

fn spawn_in<F, T>(team: &Team, f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let packet = Arc::new(Packet {
        team: team.arc(),
        state: Mutex::new(State { detached: false, waiter: None, stage: Stage::Queued(f) }),
    });
    let job = packet.clone();
    team.push_or_inject(detached::job(team, move || job.run()));
    JoinHandle { packet }
}

/// The way to a spawned job's result.
///
/// Dropped, it leaves the job to itself: the job still runs, its result is dropped, and a panic goes
/// to the pool's panic handler.
#[must_use = "dropping the handle detaches the job; use `spawn_detached`, or say `drop(handle)`, if that is meant"]
pub struct JoinHandle<T> {
    packet: Arc<dyn Joinable<T> + Send + Sync>,
}

impl<T> JoinHandle<T> {
    /// Waits for the job and returns what it returned.
    ///
    /// On a worker of the job's pool, a job that has not begun is run right here, and otherwise the wait
    /// helps with other work. A worker of another pool works for its own pool meanwhile. A thread
    /// outside of every pool blocks until a worker has run the job.
    ///
    /// # Errors
    /// If the job panicked; [`JoinError::into_panic`] has the payload.
    ///
    /// # Blocking
    /// A thread outside of the pool blocks.
    pub fn join(self) -> Result<T, JoinError> {
        self.packet.join().map_err(JoinError::panicked)
    }

    /// Whether the job is done, so that [`JoinHandle::join`] would return at once.
    ///
    /// ```
    /// let handle = blitz::spawn_cpu(|| ());
    /// while !handle.is_finished() {
    ///     std::thread::yield_now();
    /// }
    /// handle.join().unwrap();
    /// ```
    pub fn is_finished(&self) -> bool {
        self.packet.is_finished()
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        self.packet.detach();
    }
}

// What a panic leaves half done it leaves in the job, and there it comes out as an error.
impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}

impl<T> std::fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JoinHandle").field("finished", &self.is_finished()).finish()
    }
}

/// What a handle can do without knowing the closure's type.
trait Joinable<T> {
    fn join(&self) -> Result<T, Payload>;
    fn detach(&self);
    fn is_finished(&self) -> bool;
}

/// What the job and its handle share.
struct Packet<F, T> {
    team: Arc<Team>,
    state: Mutex<State<F, T>>,
}

struct State<F, T> {
    /// The handle is gone.
    detached: bool,
    /// Whoever waits already.
    waiter: Option<Arc<AnyLatch>>,
    stage: Stage<F, T>,
}

enum Stage<F, T> {
    Queued(F),
    Running,
    Done(Result<T, Payload>),
    /// The result was taken.
    Gone,
}

impl<F, T> Packet<F, T>
where
    F: FnOnce() -> T,
{
    fn lock(&self) -> MutexGuard<'_, State<F, T>> {
        // User code never runs under the lock, so it cannot be left half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the job, unless its handle did.
    fn run(&self) {
        let mut state = self.lock();
        if !matches!(state.stage, Stage::Queued(_)) {
            return;
        }
        let Stage::Queued(f) = std::mem::replace(&mut state.stage, Stage::Running) else {
            unreachable!("checked above, under the same lock")
        };
        drop(state);
        let result = catch_unwind(AssertUnwindSafe(f));
        let mut state = self.lock();
        let waiter = state.waiter.take();
        let unwanted = if state.detached {
            state.stage = Stage::Gone;
            Some(result)
        } else {
            state.stage = Stage::Done(result);
            None
        };
        drop(state);
        if let Some(waiter) = waiter {
            AnyLatch::set_shared(&waiter);
        }
        if let Some(result) = unwanted {
            self.discard(result);
        }
    }

    /// Drops a result that nobody wants; a panic is somebody's business all the same.
    fn discard(&self, result: Result<T, Payload>) {
        match result {
            // The value's own drop may panic, too.
            Ok(value) => self.team.catch("the drop of a result", || drop(value)),
            Err(payload) => self.team.report_panic(payload),
        }
    }
}

impl<F, T> Joinable<T> for Packet<F, T>
where
    F: FnOnce() -> T,
{
    fn join(&self) -> Result<T, Payload> {
        let _visit = current::visit();
        // A job that waits in a queue might wait behind us.
        if current::current().is_some_and(|worker| worker.is_in(&self.team)) {
            self.run();
        }
        let mut state = self.lock();
        if matches!(state.stage, Stage::Queued(_) | Stage::Running) {
            let latch = Arc::new(AnyLatch::for_current_thread());
            state.waiter = Some(latch.clone());
            drop(state);
            latch.wait_for_jobs_of(&self.team, AnyLatch::base(), &AtomicBool::new(true));
            state = self.lock();
        }
        match std::mem::replace(&mut state.stage, Stage::Gone) {
            Stage::Done(result) => result,
            _ => unreachable!("a handle is joined once"),
        }
    }

    fn detach(&self) {
        let mut state = self.lock();
        state.detached = true;
        if matches!(state.stage, Stage::Done(_)) {
            let done = std::mem::replace(&mut state.stage, Stage::Gone);
            drop(state);
            if let Stage::Done(result) = done {
                self.discard(result);
            }
        }
    }

    fn is_finished(&self) -> bool {
        matches!(self.lock().stage, Stage::Done(_) | Stage::Gone)
    }
}
