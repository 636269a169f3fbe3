//! The ring behind a deque: a power of two of one-word slots.

use crate::prim::{AtomicPtr, Relaxed};

/// A ring of slots, together with the smaller rings it replaced.
pub(super) struct Buffer<T> {
    slots: Box<[AtomicPtr<T>]>,
    /// Kept, not freed: a thief may have read the old buffer's address just before (DEQUE-5).
    /// A raw pointer, because a `Box` would claim that nobody else reads it.
    retired: *mut Buffer<T>,
}

impl<T> Buffer<T> {
    pub(super) fn new(len: usize) -> Box<Buffer<T>> {
        debug_assert!(len.is_power_of_two());
        let slots = (0..len).map(|_| AtomicPtr::new(core::ptr::null_mut())).collect();
        Box::new(Buffer { slots, retired: core::ptr::null_mut() })
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn slot(&self, index: isize) -> &AtomicPtr<T> {
        &self.slots[index as usize & (self.len() - 1)]
    }

    /// A buffer with room for `needed` items, with the same items at the same indices.
    ///
    /// # Safety
    /// 1. `old` came from `Box::into_raw`, is alive, and is handed over: the new buffer frees it.
    pub(super) unsafe fn replacing(
        old: *mut Buffer<T>,
        top: isize,
        end: isize,
        needed: usize,
    ) -> Box<Buffer<T>> {
        // SAFETY: `old` is alive by obligation 1.
        let small = unsafe { &*old };
        let mut grown = Buffer::new(needed.next_power_of_two());
        for index in top..end {
            grown.slot(index).store(small.slot(index).load(Relaxed), Relaxed);
        }
        grown.retired = old;
        grown
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        if !self.retired.is_null() {
            // SAFETY: `replacing` took charge of the pointer; with the deque gone nobody reads it.
            drop(unsafe { Box::from_raw(self.retired) });
        }
    }
}
