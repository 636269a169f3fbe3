//! Hints about a worker's own part of the tree, so that it does not go to sleep too early.

#![forbid(unsafe_code)]

use super::SummaryTree;
use crate::prim::{AtomicU64, Relaxed};

const YIELD: u64 = 1;
const TASKS: u64 = 1 << 1;

/// One worker's status, written by that worker only, read by dumps (BITMAP-11).
///
/// | bit of `status` | meaning |
/// |---|---|
/// | 0 | there are tasks in the worker's yield queue |
/// | 1 | there were tasks in its partition when it looked last |
#[derive(Debug, Default)]
pub struct SignalWaker {
    status: AtomicU64,
    partition: AtomicU64,
}

impl SignalWaker {
    /// Nothing is there.
    ///
    /// ```
    /// let waker = blitz_parts::bitmap::SignalWaker::new();
    /// assert_eq!((waker.status(), waker.partition_summary()), (0, 0));
    /// ```
    pub fn new() -> SignalWaker {
        SignalWaker::default()
    }

    /// The bits.
    pub fn status(&self) -> u64 {
        self.status.load(Relaxed)
    }

    /// Bit i: the worker's i-th leaf, modulo 64, had tasks when it looked last.
    pub fn partition_summary(&self) -> u64 {
        self.partition.load(Relaxed)
    }

    /// Notes that the yield queue has got a task. Own thread only.
    #[inline]
    pub fn mark_yield(&self) {
        self.set(YIELD);
    }

    /// Notes that the yield queue may be empty, and returns whether the bit was set. Own thread
    /// only.
    #[inline]
    pub fn try_unmark_yield(&self) -> bool {
        self.clear(YIELD)
    }

    /// Own thread only.
    fn mark_tasks(&self) {
        self.set(TASKS);
    }

    /// Returns whether the bit was set. Own thread only.
    fn try_unmark_tasks(&self) -> bool {
        self.clear(TASKS)
    }

    /// Looks at the leaves of `worker`, one of `workers`, and returns whether any has tasks. Own
    /// thread only.
    ///
    /// ```
    /// use blitz_parts::bitmap::{SignalWaker, Bitmap};
    /// let signals = Bitmap::new(2);
    /// assert!(!SignalWaker::new().sync_partition_summary(signals.tree(), 0, 2));
    /// ```
    pub fn sync_partition_summary(
        &self,
        tree: &SummaryTree,
        worker: usize,
        workers: usize,
    ) -> bool {
        let summary = tree.partition_summary(worker, workers);
        self.partition.store(summary, Relaxed);
        if summary == 0 {
            self.try_unmark_tasks();
        } else {
            self.mark_tasks();
        }
        summary != 0
    }

    #[inline]
    fn set(&self, bit: u64) {
        let status = self.status.load(Relaxed);
        if status & bit == 0 {
            self.status.store(status | bit, Relaxed);
        }
    }

    #[inline]
    fn clear(&self, bit: u64) -> bool {
        let status = self.status.load(Relaxed);
        if status & bit != 0 {
            self.status.store(status & !bit, Relaxed);
        }
        status & bit != 0
    }
}
