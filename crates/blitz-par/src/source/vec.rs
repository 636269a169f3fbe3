//! The items of vectors, by value: `Vec::into_par_iter`, `Vec::par_drain`.
//!
//! A piece owns a range of items in the memory of a vector whose length was set to leave them out.
//! Blocks take items out of the range and own them in turn. Each drops what it still owns, and so
//! each item is dropped once: by its consumer, by the block or by the piece.

use crate::iter::{IndexedParallelIterator, ParallelDrainRange, ParallelIterator};
use crate::iter::{IntoParallelIterator, into_par_iter_of_refs};
use crate::piece::{Exact, Piece};
use crate::plan::Turn;
use crate::range_of::simplify;
use crate::reducer::{Reducer, Run};
use crate::run::begin;
use std::marker::PhantomData;
use std::ops::{Range, RangeBounds};
use std::ptr::{self, NonNull};

/// The items of a vector, by value.
#[must_use = "parallel iterators are lazy and do nothing unless consumed"]
#[derive(Debug, Clone)]
pub struct IntoIter<T> {
    pub(crate) vec: Vec<T>,
}

/// The items of a range of a vector, by value: made by [`Vec::par_drain`](ParallelDrainRange).
/// Dropping it removes them.
#[must_use = "parallel iterators are lazy and do nothing unless consumed"]
#[derive(Debug)]
pub struct Drain<'a, T: Send> {
    vec: &'a mut Vec<T>,
    range: Range<usize>,
    /// How long the vector was.
    len: usize,
}

impl<T: Send> IntoParallelIterator for Vec<T> {
    type Item = T;
    type Iter = IntoIter<T>;

    fn into_par_iter(self) -> IntoIter<T> {
        IntoIter { vec: self }
    }
}

impl<T: Send> IntoParallelIterator for Box<[T]> {
    type Item = T;
    type Iter = IntoIter<T>;

    fn into_par_iter(self) -> IntoIter<T> {
        IntoIter { vec: self.into_vec() }
    }
}

into_par_iter_of_refs!([T] Vec<T> as [T]);
into_par_iter_of_refs!([T] Box<[T]> as [T]);

impl<T: Send> ParallelIterator for IntoIter<T> {
    type Item = T;

    drive_piece!();
}

impl<T: Send> IndexedParallelIterator for IntoIter<T> {
    type Piece<'p>
        = Owned<'p, T>
    where
        Self: 'p;

    fn len(&self) -> usize {
        self.vec.len()
    }

    fn piece(&mut self) -> Owned<'_, T> {
        let len = self.vec.len();
        Owned::take(&mut self.vec, 0..len)
    }
}

impl<'a, T: Send> ParallelDrainRange<usize> for &'a mut Vec<T> {
    type Iter = Drain<'a, T>;
    type Item = T;

    fn par_drain<R: RangeBounds<usize>>(self, range: R) -> Drain<'a, T> {
        let len = self.len();
        Drain { range: simplify(range, len), vec: self, len }
    }
}

impl<T: Send> ParallelIterator for Drain<'_, T> {
    type Item = T;

    drive_piece!();
}

impl<T: Send> IndexedParallelIterator for Drain<'_, T> {
    type Piece<'p>
        = Owned<'p, T>
    where
        Self: 'p;

    fn len(&self) -> usize {
        self.range.len()
    }

    fn piece(&mut self) -> Owned<'_, T> {
        Owned::take(self.vec, self.range.clone())
    }
}

impl<T: Send> Drop for Drain<'_, T> {
    fn drop(&mut self) {
        let Range { start, end } = self.range;
        if self.vec.len() == self.len {
            // No piece was made, or its range was empty and lay at the end.
            drop(self.vec.drain(start..end));
            return;
        }
        let tail = self.len - end;
        // SAFETY: `end <= len <= capacity`.
        let from = unsafe { self.vec.as_ptr().add(end) };
        // SAFETY: `start <= len <= capacity`.
        let to = unsafe { self.vec.as_mut_ptr().add(start) };
        // SAFETY: the tail was left alone since the piece was made, and `start + tail <= len`.
        unsafe { ptr::copy(from, to, tail) };
        // SAFETY: the items before `start` and the tail behind them are initialised; what was in
        // the range belonged to the piece, which is gone.
        unsafe { self.vec.set_len(start + tail) };
    }
}

/// A range of items in the memory of a vector, owned: a piece, and a block of one.
#[derive(Debug)]
pub struct Owned<'a, T> {
    first: NonNull<T>,
    left: usize,
    lent: PhantomData<&'a mut [T]>,
}

// SAFETY: it owns items, as a vector does.
unsafe impl<T: Send> Send for Owned<'_, T> {}

impl<'a, T> Owned<'a, T> {
    /// Takes the items of `range` out of `vec`. The length of `vec` is set to the start of the
    /// range.
    fn take(vec: &'a mut Vec<T>, range: Range<usize>) -> Owned<'a, T> {
        assert!(range.start <= range.end && range.end <= vec.len(), "the range is inside");
        // SAFETY: the items before are initialised; those behind leak unless they are taken over,
        // as they are here, or by `Drain::drop`.
        unsafe { vec.set_len(range.start) };
        // SAFETY: the range is inside of the allocation.
        let first = unsafe { vec.as_mut_ptr().add(range.start) };
        // SAFETY: it points into an allocation, or dangles without being null.
        let first = unsafe { NonNull::new_unchecked(first) };
        Owned { first, left: range.len(), lent: PhantomData }
    }

    /// Gives the first `count` items to a new owner.
    fn take_first(&mut self, count: usize) -> Owned<'a, T> {
        assert!(count <= self.left, "{count} of {} items", self.left);
        let first = Owned { first: self.first, left: count, lent: PhantomData };
        // SAFETY: there are so many items.
        self.first = unsafe { self.first.add(count) };
        self.left -= count;
        first
    }
}

impl<T> Drop for Owned<'_, T> {
    fn drop(&mut self) {
        let items = ptr::slice_from_raw_parts_mut(self.first.as_ptr(), self.left);
        self.left = 0;
        // SAFETY: they are initialised, and this is their only owner.
        unsafe { ptr::drop_in_place(items) };
    }
}

impl<'a, T: Send> Piece for Owned<'a, T> {
    type Item = T;
    type Block = Owned<'a, T>;

    #[inline]
    fn steps(&self) -> usize {
        self.left
    }

    fn split_off(&mut self, at: usize) -> Option<Self> {
        let first = self.take_first(at);
        Some(std::mem::replace(self, first))
    }

    #[inline]
    fn block(&mut self, steps: usize) -> Self::Block {
        self.take_first(steps)
    }

    fn exact_len(&self) -> Option<usize> {
        Some(self.left)
    }
}

impl<T: Send> Exact for Owned<'_, T> {}

impl<T> Iterator for Owned<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        let item = self.first;
        // SAFETY: there was an item at `first`.
        self.first = unsafe { item.add(1) };
        // SAFETY: it was this owner's, and is no longer in its range.
        Some(unsafe { item.read() })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> DoubleEndedIterator for Owned<'_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        // SAFETY: there was an item there.
        let item = unsafe { self.first.add(self.left) };
        // SAFETY: it was this owner's, and is no longer in its range.
        Some(unsafe { item.read() })
    }
}

impl<T> ExactSizeIterator for Owned<'_, T> {}
