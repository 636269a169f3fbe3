//! Writes each item to its final place at once: `collect` of loops whose length is exact.
//!
//! The memory is reserved before the loop begins. Each part writes from its [`Place`] on, and never
//! beyond the limit of its current block. Places of parts that run at once do not overlap. A part
//! that is cut off from another one begins after everything that the other part has written.
//! [`Place`] keeps parts apart and in this order, whatever length a [`Piece`](crate::piece::Piece)
//! claims. A part owns the items that it has written, and drops them on a panic.

use crate::iter::ParallelIterator;
use crate::place::Place;
use crate::plan::Turn;
use crate::reducer::Reducer;
use crate::run::reduce;
use std::marker::PhantomData;
use std::mem::{MaybeUninit, forget};
use std::ptr;
use std::slice;

/// Writes items into memory.
pub(crate) struct InPlace<'a, T> {
    start: *mut T,
    len: usize,
    lent: PhantomData<&'a mut [MaybeUninit<T>]>,
}

// SAFETY: threads write items of a type that is `Send` to ranges that do not overlap.
unsafe impl<T: Send> Sync for InPlace<'_, T> {}

impl<'a, T> InPlace<'a, T> {
    pub(crate) fn new(memory: &'a mut [MaybeUninit<T>]) -> InPlace<'a, T> {
        InPlace { start: memory.as_mut_ptr().cast(), len: memory.len(), lent: PhantomData }
    }
}

/// Items that a part has written, and owns.
pub(crate) struct Written<'a, T> {
    start: *mut T,
    first: usize,
    count: usize,
    lent: PhantomData<&'a mut [MaybeUninit<T>]>,
}

// SAFETY: it owns items, as a vector does.
unsafe impl<T: Send> Send for Written<'_, T> {}

impl<T> Written<'_, T> {
    /// Hands the items to the owner of the memory.
    ///
    /// # Panics
    /// If this part does not have all of the `len` items.
    pub(crate) fn complete(self, len: usize) {
        let found = if self.first == 0 { self.count } else { 0 };
        assert!(found == len, "expected {len} total writes, but got {found}");
        forget(self);
    }
}

impl<T> Drop for Written<'_, T> {
    fn drop(&mut self) {
        if self.count == 0 {
            // Without items `first` comes from the place, and may be out of bounds.
            return;
        }
        // SAFETY: the range is inside the memory.
        let first = unsafe { self.start.add(self.first) };
        // SAFETY: this many items were written there, and this is their only owner.
        unsafe { ptr::drop_in_place(ptr::slice_from_raw_parts_mut(first, self.count)) };
    }
}

impl<'a, T: Send> Reducer<T> for InPlace<'a, T> {
    type Acc = Written<'a, T>;
    type Out = Written<'a, T>;

    fn start(&self, place: &Place) -> Written<'a, T> {
        assert!(place.is_exact(), "items are written in place if their number is known");
        Written { start: self.start, first: place.next(), count: 0, lent: PhantomData }
    }

    #[inline]
    fn fold<B: Iterator<Item = T>>(
        &self,
        mut acc: Written<'a, T>,
        turn: &Turn<'_>,
        block: B,
    ) -> Written<'a, T> {
        let from = acc.first + acc.count;
        let room = turn.place.limit().min(self.len).saturating_sub(from);
        // SAFETY: the range is inside the memory, or empty and at its end.
        let first = unsafe { self.start.add(from.min(self.len)) };
        // SAFETY: no other part has this range (see the module), and it lives as long as `self`.
        let memory = unsafe { slice::from_raw_parts_mut(first.cast::<MaybeUninit<T>>(), room) };
        let count = &mut acc.count;
        memory.iter_mut().zip(block).for_each(|(place, item)| {
            place.write(item);
            *count += 1;
        });
        acc
    }

    fn finish(&self, acc: Written<'a, T>, _: &Turn<'_>) -> Written<'a, T> {
        acc
    }

    fn merge(&self, mut left: Written<'a, T>, right: Written<'a, T>) -> Written<'a, T> {
        // If the parts do not meet, items are missing between them. Then the right part drops its
        // items.
        if left.first + left.count == right.first {
            left.count += right.count;
            forget(right);
        }
        left
    }
}

/// Appends the items of a loop of `len` items.
#[track_caller]
pub(crate) fn extend<I: ParallelIterator>(vec: &mut Vec<I::Item>, iter: I, len: usize) {
    vec.reserve(len);
    let written = reduce(iter, &InPlace::new(&mut vec.spare_capacity_mut()[..len]));
    written.complete(len);
    // SAFETY: this many items were reserved and written.
    unsafe { vec.set_len(vec.len() + len) };
}
