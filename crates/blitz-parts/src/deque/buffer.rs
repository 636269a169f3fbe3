//! The ring of a deque: one-word slots, their number a power of two.

use crate::prim::{AtomicPtr, MODELLED, Relaxed, Witness};
use crate::tuning::DEQUE_KEEPS;
use core::cell::Cell;
use core::ptr::null_mut;

/// A ring of slots, together with the smaller rings it replaced.
pub(super) struct Buffer<T> {
    slots: Box<[AtomicPtr<T>]>,
    /// The ring that this one replaced. It is not freed at once, because a thief may have read its
    /// address just before (DEQUE-5). Only the thread that may change the deque's buffer uses this
    /// field. It is a raw pointer, because a `Box` would claim that no other thread reads the ring.
    retired: Cell<*mut Buffer<T>>,
    /// Witness of the box `slots`: making and freeing it are writes, using a slot is a read.
    uses: Witness,
}

/// The address of a buffer, tagged if the buffer is large and may be freed before the deque.
pub(super) struct Tagged<T>(*mut Buffer<T>);

/// This bit of an address is free, because a buffer is aligned for pointers.
const LARGE: usize = 1;

impl<T> Tagged<T> {
    pub(super) fn of(buffer: *mut Buffer<T>, len: usize) -> Tagged<T> {
        let tag = if len > DEQUE_KEEPS { LARGE } else { 0 };
        Tagged(buffer.map_addr(|address| address | tag))
    }

    pub(super) fn from_word(word: *mut Buffer<T>) -> Tagged<T> {
        Tagged(word)
    }

    pub(super) fn into_word(self) -> *mut Buffer<T> {
        self.0
    }

    #[inline]
    pub(super) fn is_large(&self) -> bool {
        self.0.addr() & LARGE != 0
    }

    #[inline]
    pub(super) fn buffer(&self) -> *mut Buffer<T> {
        self.0.map_addr(|address| address & !LARGE)
    }
}

impl<T> Buffer<T> {
    pub(super) fn new(len: usize) -> Box<Buffer<T>> {
        debug_assert!(len.is_power_of_two());
        let slots = (0..len).map(|_| AtomicPtr::new(null_mut())).collect();
        let uses = Witness::default();
        uses.write();
        Box::new(Buffer { slots, retired: Cell::new(null_mut()), uses })
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn slot(&self, index: isize) -> &AtomicPtr<T> {
        self.uses.read();
        &self.slots[index as usize & (self.len() - 1)]
    }

    /// Creates a buffer with room for `needed` items, and copies the items of `old` from `top` to
    /// `end` to the same indices.
    ///
    /// # Safety
    /// 1. `old` came from `Box::into_raw` and is alive. The new buffer takes it over and frees it.
    pub(super) unsafe fn replacing(
        old: *mut Buffer<T>,
        top: isize,
        end: isize,
        needed: usize,
    ) -> Box<Buffer<T>> {
        // SAFETY: `old` is alive by obligation 1.
        let small = unsafe { &*old };
        let grown = Buffer::new(needed.next_power_of_two());
        for index in top..end {
            grown.slot(index).store(small.slot(index).load(Relaxed), Relaxed);
        }
        grown.retired.set(old);
        grown
    }

    /// Splits a row of buffers. Each buffer links to the one that it replaced, so the large buffers
    /// come first. Puts the large buffers in front of `waiting`, another row. Returns the first
    /// buffer of that row, which may be null, and the first buffer that is not large.
    ///
    /// # Safety
    /// 1. The buffers of both rows are alive, and no other thread uses their links.
    pub(super) unsafe fn split_large(
        first: *mut Buffer<T>,
        waiting: *mut Buffer<T>,
    ) -> (*mut Buffer<T>, *mut Buffer<T>) {
        let mut large = waiting;
        let mut at = first;
        loop {
            // SAFETY: obligation 1. The smallest buffer is not large, so the loop stops before the
            // row ends.
            let buffer = unsafe { &*at };
            if buffer.len() <= DEQUE_KEEPS {
                return (large, at);
            }
            let next = buffer.retired.replace(large);
            large = at;
            at = next;
        }
    }

    /// Frees a row of buffers; `first` may be null.
    ///
    /// # Safety
    /// 1. The buffers came from `Box::into_raw`, are the caller's, and no thread reads them any
    ///    more.
    pub(super) unsafe fn free(first: *mut Buffer<T>) {
        if first.is_null() {
            return;
        }
        if MODELLED {
            // Under the model checker the memory stays, so that the checker sees a thread that
            // reads too late.
            let mut at = first;
            // SAFETY: obligation 1.
            while let Some(buffer) = unsafe { at.as_ref() } {
                buffer.uses.write();
                at = buffer.retired.get();
            }
        } else {
            // SAFETY: obligation 1.
            drop(unsafe { Box::from_raw(first) });
        }
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        let mut at = self.retired.get();
        while !at.is_null() {
            // SAFETY: this buffer owns the row, and no thief reads the row once this buffer is
            // gone.
            let buffer = unsafe { Box::from_raw(at) };
            at = buffer.retired.replace(null_mut());
        }
    }
}
