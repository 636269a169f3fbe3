//! Tells the relief worker which polls are long.
//!
//! Only processor time counts: the thread may wait for a processor during a poll. But reading the
//! processor clock is a system call. A reading for each poll would be a tenth of the cost of a
//! request. So each poll is measured by the quick clock, and the processor clock is read only in
//! two cases:
//!
//! - A poll took long by the quick clock.
//! - A poll begins, and the last reading is older than [`RELIEF_CLOCK_EVERY`].
//!
//! ```text
//!  reading                       start                         end
//!  ───┼──── other polls, waits ────┼────────── this poll ────────┼───▶ quick clock
//!     └─ at most CLOCK_EVERY ──────┘
//!     └──────────── processor time since the reading ────────────┘
//! ```
//!
//! What came before the poll took no more processor time than quick time. So the poll took at least
//! the processor time since the reading, less the quick time before the poll began. A poll that is
//! longer than [`RELIEF_POLL_LONG`] by at least [`RELIEF_CLOCK_EVERY`] is always found. A poll that
//! is shorter than [`RELIEF_POLL_LONG`] is never called long.

#![forbid(unsafe_code)]

use blitz_parts::tuning::{RELIEF_CLOCK_EVERY, RELIEF_POLL_LONG};
use std::time::Duration;

/// The clocks of a thread. Both count from some moment.
pub(crate) trait Clocks {
    /// The ticks of the quick clock.
    fn now(&self) -> u64;

    /// The length of this many ticks, as far as it is known by now.
    fn to_time(&self, ticks: u64) -> Duration;

    /// The processor time that this thread has used.
    fn used(&self) -> Duration;
}

/// Measures the polls of one thread.
pub(crate) struct Stopwatch<C> {
    clocks: C,
    /// When the processor clock was read, in ticks.
    at: u64,
    /// Its value.
    used: Duration,
}

impl<C: Clocks> Stopwatch<C> {
    pub(crate) fn new(clocks: C) -> Stopwatch<C> {
        let (at, used) = (clocks.now(), clocks.used());
        Stopwatch { clocks, at, used }
    }

    /// Calls `poll`, and returns whether it took long.
    pub(crate) fn is_long(&mut self, poll: impl FnOnce()) -> bool {
        let mut begin = self.clocks.now();
        if self.time(self.at, begin) > RELIEF_CLOCK_EVERY {
            self.read();
            begin = self.at;
        }
        poll();
        if self.time(begin, self.clocks.now()) <= RELIEF_POLL_LONG {
            return false;
        }
        let before = self.used + self.time(self.at, begin);
        self.read();
        self.used.saturating_sub(before) > RELIEF_POLL_LONG
    }

    /// The time between two moments. The length of a tick is measured ever more precisely, so only
    /// differences of ticks are converted: the moments themselves would move.
    fn time(&self, from: u64, to: u64) -> Duration {
        self.clocks.to_time(to.saturating_sub(from))
    }

    /// Reads the quick clock first: if the thread loses its processor in between, a poll may seem
    /// shorter, but not longer.
    fn read(&mut self) {
        self.at = self.clocks.now();
        self.used = self.clocks.used();
    }
}

#[cfg(test)]
mod tests {
    use super::{Clocks, Stopwatch};
    use blitz_parts::tuning::{RELIEF_CLOCK_EVERY, RELIEF_POLL_LONG};
    use std::cell::Cell;
    use std::time::Duration;

    const STEP: Duration = Duration::from_micros(10);

    #[derive(Default)]
    struct Fake {
        now: Cell<Duration>,
        used: Cell<Duration>,
        readings: Cell<u32>,
        conversions: Cell<u64>,
    }

    impl Fake {
        fn compute(&self, time: Duration) {
            self.used.set(self.used.get() + time);
            self.wait(time);
        }

        fn wait(&self, time: Duration) {
            self.now.set(self.now.get() + time);
        }
    }

    /// What the quick clock shows before the test.
    const UPTIME: Duration = Duration::from_secs(1_000_000);

    impl Clocks for &Fake {
        fn now(&self) -> u64 {
            (UPTIME + self.now.get()).as_nanos() as u64
        }

        /// The more often it is asked, the shorter a tick seems, by up to a thousandth.
        fn to_time(&self, ticks: u64) -> Duration {
            self.conversions.set((self.conversions.get() + 1).min(1_000));
            Duration::from_nanos(ticks - ticks / 1_000_000 * self.conversions.get())
        }

        fn used(&self) -> Duration {
            self.readings.set(self.readings.get() + 1);
            self.used.get()
        }
    }

    #[test]
    fn a_poll_that_waits_for_a_processor_is_not_long() {
        let clocks = Fake::default();
        let mut stopwatch = Stopwatch::new(&clocks);
        for _ in 0..100 {
            assert!(!stopwatch.is_long(|| {
                clocks.compute(RELIEF_POLL_LONG);
                clocks.wait(RELIEF_POLL_LONG * 10);
            }));
        }
    }

    #[test]
    fn long_polls_are_found_whatever_came_before() {
        for steps in 0..100 {
            for waits in [true, false] {
                let clocks = Fake::default();
                let mut stopwatch = Stopwatch::new(&clocks);
                for _ in 0..steps {
                    let step = || if waits { clocks.wait(STEP) } else { clocks.compute(STEP) };
                    assert!(!stopwatch.is_long(step));
                }
                let time = RELIEF_POLL_LONG + RELIEF_CLOCK_EVERY + STEP;
                assert!(stopwatch.is_long(|| clocks.compute(time)), "{steps} {waits}");
            }
        }
    }

    #[test]
    fn a_sleep_before_a_poll_does_not_hide_it() {
        let clocks = Fake::default();
        let mut stopwatch = Stopwatch::new(&clocks);
        clocks.wait(Duration::from_secs(1));
        assert!(stopwatch.is_long(|| clocks.compute(RELIEF_POLL_LONG + STEP)));
    }

    #[test]
    fn short_polls_read_the_processor_clock_seldom() {
        let clocks = Fake::default();
        let mut stopwatch = Stopwatch::new(&clocks);
        let polls = 100_000;
        for _ in 0..polls {
            assert!(!stopwatch.is_long(|| clocks.compute(Duration::from_micros(1))));
        }
        let (time, every) = (clocks.now.get().as_micros(), RELIEF_CLOCK_EVERY.as_micros());
        assert!(u128::from(clocks.readings.get()) <= time / every + 1);
    }
}
