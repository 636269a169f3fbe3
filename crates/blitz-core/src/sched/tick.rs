//! How often a worker looks beyond its own tasks: the budget of polls, and an interval that follows
//! how long polls take.
//!
//! ```text
//!  poll ─▶ one of BUDGET_PER_TICK ──spent──▶ maintenance: a new interval from the average
//!    └───▶ one of `interval`      ──spent──▶ the queue, mail and jobs from outside go first, once
//! ```

#![forbid(unsafe_code)]

use blitz_parts::tuning::{
    BUDGET_PER_TICK, INTERVAL_MAX, INTERVAL_MIN, POLL_TIME_ASSUMED, POLLS_PER_SAMPLE,
    QUEUE_LATENCY_TARGET,
};
use std::cell::Cell;
use std::time::Duration;

/// One worker's clock of polls. Its own thread only.
pub(crate) struct Tick {
    /// Polls left until maintenance.
    budget: Cell<u32>,
    /// Polls left until others' work goes first.
    until_fair: Cell<u32>,
    /// Polls left until one is timed.
    until_sample: Cell<u32>,
    interval: Cell<u32>,
    average: Average,
}

/// What the next poll is also for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Measure how long it takes.
    pub(crate) timed: bool,
}

impl Tick {
    pub(crate) fn new() -> Tick {
        let average = Average::new(POLL_TIME_ASSUMED);
        let interval = average.interval();
        Tick {
            budget: Cell::new(BUDGET_PER_TICK),
            until_fair: Cell::new(interval),
            until_sample: Cell::new(1),
            interval: Cell::new(interval),
            average,
        }
    }

    /// A task is about to be polled.
    #[inline]
    pub(crate) fn begin_poll(&self) -> Turn {
        let budget = self.budget.get() - 1;
        self.budget.set(budget);
        if budget == 0 {
            self.maintain();
        }
        self.until_fair.set(self.until_fair.get().saturating_sub(1));
        let until_sample = self.until_sample.get() - 1;
        let timed = until_sample == 0;
        self.until_sample.set(if timed { POLLS_PER_SAMPLE } else { until_sample });
        Turn { timed }
    }

    /// Whether work that is not this worker's own must go first now; says so once per interval.
    #[inline]
    pub(crate) fn is_fair_turn(&self) -> bool {
        if self.until_fair.get() > 0 {
            return false;
        }
        self.until_fair.set(self.interval.get());
        true
    }

    /// A timed poll took `time`.
    pub(crate) fn end_poll(&self, time: Duration) {
        self.average.add(time);
    }

    #[cold]
    fn maintain(&self) {
        self.budget.set(BUDGET_PER_TICK);
        self.interval.set(self.average.interval());
    }
}

/// An exponentially weighted moving average of poll times, in nanoseconds; a new one weighs a tenth.
struct Average {
    ns: Cell<u64>,
}

impl Average {
    fn new(first: Duration) -> Average {
        Average { ns: Cell::new(nanos(first)) }
    }

    fn add(&self, sample: Duration) {
        // Clamped, so that one poll of an hour does not take hours to be forgotten.
        let sample = nanos(sample.min(QUEUE_LATENCY_TARGET * 10));
        self.ns.set((self.ns.get() * 9 + sample) / 10);
    }

    /// As many polls as take about the target latency.
    fn interval(&self) -> u32 {
        let polls = nanos(QUEUE_LATENCY_TARGET) / self.ns.get().max(1);
        u32::try_from(polls).unwrap_or(INTERVAL_MAX).clamp(INTERVAL_MIN, INTERVAL_MAX)
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Average, Tick};
    use blitz_parts::tuning::{BUDGET_PER_TICK, INTERVAL_MAX, INTERVAL_MIN, POLLS_PER_SAMPLE};
    use std::time::Duration;

    #[test]
    fn the_interval_follows_the_table_of_the_document() {
        let table = [(1, 255), (10, 100), (50, 20), (100, 10), (1_000, 8), (50_000, 8)];
        for (micros, interval) in table {
            assert_eq!(Average::new(Duration::from_micros(micros)).interval(), interval);
        }
    }

    #[test]
    fn a_new_sample_weighs_a_tenth() {
        let average = Average::new(Duration::from_nanos(1_000));
        average.add(Duration::from_nanos(2_000));
        assert_eq!(average.ns.get(), 1_100);
        average.add(Duration::ZERO);
        assert_eq!(average.ns.get(), 990);
    }

    #[test]
    fn the_interval_stays_in_bounds_whatever_polls_take() {
        let average = Average::new(Duration::ZERO);
        assert_eq!(average.interval(), INTERVAL_MAX);
        average.add(Duration::from_secs(u64::MAX));
        assert_eq!(average.interval(), INTERVAL_MIN);
    }

    #[test]
    fn others_go_first_once_per_interval() {
        let tick = Tick::new();
        let interval = tick.interval.get();
        for _ in 0..3 {
            for _ in 0..interval {
                assert!(!tick.is_fair_turn());
                let _ = tick.begin_poll();
            }
            assert!(tick.is_fair_turn());
        }
    }

    #[test]
    fn maintenance_comes_with_every_spent_budget_and_takes_the_average_over() {
        let tick = Tick::new();
        for _ in 0..100 {
            tick.end_poll(Duration::from_millis(1));
        }
        assert_eq!(tick.interval.get(), 20, "not before maintenance");
        for _ in 0..BUDGET_PER_TICK {
            let _ = tick.begin_poll();
        }
        assert_eq!(tick.interval.get(), INTERVAL_MIN);
    }

    #[test]
    fn one_poll_of_a_sample_is_timed() {
        let tick = Tick::new();
        let timed = (0..4 * POLLS_PER_SAMPLE).filter(|_| tick.begin_poll().timed).count();
        assert_eq!(timed, 4);
    }
}
