//! What the workers did: counters that the owner writes, always on.

#![forbid(unsafe_code)]

use blitz_parts::counter::Counter;
use blitz_parts::task::{Ran, Runnable};
use blitz_parts::ticks;

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
    pub(crate) scheduled: Counter,
}

impl TaskCounters {
    /// Notes the time at which a task became runnable, of those whose number has no bit of `mask`;
    /// says whether it did.
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

    /// A task was polled. Without a branch: what came of the last polls says little about the next.
    #[inline]
    pub(crate) fn count(&self, ran: &Ran) {
        self.ran[usize::from(outcome(ran))].add(1);
    }
}

/// How many nanoseconds ago a stamp was taken.
pub(crate) fn since_stamp(before: u32) -> u64 {
    ticks::to_nanos(u64::from(stamp().wrapping_sub(before)) << STAMP_BITS)
}

/// What came of a poll, as the index of its counter.
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

/// Which bits of the ticks a stamp leaves out: about what the shortest bucket cannot tell apart.
const STAMP_BITS: u32 = 7;

/// The time since some moment in units of 128 ticks, never zero. It goes round in three minutes or
/// more: a task that waits longer is taken for one that waited less. Ticks, since the rate by which
/// they become nanoseconds may be refined in between.
#[expect(clippy::cast_possible_truncation, reason = "it goes round")]
fn stamp() -> u32 {
    ((ticks::now() >> STAMP_BITS) as u32).max(1)
}
