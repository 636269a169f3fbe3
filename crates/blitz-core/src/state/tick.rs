//! How often a worker looks beyond its own tasks: the budget of polls, and an interval that follows
//! how long polls take.
//!
//! ```text
//!  poll ─▶ one of BUDGET_PER_TICK  ──spent──▶ maintenance: a new interval from the average
//!    ├───▶ one of `interval`       ──spent──▶ the queue, mail and jobs from outside go first, once
//!    └───▶ one of POLLS_PER_SAMPLE ──spent──▶ this poll is timed
//!  job ─▶ one of `interval`, too, counted by itself
//! ```
//!
//! The first three are counted by one counter, which runs until the next of them is due: most polls
//! change nothing else.

#![forbid(unsafe_code)]

use blitz_parts::tuning::{
    BUDGET_PER_TICK, INTERVAL_MAX, INTERVAL_MIN, POLL_TIME_ASSUMED, POLLS_PER_SAMPLE,
    QUEUE_LATENCY_TARGET,
};
use std::cell::Cell;
use std::time::Duration;

/// One worker's clock of polls. Its own thread only.
pub(crate) struct Tick {
    /// Polls left until something is due.
    left: Cell<u32>,
    /// What `left` began with.
    step: Cell<u32>,
    /// Polls left, at the beginning of the step, until maintenance, until others' work goes first,
    /// and until a poll is timed.
    until_maintenance: Cell<u32>,
    until_fair: Cell<u32>,
    until_sample: Cell<u32>,
    /// Jobs left until others' work goes first.
    jobs_until_fair: Cell<u32>,
    is_fair_turn: Cell<bool>,
    interval: Cell<u32>,
    samples: u32,
    average: Average,
}

impl Tick {
    /// `all_timed`: every poll is timed, not one in some.
    pub(crate) fn new(all_timed: bool) -> Tick {
        let average = Average::new(POLL_TIME_ASSUMED);
        let interval = average.interval();
        Tick {
            left: Cell::new(1),
            step: Cell::new(1),
            until_maintenance: Cell::new(BUDGET_PER_TICK),
            until_fair: Cell::new(interval),
            until_sample: Cell::new(1),
            jobs_until_fair: Cell::new(interval),
            is_fair_turn: Cell::new(false),
            interval: Cell::new(interval),
            samples: if all_timed { 1 } else { POLLS_PER_SAMPLE },
            average,
        }
    }

    /// A task is about to be polled. Says whether to measure how long it takes.
    #[inline]
    pub(crate) fn begin_poll(&self) -> bool {
        let left = self.left.get() - 1;
        self.left.set(left);
        left == 0 && self.is_due()
    }

    /// Something is due.
    #[cold]
    fn is_due(&self) -> bool {
        let passed = self.step.get();
        let spent = |until: &Cell<u32>, again: u32| {
            let left = until.get() - passed;
            until.set(if left == 0 { again } else { left });
            left == 0
        };
        if spent(&self.until_maintenance, BUDGET_PER_TICK) {
            self.interval.set(self.average.interval());
        }
        if spent(&self.until_fair, self.interval.get()) {
            self.is_fair_turn.set(true);
        }
        let timed = spent(&self.until_sample, self.samples);
        let next =
            self.until_maintenance.get().min(self.until_fair.get()).min(self.until_sample.get());
        self.step.set(next);
        self.left.set(next);
        timed
    }

    /// A job is about to be run.
    #[inline]
    pub(crate) fn count_job(&self) {
        let left = self.jobs_until_fair.get() - 1;
        self.jobs_until_fair.set(left);
        if left == 0 {
            self.jobs_until_fair.set(self.interval.get());
            self.is_fair_turn.set(true);
        }
    }

    /// How many polls, or jobs, there are between two moments at which others' work goes first.
    pub(crate) fn interval(&self) -> usize {
        self.interval.get() as usize
    }

    /// Whether work that is not this worker's own must go first now; says so once per interval.
    #[inline]
    pub(crate) fn is_fair_turn(&self) -> bool {
        self.is_fair_turn_due() && self.is_fair_turn.replace(false)
    }

    /// The same, as often as it is asked.
    #[inline]
    pub(crate) fn is_fair_turn_due(&self) -> bool {
        self.is_fair_turn.get()
    }

    /// The turn that has just been taken was used for something else: the next one comes at once.
    pub(crate) fn repeat_fair_turn(&self) {
        self.is_fair_turn.set(true);
    }

    /// A timed poll took `time`.
    pub(crate) fn end_poll(&self, time: Duration) {
        self.average.add(time);
    }
}

/// An exponentially weighted moving average of poll times, in nanoseconds; a new one weighs a
/// tenth.
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
        let tick = Tick::new(false);
        let interval = tick.interval.get();
        for _ in 0..3 {
            for _ in 0..interval {
                assert!(!tick.is_fair_turn());
                tick.begin_poll();
            }
            assert!(tick.is_fair_turn());
        }
    }

    #[test]
    fn jobs_count_as_well() {
        let tick = Tick::new(false);
        for _ in 0..3 {
            for _ in 0..tick.interval() {
                assert!(!tick.is_fair_turn());
                tick.count_job();
            }
            assert!(tick.is_fair_turn());
        }
    }

    #[test]
    fn maintenance_comes_with_every_spent_budget_and_takes_the_average_over() {
        let tick = Tick::new(false);
        for _ in 0..100 {
            tick.end_poll(Duration::from_millis(1));
        }
        assert_eq!(tick.interval.get(), 20, "not before maintenance");
        for _ in 0..BUDGET_PER_TICK {
            tick.begin_poll();
        }
        assert_eq!(tick.interval.get(), INTERVAL_MIN);
    }

    #[test]
    fn one_poll_of_a_sample_is_timed() {
        let tick = Tick::new(false);
        let timed = (0..4 * POLLS_PER_SAMPLE).filter(|_| tick.begin_poll()).count();
        assert_eq!(timed, 4);
        let tick = Tick::new(true);
        assert!((0..1_000).all(|_| tick.begin_poll()));
    }
}
