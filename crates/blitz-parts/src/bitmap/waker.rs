//! Hints about a worker's own part of the tree, for dumps.

use super::SummaryTree;
use crate::prim::{AtomicU64, Relaxed};
use core::marker::PhantomData;

const YIELD: u64 = 1;
const TASKS: u64 = 1 << 1;

/// One worker's status. The worker writes it through [`BitmapWaker::owner`] (BITMAP-11); dumps read
/// it.
///
/// | bit of `status` | meaning |
/// |---|---|
/// | 0 | there may be tasks in the worker's yield queue |
/// | 1 | there may have been tasks in its partition when it looked last |
#[derive(Debug, Default)]
pub struct BitmapWaker {
    status: AtomicU64,
    partition: AtomicU64,
}

/// The worker's end. Neither `Send` nor `Sync`: it stays on the thread that made it.
///
/// ```compile_fail,E0277
/// # use blitz_parts::bitmap::BitmapWaker;
/// let waker = BitmapWaker::new();
/// // SAFETY: no other thread uses the waker.
/// let owner = unsafe { waker.owner() };
/// std::thread::scope(|scope| _ = scope.spawn(|| owner.mark_yield()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WakerOwner<'a> {
    waker: &'a BitmapWaker,
    stays_here: PhantomData<*mut ()>,
}

impl BitmapWaker {
    /// Creates a status whose bits are all clear.
    ///
    /// ```
    /// let waker = blitz_parts::bitmap::BitmapWaker::new();
    /// assert_eq!((waker.status(), waker.partition_summary()), (0, 0));
    /// ```
    pub fn new() -> BitmapWaker {
        BitmapWaker::default()
    }

    /// Returns the bits of the status.
    pub fn status(&self) -> u64 {
        self.status.load(Relaxed)
    }

    /// Bit `i % 64`: the worker's i-th leaf may have had tasks when the worker looked last.
    pub fn partition_summary(&self) -> u64 {
        self.partition.load(Relaxed)
    }

    /// Returns the worker's end of this status, through which the worker writes it.
    ///
    /// # Safety
    /// 1. At any time at most one thread uses `WakerOwner`s of this status. If another thread takes
    ///    over, some other synchronisation orders its uses after those of the thread before it.
    #[inline(always)]
    pub unsafe fn owner(&self) -> WakerOwner<'_> {
        WakerOwner { waker: self, stays_here: PhantomData }
    }
}

impl WakerOwner<'_> {
    /// Notes that the yield queue has got a task.
    #[inline]
    pub fn mark_yield(self) {
        self.set(YIELD);
    }

    /// Notes that the yield queue may be empty, and returns whether the bit was set.
    #[inline]
    pub fn try_unmark_yield(self) -> bool {
        self.clear(YIELD)
    }

    /// Notes that the partition may have tasks.
    fn mark_tasks(self) {
        self.set(TASKS);
    }

    /// Notes that the partition has no tasks, and returns whether the bit was set.
    fn try_unmark_tasks(self) -> bool {
        self.clear(TASKS)
    }

    /// Looks at the leaves of `worker`, one of `workers`. Notes which of them may have tasks, and
    /// returns whether any may.
    ///
    /// ```
    /// use blitz_parts::bitmap::{BitmapWaker, Bitmap};
    /// let (signals, waker) = (Bitmap::new(2), BitmapWaker::new());
    /// // SAFETY: no other thread uses the waker.
    /// let owner = unsafe { waker.owner() };
    /// assert!(!owner.sync_partition_summary(signals.tree(), 0, 2));
    /// ```
    pub fn sync_partition_summary(self, tree: &SummaryTree, worker: usize, workers: usize) -> bool {
        let summary = tree.partition_summary(worker, workers);
        self.waker.partition.store(summary, Relaxed);
        if summary == 0 {
            self.try_unmark_tasks();
        } else {
            self.mark_tasks();
        }
        summary != 0
    }

    #[inline]
    fn set(self, bit: u64) {
        let status = self.waker.status.load(Relaxed);
        if status & bit == 0 {
            self.waker.status.store(status | bit, Relaxed);
        }
    }

    #[inline]
    fn clear(self, bit: u64) -> bool {
        let status = self.waker.status.load(Relaxed);
        if status & bit != 0 {
            self.waker.status.store(status & !bit, Relaxed);
        }
        status & bit != 0
    }
}
