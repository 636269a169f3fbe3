//! Decides at which forks a worker checks whether to leave its processor to the relief worker.
//!
//! A fork is often shorter than a reading of the clock. So the worker reads the clock only at some
//! forks, about every [`FORK_CLOCK_EVERY`], and checks when [`FORK_LOOK_EVERY`] has passed.

#![forbid(unsafe_code)]

use blitz_parts::tuning::{FORK_CLOCK_EVERY, FORK_LOOK_EVERY, FORK_STEP_MAX};
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
    /// When the worker checked last.
    looked: Cell<Duration>,
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
        let is_due = now.saturating_sub(self.looked.get()) >= FORK_LOOK_EVERY;
        if is_due {
            self.looked.set(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::Attention;
    use blitz_parts::tuning::{FORK_CLOCK_EVERY, FORK_LOOK_EVERY, FORK_STEP_MAX};
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
