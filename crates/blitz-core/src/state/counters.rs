//! What the workers did: counters that the owner writes, always on.

#![forbid(unsafe_code)]

use super::histogram::Times;
use blitz_parts::counter::Counter;
use blitz_parts::prim::since_start;
use blitz_parts::task::{Ran, Runnable};
use blitz_parts::tuning::POLLS_PER_SAMPLE;
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
    pub(crate) leapfrogs: Counter,
    pub(crate) wakes_sent: Counter,
}

/// One worker's counters of tasks, or those of all other threads together.
#[derive(Default)]
pub(crate) struct TaskCounters {
    pub(crate) spawned: Counter,
    pub(crate) polled: Counter,
    /// What came of polls.
    pub(crate) ran: [Counter; 4],
    /// Without being polled.
    pub(crate) cancelled: Counter,
    pub(crate) stolen: Counter,
    pub(crate) overflowed: Counter,
    pub(crate) lifo_hits: Counter,
    pub(crate) rescued: Counter,
    pub(crate) from_queue: Counter,
    pub(crate) budget_spent: Counter,
    pub(crate) poll_times: Times,
    pub(crate) latencies: Times,
    pub(crate) scheduled: Counter,
}

impl TaskCounters {
    /// Notes the time at which a task became runnable; of one in many.
    #[inline]
    pub(crate) fn stamp(&self, task: &Runnable) {
        self.scheduled.add(1);
        if self.scheduled.get() % u64::from(POLLS_PER_SAMPLE) == 0 {
            task.set_stamp(now());
        }
    }

    /// Whether a poll has begun and not ended, at some recent moment.
    pub(crate) fn are_polling(&self) -> bool {
        let ended: u64 = self.ran.iter().map(Counter::get).sum();
        self.polled.get() > ended
    }

    /// A task was polled. Without a branch: what came of the last polls says little about the next.
    #[inline]
    pub(crate) fn count(&self, ran: &Ran) {
        self.ran[index(ran)].add(1);
    }

    /// A task is about to be polled: how long it waited, if that was noted.
    #[inline]
    pub(crate) fn note_latency(&self, task: &Runnable) {
        let stamp = task.stamp();
        if stamp != 0 {
            task.set_stamp(0);
            self.add_latency(stamp);
        }
    }

    #[cold]
    fn add_latency(&self, stamp: u32) {
        self.latencies.add(Duration::from_micros(now().wrapping_sub(stamp).into()));
    }
}

/// Which counter counts what came of a poll.
#[inline]
fn index(ran: &Ran) -> usize {
    match ran {
        Ran::Complete => COMPLETED,
        Ran::Cancelled => CANCELLED,
        Ran::Idle => 2,
        Ran::Again(_) => AGAIN,
    }
}
pub(crate) const COMPLETED: usize = 0;
pub(crate) const CANCELLED: usize = 1;
pub(crate) const AGAIN: usize = 3;

/// Microseconds since some moment of this process, never zero. It goes round in an hour: a task
/// that waits longer is taken for one that waited less.
#[expect(clippy::cast_possible_truncation, reason = "it goes round")]
fn now() -> u32 {
    (since_start().as_micros() as u32).max(1)
}
