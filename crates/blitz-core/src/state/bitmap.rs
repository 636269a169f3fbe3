//! A worker's state of the bitmap scheduler; see `blitz_parts::bitmap`.

#![forbid(unsafe_code)]

use blitz_parts::bitmap::{Cursor, SignalWaker, SlotCache};
use blitz_parts::counter::Counter;
use std::cell::{Cell, RefCell};

/// One worker's marks and counts, which any thread may read.
#[derive(Default)]
pub(crate) struct BitmapMarks {
    pub(crate) waker: SignalWaker,
    /// Permits taken.
    pub(crate) permits_taken: Counter,
    /// Tasks taken from the own part of the tree.
    pub(crate) taken_own: Counter,
    /// Tasks taken from other workers' parts.
    pub(crate) taken_elsewhere: Counter,
}

/// State of the worker's own thread.
pub(crate) struct OwnBitmap {
    pub(crate) slots: RefCell<SlotCache>,
    /// Where the worker searches next in its own part of the tree.
    pub(crate) cursor: Cursor,
    /// Goes round all parts of the tree, a task at a time.
    pub(crate) round: Cursor,
    /// How many tasks of the yield queue go before the next task of the tree: as many as the tree
    /// gave last time.
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

/// Rare events of the tree, which any thread counts.
#[derive(Default)]
pub(crate) struct BitmapTotals {
    /// Signals that put their leaf into the root.
    pub(crate) activated: Counter,
    /// Permits given, each with a wake-up.
    pub(crate) permits_given: Counter,
}
