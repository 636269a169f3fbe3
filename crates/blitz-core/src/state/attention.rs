//! Decides at which forks a worker checks whether to leave its processor to the relief worker.
//!
//! A fork is often shorter than a reading of the clock. So the worker reads the clock only at some
//! forks, about every [`FORK_CLOCK_EVERY`], and checks when [`FORK_LOOK_EVERY`] has passed since
//! the end of the last check. If the worker left its processor in that check, it then keeps the
//! processor at least as long: the relief worker may have work without end, or may be blocked.

#![forbid(unsafe_code)]

use blitz_parts::tuning::{ASIDE_MAX, FORK_CLOCK_EVERY, FORK_LOOK_EVERY, FORK_STEP_MAX};
use std::cell::Cell;
use std::time::Duration;

/// One worker's count of forks until it reads the clock, with the times at which it last read the
/// clock and last checked.
#[derive(Debug, Default)]
pub(crate) struct Attention {
    /// Forks left until the clock is read.
    left: Cell<u32>,
    /// How many forks there are from the last reading to the next one.
    step: Cell<u32>,
    /// When the clock was read last.
    read: Cell<Duration>,
    /// When the last check began, and since [`has_looked`](Self::has_looked), its end.
    looked: Cell<Duration>,
    /// How long the last check took, [`ASIDE_MAX`] at most.
    took: Cell<Duration>,
}

impl Attention {
    /// Counts a fork. Returns whether to check now; `clock` returns the time since some moment.
    #[inline]
    pub(crate) fn is_due(&self, clock: impl FnOnce() -> Duration) -> bool {
        match self.left.get().checked_sub(1) {
            Some(left) => {
                self.left.set(left);
                false
            }
            None => self.is_due_at(clock()),
        }
    }

    fn is_due_at(&self, now: Duration) -> bool {
        let passed = now.saturating_sub(self.read.replace(now));
        let step = self.step.get().max(1);
        let next = match passed {
            _ if passed < FORK_CLOCK_EVERY / 2 => (step * 2).min(FORK_STEP_MAX),
            _ if passed > FORK_CLOCK_EVERY => (step / 2).max(1),
            _ => step,
        };
        self.step.set(next);
        self.left.set(next - 1);
        let is_due = now.saturating_sub(self.looked.get()) >= FORK_LOOK_EVERY.max(self.took.get());
        if is_due {
            self.looked.set(now);
        }
        is_due
    }

    /// Notes that the check that was due has ended at `now`. The worker may have left its processor
    /// meanwhile.
    pub(crate) fn has_looked(&self, now: Duration) {
        // If the thread lost its processor as well, the check took longer than the worker waited
        // for the relief worker.
        self.took.set(now.saturating_sub(self.looked.get()).min(ASIDE_MAX));
        self.looked.set(now);
        self.read.set(now);
    }
}

#[cfg(test)]
mod tests {
    use super::Attention;
    use blitz_parts::tuning::{ASIDE_MAX, FORK_CLOCK_EVERY, FORK_LOOK_EVERY, FORK_STEP_MAX};
    use std::cell::Cell;
    use std::time::Duration;

    /// Forks `forks` times; each fork takes `fork`. Returns the number of checks and of clock
    /// readings.
    fn count(forks: u32, fork: Duration) -> (u32, u32) {
        let (attention, readings) = (Attention::default(), Cell::new(0));
        let mut looks = 0;
        // The first reading is long after the start of the clock.
        let start = Duration::from_secs(1);
        for number in 0..forks {
            let clock = || {
                readings.set(readings.get() + 1);
                start + fork * number
            };
            looks += u32::from(attention.is_due(clock));
        }
        (looks, readings.get())
    }

    #[test]
    fn the_clock_is_read_seldom_where_forks_are_short() {
        let fork = Duration::from_nanos(3);
        let (looks, readings) = count(1_000_000, fork);
        let time = fork * 1_000_000;
        let most =
            |every: Duration| u32::try_from(time.div_duration_f64(every) as u64 + 30).unwrap();
        assert!(looks <= most(FORK_LOOK_EVERY) && looks >= most(FORK_LOOK_EVERY) / 2, "{looks}");
        assert!(readings <= most(FORK_CLOCK_EVERY / 2), "{readings}");
    }

    #[test]
    fn every_fork_looks_where_forks_are_long() {
        let (looks, readings) = count(1_000, FORK_LOOK_EVERY);
        assert_eq!((looks, readings), (1_000, 1_000));
    }

    #[test]
    fn a_worker_keeps_its_processor_as_long_as_it_left_it() {
        for check in [FORK_CLOCK_EVERY, ASIDE_MAX, ASIDE_MAX * 10] {
            let (attention, fork) = (Attention::default(), Duration::from_nanos(50));
            let (mut now, mut computed, mut checks) = (Duration::from_secs(1), Duration::ZERO, 0);
            while computed < Duration::from_millis(100) {
                now += fork;
                computed += fork;
                if attention.is_due(|| now) {
                    now += check;
                    checks += 1;
                    attention.has_looked(now);
                }
            }
            let least = check.clamp(FORK_LOOK_EVERY, ASIDE_MAX) * (checks - 1);
            assert!(checks > 1 && computed >= least, "{checks} checks of {check:?}");
        }
    }

    #[test]
    fn the_step_is_bounded() {
        let attention = Attention::default();
        for _ in 0..10 * FORK_STEP_MAX {
            attention.is_due(|| Duration::from_secs(1));
        }
        assert_eq!(attention.step.get(), FORK_STEP_MAX);
        // If forks take longer, the clock is soon read at each of them again.
        let later = Cell::new(Duration::from_secs(2));
        while attention.step.get() > 1 {
            later.set(later.get() + FORK_LOOK_EVERY);
            attention.is_due(|| later.get());
        }
    }
}
