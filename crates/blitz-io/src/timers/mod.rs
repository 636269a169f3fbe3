//! The wheels of one runtime, and how the driver fires their timers.
//!
//! ```text
//!  sleep ─▶ wheel of this worker ─▶ its first? ─▶ alarm: does the driver block longer? ─▶ wake it
//!  driver: begin_wait ─▶ block ─▶ end_wait ─▶ collect, from all wheels ─▶ dispatch
//! ```
//!
//! Each worker has a wheel, so that workers do not wait for each other's locks; all other threads
//! share one wheel. The worker with the driver's lease fires the timers of all wheels, so no timer
//! is late because its worker computes.
//!
//! A blocked worker wakes for timers at most once per slack. The pool's builder sets the slack: see
//! [`blitz_parts::alarm`].

#![forbid(unsafe_code)]

pub(crate) mod clock;
pub(crate) mod estimate;

use crate::batch::{Batch, Kept, wake_all};
use crate::poll::{Limit, Reactor};
use blitz_core::driver::{Awaited, DriverWait, PoolView, TimerLateness, task_of};
use blitz_parts::alarm::{Alarm, NEVER, covered};
use blitz_parts::prim::{AtomicU64, Relaxed};
use blitz_parts::tuning::{TIMER_SLACK_MAX, TIMERS_AT_ONCE};
use blitz_parts::wheel::{Closed, Entry, OnEarlier, Wheel};
use clock::Clock;
use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

pub(crate) struct Timers {
    /// One per worker; the last one is for all other threads.
    wheels: Box<[&'static Wheel]>,
    bell: Arc<Bell>,
    clock: Clock,
    /// A recent tick: a lower bound of the current one.
    recent: AtomicU64,
    /// The tick at which the driver last fired timers: no timer that was due then is left.
    swept: AtomicU64,
    /// By how many ticks a timer may be delayed to fire together with others.
    slack: u64,
    pool: PoolView,
    /// Wakers of timers that are due.
    fired: Batch,
    /// How late timers fired. The lock of `fired` guards it.
    lateness: Option<TimerLateness>,
}

/// Notifies the driver of an earlier timer.
struct Bell {
    alarm: Alarm,
    reactor: Arc<Reactor>,
}

impl OnEarlier for Bell {
    fn is_earlier(&self, tick: u64) {
        if self.alarm.is_early(tick) {
            self.reactor.wake();
        }
    }
}

impl Timers {
    pub(crate) fn new(pool: PoolView, reactor: Arc<Reactor>) -> Timers {
        let clock = Clock::new(pool.paused_since());
        let now = clock::tick_before(clock.now());
        let bell = Arc::new(Bell { alarm: Alarm::new(), reactor });
        let wheels = 0..=pool.num_workers();
        Timers {
            wheels: wheels.map(|_| Wheel::open(now, bell.clone())).collect(),
            bell,
            clock,
            recent: AtomicU64::new(now),
            swept: AtomicU64::new(now),
            slack: clock::ticks_in(pool.timer_slack().min(TIMER_SLACK_MAX)),
            lateness: pool.timer_lateness(),
            pool,
            fired: Batch::default(),
        }
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Inserts a timer into the wheel of `worker`, or, for `None`, into that of all other threads.
    ///
    /// # Errors
    /// If the runtime has ended.
    #[inline]
    pub(crate) fn insert(
        &self,
        worker: Option<usize>,
        entry: Pin<&mut Entry>,
        tick: u64,
        waker: Waker,
    ) -> Result<(), Closed> {
        let others = self.wheels.len() - 1;
        let wheel = self.wheels[worker.unwrap_or(others).min(others)];
        wheel.insert(entry, tick, self.recent.load(Relaxed), waker)
    }

    /// Returns the limit of a wait that the driver is about to begin; `None` means for ever.
    /// `is_busy` returns whether the system runs an operation that counts as work of the pool.
    pub(crate) fn begin_wait(&self, is_busy: impl FnOnce() -> bool) -> Option<Limit> {
        let slack = if self.clock.is_stopped() { 0 } else { self.slack };
        let swept = self.swept.load(Relaxed);
        let until = self.bell.alarm.set(|| covered(self.earliest(), swept, slack));
        if until == NEVER {
            return None;
        }
        if self.clock.is_stopped() {
            // A paused clock does not advance by itself: another thread moves it, or the driver
            // does when the pool is idle.
            return self.is_idle(is_busy).then_some(Limit::NOW);
        }
        let end = clock::start_of(until.saturating_add(slack));
        let left = Duration::from_nanos(end.saturating_sub(self.clock.now()));
        Some(Limit { moment: self.clock.to_system(end), left })
    }

    /// Notes that the driver no longer blocks.
    pub(crate) fn end_wait(&self) {
        self.bell.alarm.clear();
    }

    /// Notes the wakers of timers that are due. Returns whether there are any.
    pub(crate) fn collect(&self) -> bool {
        let first = self.earliest();
        if first == NEVER {
            return false;
        }
        let moment = self.clock.now();
        let now = clock::tick_before(moment);
        self.recent.store(now, Relaxed);
        if first <= now {
            self.swept.store(now, Relaxed);
        }
        let mut fired = self.fired.lock();
        let lateness = self.lateness.as_ref().filter(|_| !self.clock.is_stopped());
        self.expire_with(now, &mut fired, |tick| {
            if let Some(lateness) = lateness {
                lateness.add(moment.saturating_sub(clock::start_of(tick)));
            }
        });
        !fired.is_empty()
    }

    /// Works like [`Timers::collect`]. If the clock is stopped and the pool is idle, advances the
    /// clock to the next timer. For `is_busy` see [`begin_wait`](Timers::begin_wait).
    pub(crate) fn collect_when_idle(&self, is_busy: impl FnOnce() -> bool) -> bool {
        if self.collect() {
            return true;
        }
        if !self.clock.is_stopped() || self.earliest() == NEVER || !self.is_idle(is_busy) {
            return false;
        }
        let next = self.wheels.iter().map(|wheel| wheel.next()).min().unwrap_or(NEVER);
        if next == NEVER || !self.clock.advance_to(next) {
            return false;
        }
        // The clock cannot pass its last moment. A timer beyond that moment fires now.
        let mut fired = self.fired.lock();
        self.expire(next, &mut fired);
        !fired.is_empty()
    }

    /// Returns whether the worker in the driver should be woken because every worker sleeps.
    /// For `is_busy` see [`begin_wait`](Timers::begin_wait).
    pub(crate) fn wants_to_know_of_idleness(&self, is_busy: impl FnOnce() -> bool) -> bool {
        self.clock.is_stopped() && self.earliest() != NEVER && self.is_idle(is_busy)
    }

    /// Whether only a timer can make progress. While the system runs an operation, its completion
    /// will wake the driver, so the pool is not idle. A pool that stops ignores such operations.
    fn is_idle(&self, is_busy: impl FnOnce() -> bool) -> bool {
        // Ask the pool first. A task begins its operation before its worker sleeps, so if all
        // workers sleep, `is_busy` sees the operation.
        self.pool.is_idle() && (self.pool.is_stopping() || !is_busy())
    }

    /// Returns the tasks that wait for a timer.
    pub(crate) fn waits(&self) -> Vec<DriverWait> {
        let (now, mut waits) = (self.clock.now(), Vec::new());
        for wheel in &self.wheels {
            wheel.for_each_waiting(&mut |waker, tick| {
                let left = Duration::from_nanos(clock::start_of(tick).saturating_sub(now));
                let wait = |task| DriverWait { task, event: Awaited::Timer(left) };
                waits.extend(task_of(waker).map(wait));
            });
        }
        waits
    }

    /// Wakes the tasks whose timers are due; other wakers go to `kept`.
    pub(crate) fn dispatch(&self, kept: &Kept) {
        self.fired.wake_tasks(kept);
    }

    /// Wakes the driver and the tasks whose timers are due. The caller has stopped, started or
    /// moved the clock.
    pub(crate) fn clock_has_changed(&self) {
        let mut fired = VecDeque::new();
        self.expire(clock::tick_before(self.clock.now()), &mut fired);
        wake_all(fired);
        self.bell.reactor.wake();
    }

    /// Closes the wheels: they fire no more timers. Wakes the waiting tasks, so that they notice.
    pub(crate) fn shut_down(&self) {
        let mut woken = VecDeque::new();
        for wheel in &self.wheels {
            wheel.close(&mut woken);
        }
        wake_all(woken);
    }

    /// The tick before which no timer is due.
    fn earliest(&self) -> u64 {
        self.wheels.iter().map(|wheel| wheel.earliest()).min().unwrap_or(NEVER)
    }

    fn expire(&self, now: u64, fired: &mut VecDeque<Waker>) {
        self.expire_with(now, fired, |_| ());
    }

    fn expire_with(&self, now: u64, fired: &mut VecDeque<Waker>, mut on_fire: impl FnMut(u64)) {
        for wheel in &self.wheels {
            // A few at a time, so that a thread that inserts a timer does not wait for all.
            while wheel.expire_with(now, TIMERS_AT_ONCE, fired, &mut on_fire) {}
        }
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        let mut woken = VecDeque::new();
        for &wheel in &self.wheels {
            wheel.close(&mut woken);
            wheel.give_back();
        }
        // There are wakers here only if the driver was never shut down, and then no task is left.
        drop(woken);
    }
}

impl fmt::Debug for Timers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timers")
            .field("wheels", &self.wheels.len())
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}
