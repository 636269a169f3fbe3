//! Replaces parts of the standard library that shuttle lacks: a clock, timeouts, `OnceLock`,
//! `is_finished`.
//!
//! Time is logical: it passes when a thread asks for the time, and when a timeout is over. A
//! timeout may be over at any moment, as the schedule decides. If the model says that
//! [time stands still](let_time_stand_still), no timeout is ever over: then only a notification
//! ends a wait.

use super::randomised::any_below;
use shuttle::sync::{Mutex, MutexGuard};
use shuttle::thread::ThreadId;
use std::cell::{Cell, RefCell};
use std::ops::{Add, AddAssign, Sub};
use std::sync::{Arc, LockResult, PoisonError};
use std::time::Duration;

std::thread_local! {
    // All threads of a model run on one OS thread.
    static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static STANDS_STILL: Cell<bool> = const { Cell::new(false) };
    static STARTS_NONE: Cell<bool> = const { Cell::new(false) };
    /// The threads that were unparked.
    static UNPARKED: RefCell<Vec<ThreadId>> = const { RefCell::new(Vec::new()) };
}

/// By how much the clock advances whenever a thread reads it.
const TICK: Duration = Duration::from_micros(1);

/// Resets the state at the beginning of an execution.
pub(super) fn reset_system() {
    NOW.set(Duration::ZERO);
    STANDS_STILL.set(false);
    STARTS_NONE.set(false);
    UNPARKED.take();
}

/// Prevents every timeout from expiring until the end of this execution.
pub fn let_time_stand_still() {
    STANDS_STILL.set(true);
}

/// Makes every start of a thread fail until the end of this execution, as on a system with too many
/// threads.
pub fn let_no_thread_start() {
    STARTS_NONE.set(true);
}

fn let_pass(time: Duration) {
    NOW.set(NOW.get().saturating_add(time));
}

/// Stands in for [`std::time::Instant`], on the model's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(Duration);

impl Instant {
    /// Returns the current time. Each call returns a later time than the call before.
    pub fn now() -> Instant {
        let_pass(TICK);
        Instant(NOW.get())
    }

    /// The time since this moment.
    pub fn elapsed(&self) -> Duration {
        Instant::now().saturating_duration_since(*self)
    }

    /// The time since `earlier`; zero if `earlier` is later than this moment.
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// The moment that is `time` later; `None` if the clock cannot represent it.
    pub fn checked_add(&self, time: Duration) -> Option<Instant> {
        self.0.checked_add(time).map(Instant)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, time: Duration) -> Instant {
        Instant(self.0 + time)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, time: Duration) {
        self.0 += time;
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Instant) -> Duration {
        self.saturating_duration_since(earlier)
    }
}

/// The time since the execution began.
pub fn since_start() -> Duration {
    Instant::now().0
}

/// Blocks the thread until it is unparked or the time is over. Unless time stands still, the time
/// is over as soon as other threads have had a turn.
pub fn park_for(time: Duration) {
    if STANDS_STILL.get() {
        // A park of shuttle may end for no reason.
        while !take_unparked() {
            shuttle::thread::park();
        }
        return;
    }
    shuttle::thread::yield_now();
    let_pass(time);
}

/// Whether the current thread was unparked since it last asked.
fn take_unparked() -> bool {
    let current = shuttle::thread::current().id();
    UNPARKED.with_borrow_mut(|unparked| {
        let before = unparked.len();
        unparked.retain(|id| *id != current);
        unparked.len() < before
    })
}

/// Stands in for [`std::sync::Condvar`].
#[derive(Debug, Default)]
pub struct Condvar(Arc<shuttle::sync::Condvar>);

impl Condvar {
    /// The same as in `std`.
    pub fn new() -> Condvar {
        Condvar::default()
    }

    /// The same as in `std`.
    ///
    /// # Errors
    /// The same as in `std`.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.0.wait(guard)
    }

    /// The same as in `std`. If the schedule decides that the time is over, a thread that exists
    /// only for this wait wakes all waiters.
    ///
    /// # Errors
    /// The same as in `std`.
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        time: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, TimedOut)> {
        let passes = !STANDS_STILL.get() && any_below(2) == 0;
        let timer = passes.then(|| {
            let condvar = self.0.clone();
            shuttle::thread::spawn(move || {
                let_pass(time);
                condvar.notify_all();
            })
        });
        let timed_out = TimedOut(timer.is_some());
        let waited = self.0.wait(guard);
        waited
            .map(|guard| (guard, timed_out))
            .map_err(|error| PoisonError::new((error.into_inner(), timed_out)))
    }

    /// The same as in `std`.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// The same as in `std`.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// Whether a wait may have ended because its time was over.
#[derive(Clone, Copy, Debug)]
pub struct TimedOut(bool);

impl TimedOut {
    /// The same as [`std::sync::WaitTimeoutResult::timed_out`].
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

/// Stands in for [`std::sync::OnceLock`].
#[derive(Debug)]
pub struct OnceLock<T> {
    turn: Mutex<()>,
    value: std::sync::OnceLock<T>,
}

impl<T> Default for OnceLock<T> {
    fn default() -> OnceLock<T> {
        OnceLock::new()
    }
}

impl<T> OnceLock<T> {
    /// The same as in `std`.
    pub const fn new() -> OnceLock<T> {
        OnceLock { turn: Mutex::new(()), value: std::sync::OnceLock::new() }
    }

    /// The same as in `std`.
    pub fn get(&self) -> Option<&T> {
        // Makes this a step, at which the checker may switch threads.
        shuttle::thread::sleep(Duration::ZERO);
        self.value.get()
    }

    /// The same as in `std`.
    ///
    /// # Errors
    /// The same as in `std`.
    pub fn set(&self, value: T) -> Result<(), T> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.value.set(value)
    }

    /// The same as in `std`.
    pub fn get_or_init(&self, init: impl FnOnce() -> T) -> &T {
        if self.get().is_none() {
            let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            if self.value.get().is_none() {
                // `get_or_init` of `std` takes a lock, which would block the whole model.
                let _ = self.value.set(init());
            }
        }
        match self.value.get() {
            Some(value) => value,
            None => unreachable!("set above, and never cleared"),
        }
    }
}

pub mod thread {
    //! Stands in for [`std::thread`].

    pub use shuttle::thread::*;

    use std::io;
    use std::num::NonZeroUsize;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    /// Returns two: the model's machine has two cores.
    ///
    /// # Errors
    /// Never.
    pub fn available_parallelism() -> io::Result<NonZeroUsize> {
        NonZeroUsize::new(2).ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    /// Stands in for [`std::thread::Thread`].
    #[derive(Clone, Debug)]
    pub struct Thread(shuttle::thread::Thread);

    impl Thread {
        /// The same as in `std`.
        pub fn unpark(&self) {
            super::UNPARKED.with_borrow_mut(|unparked| unparked.push(self.0.id()));
            self.0.unpark();
        }
    }

    /// The same as [`std::thread::current`].
    pub fn current() -> Thread {
        Thread(shuttle::thread::current())
    }

    /// Stands in for [`std::thread::JoinHandle`].
    #[derive(Debug)]
    pub struct JoinHandle<T> {
        handle: shuttle::thread::JoinHandle<T>,
        thread: Thread,
        finished: Arc<AtomicBool>,
    }

    impl<T> JoinHandle<T> {
        /// The same as in `std`.
        ///
        /// # Errors
        /// The same as in `std`.
        pub fn join(self) -> Result<T> {
            self.handle.join()
        }

        /// The same as in `std`.
        pub fn thread(&self) -> &Thread {
            &self.thread
        }

        /// The same as in `std`.
        pub fn is_finished(&self) -> bool {
            self.finished.load(Relaxed)
        }
    }

    /// The same as [`std::thread::spawn`].
    pub fn spawn<F, T>(f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        match Builder::new().spawn(f) {
            Ok(handle) => handle,
            Err(error) => panic!("no thread starts: {error}"),
        }
    }

    /// Stands in for [`std::thread::Builder`].
    #[derive(Debug, Default)]
    pub struct Builder(shuttle::thread::Builder);

    impl Builder {
        /// The same as in `std`.
        pub fn new() -> Builder {
            Builder::default()
        }

        /// The same as in `std`.
        #[must_use]
        pub fn name(self, name: String) -> Builder {
            Builder(self.0.name(name))
        }

        /// The same as in `std`.
        #[must_use]
        pub fn stack_size(self, size: usize) -> Builder {
            Builder(self.0.stack_size(size))
        }

        /// The same as in `std`.
        ///
        /// # Errors
        /// If no thread [is to start](super::let_no_thread_start).
        pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
        where
            F: FnOnce() -> T + Send + 'static,
            T: Send + 'static,
        {
            if super::STARTS_NONE.get() {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let finished = Arc::new(AtomicBool::new(false));
            let ends = finished.clone();
            let handle = self.0.spawn(move || {
                let result = f();
                ends.store(true, Relaxed);
                result
            })?;
            let thread = Thread(handle.thread().clone());
            Ok(JoinHandle { handle, thread, finished })
        }
    }
}
