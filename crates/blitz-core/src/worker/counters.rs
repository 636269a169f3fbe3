//! What a worker counts of what it does: always on, written by its own thread.

#![forbid(unsafe_code)]

use blitz_parts::counter::Counter;

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
