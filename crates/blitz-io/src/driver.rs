//! The driver, in which a worker sleeps while tasks wait for the outside world.
//!
//! ```text
//!  block ─▶ until the first timer: reactor.wait ─▶ notes wakers ─▶ dispatch: wakes tasks of pools
//!                                                               ─▶ call_kept: calls other wakers
//! ```
//!
//! A pool gets its driver when one of its sockets, timers or files first needs it, or when the pool
//! is built with [`Backend::IoUring`].

#![forbid(unsafe_code)]

use crate::backend::{Backend, BackendChoice};
use crate::batch::{Kept, wake_all};
use crate::poll::{Limit, Reactor, Registration};
use crate::timers::Timers;
use crate::uring::Uring;
use blitz_core::Handle;
use blitz_core::driver::{self, Driver, DriverWait, IoBackend, PoolView};
use blitz_parts::readiness::Interest;
use blitz_parts::tuning::IO_EVENTS_MAX;
use mio::event::Source;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, OnceLock};

/// Waits for the sockets, timers and files of a pool's tasks, and wakes the tasks.
#[derive(Debug)]
pub struct IoDriver {
    reactor: Arc<Reactor>,
    timers: Timers,
    /// Due wakers that are not prompt: they may run user code.
    kept: Kept,
    backend: Backend,
    /// Created on first use; an error says why there is no ring. After the end of the pool no ring
    /// is created.
    uring: OnceLock<Result<Arc<Uring>, String>>,
}

/// How much a driver watches at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IoMetrics {
    /// Descriptors that are watched.
    pub registered: usize,
    /// Tasks that wait for one of these descriptors.
    pub waiting: usize,
    /// Operations that io_uring has not completed.
    pub under_way: usize,
    /// Whether a timer of the system ends the driver's waits. If not, the waits have a timeout,
    /// which counts milliseconds on Linux.
    pub system_timer: bool,
}

/// Returns the current pool's io_uring if its sockets use one.
pub(crate) fn uring_for_sockets() -> Option<Arc<Uring>> {
    let of_driver = |driver: &IoDriver, _| match driver.backend {
        Backend::IoUring => driver.uring().cloned(),
        _ => None,
    };
    // The socket may belong to a pool that goes on, although the current pool has ended.
    with_current(of_driver).ok().flatten().filter(|uring| uring.takes_operations())
}

/// Returns the current pool's io_uring if its files use one.
pub(crate) fn uring_for_files() -> Option<Arc<Uring>> {
    let of_driver = |driver: &IoDriver, _| driver.uring().cloned();
    // A pool that has ended collects no completions, so its files do without the ring.
    with_current(of_driver).ok().flatten().filter(|uring| uring.takes_operations())
}

/// Calls `f` with the driver of the current pool, or of the global one, if that pool has a driver.
pub(crate) fn with_plugged<R>(f: impl FnOnce(&IoDriver) -> R) -> Option<R> {
    driver::with_plugged(f)
}

/// Calls `f` with the driver of the current pool, or of the global one.
///
/// If the current thread is a worker of that pool, the second argument of `f` is its index.
///
/// # Errors
/// If the pool has no driver yet and gets none: the system refuses a resource, or the pool has
/// ended. A pool that has ended keeps the driver that it had. Also if the global pool cannot be
/// built.
pub(crate) fn with_current<R>(f: impl FnOnce(&IoDriver, Option<usize>) -> R) -> io::Result<R> {
    driver::with_current(IoDriver::new, f)
}

/// Lets the current pool, else the global one, watch `source`.
///
/// # Errors
/// If [`with_current`] fails, if the pool has ended, or if the system reports an error.
pub(crate) fn watch<E: Source>(source: E) -> io::Result<Registration<E>> {
    watch_for(source, Interest::READABLE | Interest::WRITABLE)
}

/// Works like [`watch`], for a source that works in one direction only.
///
/// # Errors
/// Fails as [`watch`] does.
pub(crate) fn watch_for<E: Source>(source: E, interest: Interest) -> io::Result<Registration<E>> {
    try_watch_for(source, interest).map_err(|(_, error)| error)
}

/// Works like [`watch_for`], with the source beside the error.
///
/// # Errors
/// Fails as [`watch`] does.
pub(crate) fn try_watch_for<E: Source>(
    source: E,
    interest: Interest,
) -> Result<Registration<E>, (E, io::Error)> {
    match with_current(|driver, _| driver.reactor.clone()) {
        Ok(reactor) => Registration::new(reactor, source, interest),
        Err(error) => Err((source, error)),
    }
}

impl IoDriver {
    fn new(pool: PoolView) -> io::Result<Arc<IoDriver>> {
        let backend = pool.backend::<Backend>().map_or(Backend::default(), |asked| *asked);
        let reactor = Reactor::new(pool.max_io_completions().unwrap_or(IO_EVENTS_MAX))?;
        let timers = Timers::new(pool, reactor.clone());
        let uring = OnceLock::new();
        if backend == Backend::IoUring {
            let _ = uring.set(Ok(Uring::new(&reactor)?));
        }
        Ok(Arc::new(IoDriver { reactor, timers, kept: Kept::default(), backend, uring }))
    }

    /// Returns which of the system's interfaces the driver uses. If that is not settled yet, this
    /// call settles it. If the system forbids io_uring later, the driver goes on with readiness.
    #[must_use]
    pub fn backend(&self) -> BackendChoice {
        let readiness = |reason| BackendChoice { backend: Backend::Readiness, reason };
        match self.backend {
            Backend::Readiness => readiness(None),
            _ => match self.try_uring() {
                Ok(uring) => match uring.why_broken() {
                    None => BackendChoice { backend: Backend::IoUring, reason: None },
                    reason => readiness(reason),
                },
                Err(reason) => readiness(Some(reason.clone())),
            },
        }
    }

    fn uring(&self) -> Option<&Arc<Uring>> {
        match self.backend {
            Backend::Readiness => None,
            _ => self.try_uring().as_ref().ok(),
        }
    }

    fn try_uring(&self) -> &Result<Arc<Uring>, String> {
        self.uring.get_or_init(|| Uring::new(&self.reactor).map_err(|error| error.to_string()))
    }

    /// Waits for events until `limit`, or for ever if there is none. Notes the wakers of events and
    /// of completed operations; returns whether there are any.
    fn wait(&self, limit: Option<Limit>) -> bool {
        let happened = self.reactor.wait(limit);
        match self.uring.get() {
            Some(Ok(uring)) => self.reactor.note(|batch| uring.collect(batch)),
            _ => happened,
        }
    }

    /// Whether io_uring reads or writes files. While it does, a paused clock does not advance. Nor
    /// does the clock advance while a blocking thread reads or writes a file.
    fn is_at_files(&self) -> bool {
        matches!(self.uring.get(), Some(Ok(uring)) if uring.is_at_files())
    }

    /// Returns the driver of the pool of `handle`; makes one if there is none.
    ///
    /// # Errors
    /// If the pool has no driver yet and gets none: the system refuses a resource, or the pool has
    /// ended. A pool that has ended keeps the driver that it had.
    pub fn of(handle: &Handle) -> io::Result<Arc<IoDriver>> {
        driver::of(handle, IoDriver::new)
    }

    /// Counts what the driver watches at this moment.
    #[must_use]
    pub fn metrics(&self) -> IoMetrics {
        let under_way = match self.uring.get() {
            Some(Ok(uring)) => uring.under_way(),
            _ => 0,
        };
        let (registered, waiting) = (self.reactor.registered(), self.reactor.waiting());
        let system_timer = self.reactor.has_timer();
        IoMetrics { registered, waiting, under_way, system_timer }
    }

    pub(crate) fn reactor(&self) -> &Arc<Reactor> {
        &self.reactor
    }

    pub(crate) fn timers(&self) -> &Timers {
        &self.timers
    }
}

impl IoBackend for Backend {
    fn prepare(&self, pool: &Handle) -> io::Result<()> {
        match self {
            // Creates the driver now, so that a missing io_uring is reported at once.
            Backend::IoUring => IoDriver::of(pool).map(drop),
            _ => Ok(()),
        }
    }
}

impl BackendChoice {
    /// Returns which interface the files and sockets of a pool use, and why it is not io_uring. If
    /// that is not settled yet, this call settles it.
    ///
    /// ```
    /// let runtime = blitz::Runtime::new()?;
    /// println!("{}", blitz::BackendChoice::of(&runtime)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the system refuses a resource that the pool needs for files and sockets, or if the pool
    /// has ended and never used files, sockets or timers.
    pub fn of(pool: impl Into<Handle>) -> io::Result<BackendChoice> {
        Ok(IoDriver::of(&pool.into())?.backend())
    }
}

impl Driver for IoDriver {
    fn block(&self) -> bool {
        if self.kept.has_any() {
            // Do not block: another worker that calls kept wakers may be stuck in one of them, so
            // the caller has to call the others. Collect events, too, since the caller may have no
            // room on its stack to call wakers.
            return self.poll();
        }
        let limit = self.timers.begin_wait(|| self.is_at_files());
        let happened = self.wait(limit);
        self.timers.end_wait();
        if happened {
            self.timers.collect();
            return true;
        }
        self.timers.collect_when_idle(|| self.is_at_files())
    }

    fn wake(&self) {
        self.reactor.wake();
    }

    fn poll(&self) -> bool {
        let happened = self.wait(Some(Limit::NOW));
        // While the pool ends no worker blocks, so a paused clock advances here.
        self.timers.collect_when_idle(|| self.is_at_files()) || happened || self.kept.has_any()
    }

    fn has_news(&self) -> bool {
        self.reactor.has_news()
    }

    fn dispatch(&self) -> bool {
        self.reactor.dispatch(&self.kept);
        self.timers.dispatch(&self.kept);
        self.kept.has_any()
    }

    fn call_kept(&self) {
        self.kept.call();
    }

    fn waits(&self) -> Vec<DriverWait> {
        let mut waits = self.reactor.waits();
        waits.extend(self.timers.waits());
        if let Some(Ok(uring)) = self.uring.get() {
            waits.extend(uring.waits());
        }
        waits
    }

    fn pool_is_idle(&self) {
        if self.timers.wants_to_know_of_idleness(|| self.is_at_files()) {
            self.reactor.wake();
        }
    }

    fn shut_down(&self) {
        // If a waker panics, the others are still called: those of sockets, of timers and of the
        // ring.
        let mut panics = Vec::new();
        let mut guard = |call: &mut dyn FnMut()| {
            panics.extend(catch_unwind(AssertUnwindSafe(call)).err());
        };
        guard(&mut || wake_all(self.kept.take()));
        guard(&mut || self.reactor.shut_down());
        guard(&mut || self.timers.shut_down());
        // Waits for a ring that another thread is making, and prevents later ones: a ring that is
        // not ended would never notify its users.
        let uring = self.uring.get_or_init(|| Err("the runtime has ended".to_owned()));
        // The ring comes last, because it waits for writes.
        if let Ok(uring) = uring {
            uring.end(|mut wakers| guard(&mut || wake_all(std::mem::take(&mut wakers))));
        }
        if let Some(panic) = panics.pop() {
            resume_unwind(panic);
        }
    }
}
