//! What time it is: the system's clock, or one that a test has stopped.
//!
//! Each runtime has a clock. Until somebody stops one, nobody asks which.

#![forbid(unsafe_code)]

use crate::driver;
use blitz_parts::prim::{Acquire, AtomicBool, AtomicU64, Relaxed, Release};
use blitz_parts::tuning::TICK;
use std::sync::OnceLock;
use std::time::{Duration, Instant as StdInstant};

/// Whether any clock was ever stopped.
static EVER_STOPPED: AtomicBool = AtomicBool::new(false);

/// Where ticks are counted from, for all clocks, so that a moment has one tick in all wheels.
fn epoch() -> StdInstant {
    static EPOCH: OnceLock<StdInstant> = OnceLock::new();
    *EPOCH.get_or_init(StdInstant::now)
}

/// The last tick that is not after `moment`.
pub(super) fn tick_before(moment: StdInstant) -> u64 {
    ticks(moment.saturating_duration_since(epoch()))
}

/// The first tick that is not before `moment`: whoever waits for that is never early.
#[inline]
pub(super) fn tick_after(moment: StdInstant) -> u64 {
    ticks(moment.saturating_duration_since(epoch()) + (TICK - Duration::from_nanos(1)))
}

#[inline]
fn ticks(time: Duration) -> u64 {
    // Hundreds of millions of years.
    time.as_secs() * 1_000 + u64::from(time.subsec_millis())
}

/// When a tick begins. Ticks that no clock can tell begin in the far future.
pub(super) fn moment_of(tick: u64) -> StdInstant {
    let time = Duration::from_millis(tick);
    epoch().checked_add(time).unwrap_or_else(|| super::Instant::far_future().into_std())
}

/// Now, by the clock of the current runtime.
#[inline]
pub(super) fn now() -> StdInstant {
    if EVER_STOPPED.load(Relaxed) { now_of_current() } else { StdInstant::now() }
}

#[cold]
fn now_of_current() -> StdInstant {
    let now = driver::with_plugged(|driver| driver.timers().clock().now());
    now.unwrap_or_else(StdInstant::now)
}

/// It runs with the system's clock, perhaps with a difference.
const RUNS: u64 = u64::MAX;

/// The clock of one runtime.
#[derive(Debug)]
pub(super) struct Clock {
    /// Nanoseconds since the epoch at which it stands, or [`RUNS`].
    stands: AtomicU64,
    /// By how many nanoseconds it is ahead of the system's clock, modulo 2^64, while it runs.
    ahead: AtomicU64,
}

impl Clock {
    pub(super) fn new(stopped: bool) -> Clock {
        epoch();
        let clock = Clock { stands: AtomicU64::new(RUNS), ahead: AtomicU64::new(0) };
        if stopped {
            clock.stop();
        }
        clock
    }

    #[inline]
    pub(super) fn now(&self) -> StdInstant {
        match self.stands.load(Acquire) {
            RUNS => epoch() + Duration::from_nanos(self.running()),
            stands => epoch() + Duration::from_nanos(stands),
        }
    }

    fn running(&self) -> u64 {
        nanos_since_epoch().wrapping_add(self.ahead.load(Relaxed))
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stands.load(Acquire) != RUNS
    }

    /// It stands from now on, at the beginning of a tick, so that whole milliseconds are whole ticks.
    pub(super) fn stop(&self) {
        EVER_STOPPED.store(true, Relaxed);
        if !self.is_stopped() {
            let tick = u64::try_from(TICK.as_nanos()).unwrap_or(1);
            self.stands.store(self.running().next_multiple_of(tick), Release);
        }
    }

    /// It runs from now on, from where it stands.
    pub(super) fn start(&self) {
        let stands = self.stands.load(Acquire);
        if stands != RUNS {
            self.ahead.store(stands.wrapping_sub(nanos_since_epoch()), Relaxed);
            self.stands.store(RUNS, Release);
        }
    }

    /// It stands later by `time`; not if it runs.
    pub(super) fn advance(&self, time: Duration) -> bool {
        let is_stopped = self.is_stopped();
        if is_stopped {
            let time = u64::try_from(time.as_nanos()).unwrap_or(RUNS);
            let later = self.stands.load(Acquire).saturating_add(time).min(RUNS - 1);
            self.stands.store(later, Release);
        }
        is_stopped
    }

    /// It stands at `tick` at least.
    pub(super) fn advance_to(&self, tick: u64) {
        self.advance(moment_of(tick).saturating_duration_since(self.now()));
    }
}

fn nanos_since_epoch() -> u64 {
    // Centuries.
    u64::try_from(StdInstant::now().saturating_duration_since(epoch()).as_nanos()).unwrap_or(RUNS)
}

#[cfg(test)]
mod tests {
    use super::{Clock, moment_of, tick_after, tick_before};
    use std::time::Duration;

    #[test]
    fn ticks_are_rounded_so_that_nobody_is_early() {
        let at = moment_of(10);
        assert_eq!((tick_before(at), tick_after(at)), (10, 10));
        let later = at + Duration::from_nanos(1);
        assert_eq!((tick_before(later), tick_after(later)), (10, 11));
        assert!(moment_of(u64::MAX) > at);
    }

    #[test]
    fn a_stopped_clock_stands_until_it_is_moved() {
        let clock = Clock::new(true);
        let start = clock.now();
        assert_eq!(clock.now(), start);
        assert_eq!(tick_before(start), tick_after(start), "at the beginning of a tick");
        assert!(clock.advance(Duration::from_secs(3)));
        assert_eq!(clock.now(), start + Duration::from_secs(3));
        clock.advance_to(tick_after(start) + 4_000);
        assert_eq!(clock.now(), start + Duration::from_secs(4));
        clock.start();
        assert!(clock.now() >= start + Duration::from_secs(4));
        assert!(!clock.advance(Duration::from_secs(1)));
    }
}
