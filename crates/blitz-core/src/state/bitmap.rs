//! The state that the bitmap scheduler keeps per worker and per team: see `blitz_parts::bitmap`.

#![forbid(unsafe_code)]

use blitz_parts::bitmap::{BitmapWaker, Cursor, SlotCache};
use blitz_parts::counter::Counter;
use std::cell::{Cell, RefCell};

/// One worker's marks and counts, which any thread may read.
#[derive(Default)]
pub(crate) struct BitmapMarks {
    pub(crate) waker: BitmapWaker,
    /// Permits taken.
    pub(crate) permits_taken: Counter,
    /// Tasks taken from the own part of the tree.
    pub(crate) taken_own: Counter,
    /// Tasks taken from other workers' parts.
    pub(crate) taken_elsewhere: Counter,
}

/// State that only the worker's own thread uses.
pub(crate) struct OwnBitmap {
    pub(crate) slots: RefCell<SlotCache>,
    /// Where the worker searches next, first in its own part of the tree and then in any part.
    pub(crate) cursor: Cursor,
    /// Where the worker continues when it takes a task from the whole tree, in turn.
    pub(crate) round: Cursor,
    /// How many tasks of the yield queue the worker polls before it takes from the tree again. The
    /// number is that of the tasks that it took from the tree last time, or one if it found none.
    pub(crate) queue_turns: Cell<usize>,
}

impl OwnBitmap {
    pub(crate) fn new(worker: usize) -> OwnBitmap {
        OwnBitmap {
            slots: RefCell::new(SlotCache::of_worker(worker)),
            cursor: Cursor::default(),
            round: Cursor::default(),
            queue_turns: Cell::new(0),
        }
    }
}

/// Counts of rare events in the tree. Any thread adds to them.
#[derive(Default)]
pub(crate) struct BitmapTotals {
    /// How many signals found the bit of their leaf clear in its root word, and set it.
    pub(crate) activated: Counter,
    /// Permits given. Each comes with a wake-up.
    pub(crate) permits_given: Counter,
}
