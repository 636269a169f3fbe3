//! Counters of workers and of all other threads, always on. Only the owner writes those of a
//! worker, except `rescued`, which the watch writes.

#![forbid(unsafe_code)]

use blitz_parts::counter::Counter;
use blitz_parts::task::{Ran, Runnable};
use blitz_parts::ticks;
use std::time::Duration;

/// A worker's own counters. The fork's fast path writes none of them: pushes are counted by the
/// deque, and pops follow from pushes and steals.
#[derive(Default)]
pub(crate) struct WorkerCounters {
    pub(crate) executed: Counter,
    pub(crate) popped: Counter,
    pub(crate) injected: Counter,
    pub(crate) steals_tried: Counter,
    pub(crate) steals_won: Counter,
    pub(crate) leapfrogs_tried: Counter,
    pub(crate) leapfrogs: Counter,
    pub(crate) wakes_sent: Counter,
}

/// One worker's counters of tasks, or those of all other threads together.
#[derive(Default)]
pub(crate) struct TaskCounters {
    pub(crate) spawned: Counter,
    pub(crate) polled: Counter,
    /// Outcomes of polls.
    pub(crate) ran: [Counter; 4],
    /// Tasks that were cancelled without a poll.
    pub(crate) cancelled: Counter,
    pub(crate) stolen: Counter,
    pub(crate) overflowed: Counter,
    pub(crate) lifo_hits: Counter,
    pub(crate) rescued: Counter,
    pub(crate) from_queue: Counter,
    pub(crate) budget_spent: Counter,
    pub(crate) scheduled: Counter,
}

impl TaskCounters {
    /// Counts a task that became runnable. If the count has no bit of `mask`, stamps the task with
    /// the time. Returns whether it was stamped.
    #[inline]
    pub(crate) fn stamp(&self, task: &Runnable, mask: u64) -> bool {
        self.scheduled.add(1);
        let noted = self.scheduled.get() & mask == 0;
        if noted {
            task.set_stamp(stamp());
        }
        noted
    }

    /// Whether a poll has begun and not ended, at some recent moment.
    pub(crate) fn are_polling(&self) -> bool {
        let ended: u64 = self.ran.iter().map(Counter::get).sum();
        self.polled.get() > ended
    }

    /// Counts a poll. Without a branch, because outcomes of polls are hard to predict.
    #[inline]
    pub(crate) fn count(&self, ran: &Ran) {
        self.ran[usize::from(outcome(ran))].add(1);
    }
}

/// How many nanoseconds ago the task with this stamp was scheduled.
pub(crate) fn since_stamp(before: u32) -> u64 {
    ticks::to_nanos(u64::from(stamp().wrapping_sub(before)) << STAMP_BITS)
}

/// Whether a stamp is the time of scheduling, not of a poll.
#[inline]
pub(crate) fn is_of_schedule(stamp: u32) -> bool {
    stamp & OF_SCHEDULE != 0
}

/// The stamp of a task that is polled at `now`. Its resolution is about half a millisecond. It is
/// even, so it differs from every value of [`stamp`]. It wraps around after 2^51 ticks: more than a
/// week at 3 GHz.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the stamp wraps around")]
pub(crate) fn coarse(now: u64) -> u32 {
    ((now >> COARSE_BITS) as u32) << 1
}

/// How long ago the task with this stamp was polled; `None` if the stamp is not the time of a poll.
pub(crate) fn since_coarse(before: u32) -> Option<Duration> {
    // The stamp is zero if the worker had not set its coarse clock yet.
    let is_known = before != 0 && !is_of_schedule(before);
    is_known.then(|| ticks::to_duration(between(before, coarse(ticks::now()))))
}

/// The ticks between two coarse stamps; zero if the second one is older.
fn between(before: u32, after: u32) -> u64 {
    let passed = after.wrapping_sub(before);
    if passed > u32::MAX / 2 { 0 } else { u64::from(passed >> 1) << COARSE_BITS }
}

/// The outcome of a poll, as the index of its counter.
#[inline]
pub(crate) fn outcome(ran: &Ran) -> u8 {
    match ran {
        Ran::Complete => 0,
        Ran::Cancelled => 1,
        Ran::Idle => 2,
        Ran::Again(_) => 3,
    }
}
pub(crate) const COMPLETED: usize = 0;
pub(crate) const CANCELLED: usize = 1;
pub(crate) const AGAIN: usize = 3;

/// How many low bits of the ticks a stamp drops: about the resolution of the shortest bucket.
const STAMP_BITS: u32 = 7;
/// How many low bits of the ticks a coarse stamp drops.
const COARSE_BITS: u32 = 20;
/// Set in stamps that are times of scheduling.
const OF_SCHEDULE: u32 = 1;

/// The time since some moment in units of 128 ticks, rounded up to an odd number.
///
/// It wraps around after 2^39 ticks, about three minutes at 3 GHz: a task that waits longer looks
/// as if it waited less. It counts ticks, because the rate of ticks may be refined in between.
#[expect(clippy::cast_possible_truncation, reason = "the stamp wraps around")]
fn stamp() -> u32 {
    (ticks::now() >> STAMP_BITS) as u32 | OF_SCHEDULE
}

#[cfg(test)]
mod tests {
    use super::{COARSE_BITS, between, coarse, is_of_schedule, since_coarse, stamp};

    #[test]
    fn stamps_distinguish_scheduling_from_polls() {
        assert!(is_of_schedule(stamp()));
        assert!(!is_of_schedule(coarse(u64::MAX)));
        assert_eq!(since_coarse(stamp()), None);
        assert_eq!(since_coarse(0), None);
    }

    #[test]
    fn a_coarse_stamp_has_an_age() {
        let (one, most) = (1 << COARSE_BITS, u64::from(u32::MAX) << COARSE_BITS);
        for begin in [0, 7 * one, most - one, most] {
            assert_eq!(between(coarse(begin), coarse(begin + 5 * one)), 5 * one);
            assert_eq!(between(coarse(begin + one), coarse(begin)), 0);
        }
    }
}
