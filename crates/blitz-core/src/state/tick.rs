//! Decides how often a worker looks beyond its own tasks, by budgets of polls and by the time that
//! polls take.
//!
//! Each poll spends one unit of each of four budgets. A budget that is spent has an effect and
//! starts anew:
//!
//! ```text
//!  poll ─▶ one of BUDGET_PER_TICK  ──spent──▶ maintenance: new intervals from the average
//!    ├───▶ one of `interval`       ──spent──▶ the queue, mail and jobs from outside go first, once
//!    ├───▶ one of `brief`          ──spent──▶ the queue goes first, once, if it has tasks
//!    └───▶ one of POLLS_PER_SAMPLE ──spent──▶ this poll is timed
//!  job ─▶ one of an interval of its own, by the time that jobs take
//! ```
//!
//! One counter serves the four budgets of polls. It counts down to the poll that spends the next of
//! them, so most polls change nothing else.

#![forbid(unsafe_code)]

use blitz_parts::tuning::{
    BUDGET_PER_TICK, FOREIGN_LATENCY_TARGET, FOREIGN_LOOK_EVERY, INTERVAL_MAX, INTERVAL_MIN,
    JOBS_PER_SAMPLE, POLL_TIME_ASSUMED, POLLS_PER_SAMPLE, QUEUE_LATENCY_TARGET, TRACE_POLL_END,
    TRACE_POLL_WHOLE,
};
use std::cell::Cell;
use std::time::Duration;

/// Which work goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Turn {
    /// The worker's own.
    Own,
    /// A task of the queue, if there is one.
    Queue,
    /// Work of any kind that is not the worker's own.
    Others,
}

/// How much of each poll is recorded. Recording costs less than a hundredth of the polls' time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// A sample of polls.
    Sample,
    /// The end of each poll, which is the beginning of the next.
    Ends,
    /// The wake, the beginning and the end of each poll.
    Whole,
}

/// One worker's clock of polls. Only its own thread uses it.
pub(crate) struct Tick {
    /// Polls left until something is due.
    left: Cell<u32>,
    /// The initial value of `left`.
    step: Cell<u32>,
    /// Polls left, counted at the beginning of the step, until each of these is due: maintenance, a
    /// turn of others' work, a turn of the queue, and a timed poll.
    until_maintenance: Cell<u32>,
    until_fair: Cell<u32>,
    until_brief: Cell<u32>,
    until_sample: Cell<u32>,
    /// Jobs left until others' work goes first.
    jobs_until_fair: Cell<u32>,
    turn: Cell<Turn>,
    interval: Cell<u32>,
    brief: Cell<u32>,
    /// Own polls between two turns of a queue that is never empty.
    spell: Cell<u32>,
    /// Whether every poll is timed.
    all_timed: bool,
    /// Whether every poll is recorded, if polls are long enough.
    records: bool,
    detail: Cell<Detail>,
    /// One poll in this many is timed.
    samples: Cell<u32>,
    /// Tasks whose number has none of these bits are stamped when they become runnable.
    stamp_mask: Cell<u64>,
    /// Jobs whose number has none of these bits are timed.
    job_mask: Cell<u64>,
    average: Average,
    job_average: Average,
}

impl Tick {
    /// `all_timed` says that every poll is timed, not just a sample; `records` that each long poll
    /// is recorded.
    pub(crate) fn new(all_timed: bool, records: bool) -> Tick {
        let average = Average::new(POLL_TIME_ASSUMED);
        let (interval, brief, spell) = (average.interval(), average.brief(), average.spell());
        Tick {
            left: Cell::new(1),
            step: Cell::new(1),
            until_maintenance: Cell::new(BUDGET_PER_TICK),
            until_fair: Cell::new(interval),
            until_brief: Cell::new(brief),
            until_sample: Cell::new(1),
            jobs_until_fair: Cell::new(interval),
            turn: Cell::new(Turn::Own),
            interval: Cell::new(interval),
            brief: Cell::new(brief),
            spell: Cell::new(spell),
            all_timed,
            records,
            detail: Cell::new(Detail::Sample),
            samples: Cell::new(if all_timed { 1 } else { POLLS_PER_SAMPLE }),
            stamp_mask: Cell::new(Tick::STAMP_MASK),
            job_mask: Cell::new(0),
            average,
            job_average: Average::new(POLL_TIME_ASSUMED),
        }
    }

    /// Selects the sample of tasks that are stamped.
    pub(crate) const STAMP_MASK: u64 = POLLS_PER_SAMPLE as u64 - 1;

    /// Counts a poll that is about to begin. Returns whether it ends a step: then the caller calls
    /// [`end_step`](Self::end_step).
    #[inline]
    pub(crate) fn begin_poll(&self) -> bool {
        let left = self.left.get() - 1;
        self.left.set(left);
        left == 0
    }

    /// Does what is due after this step. Returns whether to time the poll that is about to begin.
    pub(crate) fn end_step(&self) -> bool {
        let passed = self.step.get();
        let spent = |until: &Cell<u32>, again: u32| {
            let left = until.get() - passed;
            until.set(if left == 0 { again } else { left });
            left == 0
        };
        if spent(&self.until_maintenance, BUDGET_PER_TICK) {
            self.interval.set(self.average.interval());
            self.brief.set(self.average.brief());
            self.spell.set(self.average.spell());
            self.choose_detail();
        }
        if spent(&self.until_brief, self.brief.get()) {
            self.turn.set(self.turn.get().max(Turn::Queue));
        }
        if spent(&self.until_fair, self.interval.get()) {
            self.turn.set(Turn::Others);
        }
        let timed = spent(&self.until_sample, self.samples.get());
        let turns = self.until_fair.get().min(self.until_brief.get());
        let next = turns.min(self.until_maintenance.get()).min(self.until_sample.get());
        self.step.set(next);
        self.left.set(next);
        timed
    }

    fn choose_detail(&self) {
        let detail = if self.records { self.average.detail() } else { Detail::Sample };
        if self.detail.replace(detail) == detail {
            return;
        }
        let each = self.all_timed || detail != Detail::Sample;
        self.samples.set(if each { 1 } else { POLLS_PER_SAMPLE });
        // The next sample may come sooner than planned, but not before the end of this step, whose
        // polls `end_step` has still to subtract.
        self.until_sample.set(self.until_sample.get().min(self.samples.get()).max(self.step.get()));
        self.stamp_mask.set(if detail == Detail::Whole { 0 } else { Tick::STAMP_MASK });
    }

    /// How much of the polls is recorded.
    pub(crate) fn detail(&self) -> Detail {
        self.detail.get()
    }

    /// Which tasks are stamped when they become runnable.
    #[inline]
    pub(crate) fn stamp_mask(&self) -> u64 {
        self.stamp_mask.get()
    }

    /// Returns whether to time a job that is about to begin; `before` jobs have begun before it.
    #[inline]
    pub(crate) fn times_job(&self, before: u64) -> bool {
        before & self.job_mask.get() == 0
    }

    /// The number of jobs that a timed job, which begins now, represents.
    pub(crate) fn job_weight(&self) -> u64 {
        self.job_mask.get() + 1
    }

    /// Notes that a timed job took `time`.
    pub(crate) fn end_job(&self, time: Duration) {
        self.job_average.add(time);
        self.jobs_until_fair.set(self.jobs_until_fair.get().min(self.job_average.jobs()));
        let each = self.records && self.job_average.detail() == Detail::Whole;
        self.job_mask.set(if each { 0 } else { u64::from(JOBS_PER_SAMPLE) - 1 });
    }

    /// Counts a job that is about to be run.
    #[inline]
    pub(crate) fn count_job(&self) {
        let left = self.jobs_until_fair.get() - 1;
        self.jobs_until_fair.set(left);
        if left == 0 {
            self.jobs_until_fair.set(self.job_average.jobs());
            self.turn.set(Turn::Others);
        }
    }

    /// The number of polls between two moments at which others' work goes first.
    pub(crate) fn interval(&self) -> usize {
        self.interval.get() as usize
    }

    /// How long this many polls take, judging by the polls so far.
    pub(crate) fn time_of(&self, polls: usize) -> Duration {
        Duration::from_nanos(self.average.ns.get().saturating_mul(polls as u64))
    }

    /// How many own polls there are between two turns of a queue that is never empty.
    pub(crate) fn spell(&self) -> usize {
        self.spell.get() as usize
    }

    /// Notes that `taken` tasks came from the queue. Their polls do not count towards its next
    /// turn, and that turn comes after a whole spell of own polls.
    ///
    /// A worker without own tasks takes tasks out of turn, again and again. So the next turn comes
    /// after one spell, however often the worker has taken tasks before.
    pub(crate) fn defer_queue_turn(&self, taken: usize) {
        let taken = u32::try_from(taken).unwrap_or(u32::MAX);
        let later = taken.saturating_add(self.spell.get().saturating_sub(self.brief.get()));
        // The turn cannot come before the end of the current step.
        let latest = self.step.get().saturating_add(taken).saturating_add(self.spell.get());
        self.until_brief.set(self.until_brief.get().saturating_add(later).min(latest));
    }

    /// Returns which work goes first now. Returns each turn of other work once.
    #[inline]
    pub(crate) fn take_turn(&self) -> Turn {
        if self.is_own_turn() { Turn::Own } else { self.turn.replace(Turn::Own) }
    }

    /// Whether the worker's own work goes first now.
    #[inline]
    pub(crate) fn is_own_turn(&self) -> bool {
        self.turn.get() == Turn::Own
    }

    /// Lets work that is not the worker's own go first next time, too. The caller needs this, for
    /// example, if it used the last such turn for something else.
    pub(crate) fn repeat_turn_of_others(&self) {
        self.turn.set(Turn::Others);
    }

    /// Notes that a timed poll took `time`.
    pub(crate) fn end_poll(&self, time: Duration) {
        self.average.add(time);
    }
}

/// An exponentially weighted moving average of poll times, in nanoseconds; a new sample weighs a
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

    /// The number of polls that take about the target latency.
    fn interval(&self) -> u32 {
        self.polls_in(QUEUE_LATENCY_TARGET).clamp(INTERVAL_MIN, INTERVAL_MAX)
    }

    /// The number of jobs that take about the target latency: one, if a job takes longer.
    fn jobs(&self) -> u32 {
        self.polls_in(QUEUE_LATENCY_TARGET).clamp(1, INTERVAL_MAX)
    }

    /// The number of polls after which a worker looks at the queue.
    fn brief(&self) -> u32 {
        self.polls_in(FOREIGN_LOOK_EVERY).clamp(1, INTERVAL_MAX)
    }

    /// The number of own polls after a turn of the queue.
    fn spell(&self) -> u32 {
        self.polls_in(FOREIGN_LATENCY_TARGET).clamp(1, INTERVAL_MAX)
    }

    fn detail(&self) -> Detail {
        match Duration::from_nanos(self.ns.get()) {
            mean if mean >= TRACE_POLL_WHOLE => Detail::Whole,
            mean if mean >= TRACE_POLL_END => Detail::Ends,
            _ => Detail::Sample,
        }
    }

    fn polls_in(&self, time: Duration) -> u32 {
        u32::try_from(nanos(time) / self.ns.get().max(1)).unwrap_or(u32::MAX)
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Average, Detail, Tick, Turn};
    use blitz_parts::tuning::{
        BUDGET_PER_TICK, INTERVAL_MAX, INTERVAL_MIN, JOBS_PER_SAMPLE, POLL_TIME_ASSUMED,
        POLLS_PER_SAMPLE,
    };
    use std::time::Duration;

    /// Begins a poll. Returns whether it is timed.
    fn poll(tick: &Tick) -> bool {
        tick.begin_poll() && tick.end_step()
    }

    #[test]
    fn the_interval_follows_the_table_of_poll_times() {
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
    fn polls_are_expected_to_take_as_long_as_those_before() {
        let tick = Tick::new(false, true);
        assert_eq!(tick.time_of(3), 3 * POLL_TIME_ASSUMED);
        for _ in 0..200 {
            tick.end_poll(Duration::from_millis(1));
        }
        let many = tick.time_of(32);
        assert!(many > Duration::from_millis(31) && many <= Duration::from_millis(32), "{many:?}");
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
        let tick = Tick::new(false, true);
        let interval = tick.interval.get();
        for _ in 0..3 {
            for _ in 0..interval {
                assert_ne!(tick.take_turn(), Turn::Others);
                poll(&tick);
            }
            assert_eq!((tick.take_turn(), tick.take_turn()), (Turn::Others, Turn::Own));
        }
    }

    #[test]
    fn the_queue_goes_first_more_often_the_longer_polls_take() {
        let table = [(0, 255, 255), (1, 10, 50), (5, 2, 10), (10, 1, 5), (50, 1, 1), (1_000, 1, 1)];
        for (micros, brief, spell) in table {
            let average = Average::new(Duration::from_micros(micros));
            assert_eq!((average.brief(), average.spell()), (brief, spell), "{micros} us");
        }
        let tick = Tick::new(false, true);
        let turns: Vec<_> = (0..100 * tick.brief.get())
            .map(|_| {
                poll(&tick);
                tick.take_turn()
            })
            .collect();
        let count = |turn| turns.iter().filter(|&&taken| taken == turn).count();
        let others = turns.len() / tick.interval();
        assert_eq!((count(Turn::Queue), count(Turn::Others)), (100 - others, others));
    }

    /// Polls a thousand times beside a queue that is never empty. Each turn of the queue takes one
    /// task from it. Returns the number of polls of own tasks, and of polls of the queue's tasks.
    fn poll_beside_a_full_queue(tick: &Tick) -> (u32, u32) {
        let (mut own, mut queued) = (0, 0);
        for _ in 0..1_000 {
            match tick.take_turn() {
                Turn::Queue => {
                    tick.defer_queue_turn(1);
                    queued += 1;
                }
                Turn::Own | Turn::Others => own += 1,
            }
            poll(tick);
        }
        (own, queued)
    }

    #[test]
    fn polls_of_tasks_from_the_queue_bring_no_further_turn_of_the_queue() {
        let tick = Tick::new(false, true);
        assert_eq!((tick.brief.get(), tick.spell()), (1, 1), "polls are taken to be long");
        let (own, queued) = poll_beside_a_full_queue(&tick);
        assert!(own >= queued && queued > 400, "{own} own, {queued} of the queue");
    }

    #[test]
    fn own_tasks_have_a_whole_spell_after_each_turn_of_the_queue() {
        let tick = Tick::new(false, true);
        tick.average.ns.set(10_000);
        poll_for_a_tick(&tick, Duration::from_micros(10));
        assert_eq!((tick.brief.get(), tick.spell()), (1, 5), "a look at the queue per poll");
        let (own, queued) = poll_beside_a_full_queue(&tick);
        // The thousandth poll may end in the middle of a spell.
        assert!(own >= 5 * (queued - 1) && queued > 100, "{own} own, {queued} of the queue");
    }

    #[test]
    fn tasks_taken_out_of_turn_do_not_defer_the_queue_for_ever() {
        for micros in [1, 5, 10, 20] {
            let tick = Tick::new(false, true);
            tick.average.ns.set(1_000 * micros);
            poll_for_a_tick(&tick, Duration::from_micros(micros));
            for _ in 0..100_000 {
                // The worker has no own task, so it takes one from the queue.
                tick.take_turn();
                tick.defer_queue_turn(1);
                poll(&tick);
            }
            let polls_until_turn = (0..).position(|_| {
                poll(&tick);
                tick.take_turn() == Turn::Queue
            });
            // One spell and the rest of a step.
            let most = tick.spell() + 2 * POLLS_PER_SAMPLE as usize;
            assert!(polls_until_turn.is_some_and(|polls| polls <= most), "{polls_until_turn:?}");
        }
    }

    #[test]
    fn jobs_count_as_well() {
        let tick = Tick::new(false, true);
        for _ in 0..3 {
            for _ in 0..tick.interval() {
                assert_eq!(tick.take_turn(), Turn::Own);
                tick.count_job();
            }
            assert_eq!(tick.take_turn(), Turn::Others);
        }
    }

    #[test]
    fn others_go_first_after_each_long_job_and_seldom_among_short_ones() {
        let tick = Tick::new(false, true);
        let jobs_until_turn = |time| {
            (1..=INTERVAL_MAX).find(|_| {
                tick.count_job();
                tick.end_job(time);
                tick.take_turn() == Turn::Others
            })
        };
        assert_eq!(
            jobs_until_turn(Duration::from_millis(50)),
            Some(2),
            "the first one was unknown"
        );
        assert_eq!(jobs_until_turn(Duration::from_millis(50)), Some(1));
        for _ in 0..100 {
            tick.end_job(Duration::from_nanos(100));
        }
        assert_eq!(jobs_until_turn(Duration::from_nanos(100)), Some(1), "as planned before");
        assert_eq!(jobs_until_turn(Duration::from_nanos(100)), Some(INTERVAL_MAX));
    }

    #[test]
    fn maintenance_comes_with_every_spent_budget_and_takes_the_average_over() {
        let tick = Tick::new(false, true);
        for _ in 0..100 {
            tick.end_poll(Duration::from_millis(1));
        }
        assert_eq!(tick.interval.get(), 20, "not before maintenance");
        for _ in 0..BUDGET_PER_TICK {
            poll(&tick);
        }
        assert_eq!(tick.interval.get(), INTERVAL_MIN);
    }

    #[test]
    fn one_poll_in_each_sample_interval_is_timed() {
        let tick = Tick::new(false, false);
        let timed = (0..4 * POLLS_PER_SAMPLE).filter(|_| poll(&tick)).count();
        assert_eq!(timed, 4);
        let tick = Tick::new(true, true);
        assert!((0..1_000).all(|_| poll(&tick)));
    }

    /// Polls until the next round of maintenance; each timed poll takes `time`. Returns how many
    /// were timed.
    fn poll_for_a_tick(tick: &Tick, time: Duration) -> u32 {
        let mut timed = 0;
        for _ in 0..BUDGET_PER_TICK {
            if poll(tick) {
                timed += 1;
                tick.end_poll(time);
            }
        }
        timed
    }

    #[test]
    fn the_longer_polls_take_the_more_is_recorded() {
        let tick = Tick::new(false, true);
        let table = [
            (1, Detail::Sample, Tick::STAMP_MASK),
            (10, Detail::Ends, Tick::STAMP_MASK),
            (20, Detail::Whole, 0),
            (1, Detail::Sample, Tick::STAMP_MASK),
        ];
        for (micros, detail, mask) in table {
            let time = Duration::from_micros(micros);
            tick.average.ns.set(1_000 * micros);
            // The new average takes effect in the next round.
            poll_for_a_tick(&tick, time);
            let timed = poll_for_a_tick(&tick, time);
            assert_eq!((tick.detail(), tick.stamp_mask()), (detail, mask));
            let every = if detail == Detail::Sample { POLLS_PER_SAMPLE } else { 1 };
            assert_eq!(timed, BUDGET_PER_TICK / every, "{micros}");
        }
    }

    #[test]
    fn without_a_recorder_long_polls_are_sampled_too() {
        let tick = Tick::new(false, false);
        for _ in 0..3 {
            assert_eq!(poll_for_a_tick(&tick, Duration::from_millis(1)), 1);
        }
        assert_eq!(tick.detail(), Detail::Sample);
    }

    #[test]
    fn jobs_that_are_short_are_sampled() {
        let tick = Tick::new(false, true);
        assert!(tick.times_job(0));
        assert_eq!(tick.job_weight(), 1);
        tick.end_job(Duration::from_secs(1));
        assert!(tick.times_job(1) && tick.times_job(2));
        while tick.times_job(1) {
            tick.end_job(Duration::ZERO);
        }
        let timed = (0..JOBS_PER_SAMPLE * 3).filter(|&job| tick.times_job(job.into()));
        assert_eq!(timed.count(), 3);
        assert_eq!(tick.job_weight(), u64::from(JOBS_PER_SAMPLE));
    }
}
