//! A latch that is set by its last decrement.

use super::Latch;
use crate::prim::{AcqRel, AtomicUsize, Relaxed, Step, broken};

/// A latch that is set by the last of many finishers.
#[derive(Debug)]
pub struct CountLatch<L> {
    left: AtomicUsize,
    inner: L,
}

impl<L: Latch> CountLatch<L> {
    /// Creates a latch that needs `count` decrements; `count` must not be zero.
    pub fn new(count: usize, inner: L) -> CountLatch<L> {
        debug_assert_ne!(count, 0);
        CountLatch { left: AtomicUsize::new(count), inner }
    }

    /// Makes the latch need one more decrement. Call it only while a decrement is certainly owed,
    /// for example by the caller itself: the latch must not have been set.
    pub fn increment(&self) {
        let old = self.left.fetch_add(1, Relaxed);
        debug_assert_ne!(old, 0, "the latch was set already");
    }

    /// How many decrements are owed at some recent moment.
    pub fn left(&self) -> usize {
        self.left.load(Relaxed)
    }

    /// Returns the latch that the waiter waits for.
    pub fn inner(&self) -> &L {
        &self.inner
    }
}

impl<L: Latch> Latch for CountLatch<L> {
    /// Decrements the count; the last decrement sets the inner latch (LATCH-4).
    unsafe fn set(this: *const Self) {
        let order = if broken(Step::CountAcquire) { Relaxed } else { AcqRel };
        // SAFETY: `this` is live until the last decrement, and the caller's decrement is still
        // missing (obligation 1).
        let old = unsafe { (*this).left.fetch_sub(1, order) }; // O4
        if old == 1 {
            // SAFETY: this was the last decrement; the waiter waits for the inner latch.
            let inner = unsafe { &raw const (*this).inner };
            // SAFETY: the inner latch is live until it is set.
            unsafe { L::set(inner) };
        }
    }
}
