//! The clock of a runtime: the system's, or one that a test has paused; and moments as numbers.

#![forbid(unsafe_code)]

use blitz_core::driver::{is_any_clock_stopped, note_stopped_clock};
use blitz_parts::prim::{AcqRel, Acquire, AtomicU64, Relaxed, Release, fence};
use blitz_parts::tuning::TICK;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant as StdInstant};

/// Whether the clock of a runtime may differ from the system's.
#[inline]
pub(crate) fn was_any_stopped() -> bool {
    is_any_clock_stopped()
}

/// A moment in nanoseconds since the epoch. Timers compute with it because it is one number. The
/// range of that number is centuries.
pub(crate) type Nanos = u64;

const TICK_NANOS: u64 = TICK.as_nanos() as u64;

/// The moment from which all clocks count, so that a moment has the same tick in all wheels. It
/// lies a day before its first use, if the system's clock reaches back that far. So moments of the
/// last day can be told apart, too.
#[inline]
fn epoch() -> StdInstant {
    const DAY: Duration = Duration::from_secs(86_400);
    static EPOCH: OnceLock<StdInstant> = OnceLock::new();
    *EPOCH.get_or_init(|| {
        let now = StdInstant::now();
        now.checked_sub(DAY).unwrap_or(now)
    })
}

/// The moment that is `nanos` after the epoch; `None` if the system's clock cannot represent it.
pub(crate) fn moment_at(nanos: Nanos) -> Option<StdInstant> {
    epoch().checked_add(Duration::from_nanos(nanos))
}

#[inline]
pub(crate) fn nanos_of(moment: StdInstant) -> Nanos {
    nanos_in(moment.saturating_duration_since(epoch()))
}

/// The nanoseconds in `time`, or the maximum if there are more.
#[inline]
pub(crate) fn nanos_in(time: Duration) -> u64 {
    let whole = time.as_secs().saturating_mul(1_000_000_000);
    whole.saturating_add(u64::from(time.subsec_nanos()))
}

/// The last tick that is not after `moment`.
#[inline]
pub(crate) fn tick_before(moment: Nanos) -> u64 {
    moment / TICK_NANOS
}

/// The first tick that is not before `moment`: a timer at that tick is never early.
#[inline]
pub(crate) fn tick_after(moment: Nanos) -> u64 {
    moment.div_ceil(TICK_NANOS)
}

/// The number of whole ticks in `time`.
pub(crate) fn ticks_in(time: Duration) -> u64 {
    nanos_in(time) / TICK_NANOS
}

/// When a tick begins.
#[inline]
pub(crate) fn start_of(tick: u64) -> Nanos {
    tick.saturating_mul(TICK_NANOS)
}

#[inline]
pub(crate) fn system_now() -> Nanos {
    nanos_of(StdInstant::now())
}

/// The value of a clock that was paused at `moment`: the beginning of a tick, so that whole
/// microseconds are whole ticks.
pub(crate) fn standing_at(moment: StdInstant) -> Nanos {
    start_of(tick_after(nanos_of(moment)))
}

/// The value of `stands` while the clock runs: then it shows the system's time, plus an offset.
const RUNS: u64 = u64::MAX;

/// The value of `stands` while a thread pauses the clock. That thread replaces this value with the
/// moment at which the clock stands.
const STOPS: u64 = RUNS - 1;

/// The last moment at which a clock may stand.
const LAST: Nanos = STOPS - 1;

/// The clock of one runtime.
#[derive(Debug)]
pub(crate) struct Clock {
    /// Nanoseconds since the epoch at which the paused clock stands, [`RUNS`] or [`STOPS`].
    stands: AtomicU64,
    /// By how many nanoseconds the running clock is ahead of the system's clock, modulo 2^64.
    ahead: AtomicU64,
    /// A thread holds this lock to pause the clock or to let it run again. So `ahead` changes only
    /// while the clock is paused.
    switching: Mutex<()>,
}

impl Clock {
    /// Creates a clock that runs, or a clock that is paused at the given moment.
    pub(crate) fn new(paused_since: Option<StdInstant>) -> Clock {
        epoch();
        let stands = paused_since.map_or(RUNS, standing_at);
        let (stands, ahead) = (AtomicU64::new(stands), AtomicU64::new(0));
        Clock { stands, ahead, switching: Mutex::default() }
    }

    #[inline]
    pub(crate) fn now(&self) -> Nanos {
        loop {
            let stands = self.stands.load(Acquire);
            if stands == STOPS {
                self.wait_for_switch();
                continue;
            }
            if stands != RUNS {
                return stands;
            }
            let ahead = self.ahead.load(Relaxed);
            let now = system_now().wrapping_add(ahead);
            // If the clock was paused meanwhile, `now` may lie after the moment at which it stands.
            // If it also runs again, with another `ahead`, `now` may lie before that moment. The
            // fence keeps the readings above from being made after the loads below. `stands` comes
            // first, so that a reader that sees the clock run again sees the new `ahead`.
            fence(Acquire);
            if self.stands.load(Acquire) == RUNS && self.ahead.load(Relaxed) == ahead {
                return now;
            }
        }
    }

    /// Converts `moment` of this running clock to the system's clock.
    pub(crate) fn to_system(&self, moment: Nanos) -> Nanos {
        moment.wrapping_sub(self.ahead.load(Relaxed))
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stands.load(Acquire) != RUNS
    }

    /// Pauses the clock at the beginning of a tick, so that whole microseconds are whole ticks.
    pub(crate) fn stop(&self) {
        note_stopped_clock();
        let _switching = self.switch();
        if self.stands.compare_exchange(RUNS, STOPS, AcqRel, Relaxed).is_err() {
            // The clock is paused already.
            return;
        }
        // From now on, no thread reads the running clock. So no thread has read a later time.
        let late = system_now().wrapping_add(self.ahead.load(Relaxed));
        self.stands.store(start_of(tick_after(late)).min(LAST), Release);
    }

    /// Waits until the thread that pauses the clock is done.
    #[cold]
    fn wait_for_switch(&self) {
        drop(self.switch());
    }

    /// Lets the clock run again, from where it stands.
    pub(crate) fn start(&self) {
        let _switching = self.switch();
        self.change(|stands| {
            self.ahead.store(stands.wrapping_sub(system_now()), Relaxed);
            RUNS
        });
    }

    fn switch(&self) -> MutexGuard<'_, ()> {
        self.switching.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Advances the paused clock by `time`. Returns false if it runs.
    pub(crate) fn advance(&self, time: Duration) -> bool {
        let time = nanos_in(time);
        self.change(|stands| stands.saturating_add(time).min(LAST))
    }

    /// Advances the paused clock to the beginning of `tick`, or as far as possible; never back.
    /// Returns false if it runs.
    pub(crate) fn advance_to(&self, tick: u64) -> bool {
        let least = start_of(tick).min(LAST);
        self.change(|stands| stands.max(least))
    }

    /// Changes the value of the paused clock in one step: another thread may change it at the same
    /// time. Returns false if it runs.
    fn change(&self, change: impl Fn(Nanos) -> u64) -> bool {
        let mut stands = self.stands.load(Acquire);
        while stands != RUNS {
            if stands == STOPS {
                self.wait_for_switch();
                stands = self.stands.load(Acquire);
                continue;
            }
            match self.stands.compare_exchange(stands, change(stands), AcqRel, Acquire) {
                Ok(_) => return true,
                Err(now) => stands = now,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::{Clock, moment_at, nanos_in, nanos_of, start_of, tick_after, tick_before};
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::time::{Duration, Instant};

    #[test]
    fn ticks_are_rounded_so_that_no_timer_is_early() {
        let at = start_of(10);
        assert_eq!((tick_before(at), tick_after(at)), (10, 10));
        assert_eq!((tick_before(at + 1), tick_after(at + 1)), (10, 11));
        assert_eq!((tick_before(at - 1), tick_after(at - 1)), (9, 10));
    }

    #[test]
    fn moments_are_told_apart_to_the_nanosecond() {
        let now = Instant::now();
        for moment in [now, now + Duration::from_nanos(1), now - Duration::from_secs(3)] {
            assert_eq!(moment_at(nanos_of(moment)), Some(moment));
        }
        assert!(moment_at(u64::MAX).is_none_or(|moment| moment > now));
        assert_eq!(nanos_in(Duration::MAX), u64::MAX);
    }

    #[test]
    fn threads_that_move_a_clock_at_once_lose_no_step() {
        let clock = Clock::new(Some(Instant::now()));
        let start = clock.now();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for step in 0..200_000 {
                        assert!(clock.advance(Duration::from_micros(1)));
                        // This tick is in the past, and the clock never goes back.
                        assert!(clock.advance_to(tick_before(start) + step));
                    }
                });
            }
        });
        assert_eq!(tick_before(clock.now()), tick_before(start) + 400_000);
    }

    #[test]
    fn threads_that_resume_a_clock_at_once_do_not_move_it_back() {
        let clocks: Vec<_> = (0..20_000).map(|_| Clock::new(Some(Instant::now()))).collect();
        let arrived = AtomicUsize::new(0);
        let steps_back = || {
            let mut steps = 0;
            for (round, clock) in clocks.iter().enumerate() {
                arrived.fetch_add(1, SeqCst);
                // Both threads spin for a moment, so that they go on at once.
                for look in 0_u32.. {
                    if arrived.load(SeqCst) >= 2 * (round + 1) {
                        break;
                    }
                    if look > 1_000 {
                        std::thread::yield_now();
                    }
                }
                clock.start();
                let times: Vec<_> = (0..20).map(|_| clock.now()).collect();
                steps += usize::from(!times.is_sorted());
            }
            steps
        };
        std::thread::scope(|scope| {
            let other = scope.spawn(steps_back);
            assert_eq!((steps_back(), other.join().unwrap()), (0, 0));
        });
    }

    #[test]
    fn a_clock_that_is_paused_and_resumed_never_goes_back() {
        let clock = Clock::new(None);
        let ends = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..1_000_000 {
                    clock.stop();
                    clock.start();
                }
                ends.store(1, SeqCst);
            });
            let mut last = 0;
            while ends.load(SeqCst) == 0 {
                let now = clock.now();
                assert!(now >= last, "the clock went back by {} ns", last - now);
                last = now;
            }
        });
    }

    #[test]
    fn a_paused_clock_stays_until_it_is_moved() {
        let clock = Clock::new(Some(Instant::now()));
        let start = clock.now();
        assert_eq!(clock.now(), start);
        assert_eq!(start_of(tick_before(start)), start, "at the beginning of a tick");
        assert!(clock.advance(Duration::from_nanos(3)));
        assert_eq!(clock.now(), start + 3);
        assert!(clock.advance_to(tick_before(start) + 4));
        assert_eq!(clock.now(), start + 4_000);
        assert!(clock.advance_to(tick_before(start)));
        assert_eq!(clock.now(), start + 4_000);
        clock.start();
        assert!(clock.now() >= start + 4_000);
        assert!(!clock.advance(Duration::from_secs(1)));
    }
}
