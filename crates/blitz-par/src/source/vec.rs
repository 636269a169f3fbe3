//! The items of vectors and arrays, by value: `Vec::into_par_iter`, `Vec::par_drain`.
//!
//! A piece owns a range of items in the memory of a vector whose length was set to leave them out,
//! or of an array that no longer owns them. Blocks take items out of the range and own them in
//! turn. Pieces and blocks drop what they still own. So each item is dropped once: by its consumer,
//! by a block or by a piece.

use crate::iter::{IndexedParallelIterator, ParallelDrainRange, ParallelIterator};
use crate::iter::{IntoParallelIterator, into_par_iter_of_refs};
use crate::piece::{Exact, Piece};
use crate::plan::Turn;
use crate::range_of::simplify;
use crate::reducer::{Reducer, Run};
use crate::run::begin;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Range, RangeBounds};
use std::ptr::{self, NonNull};

/// The items of a vector, by value.
#[must_use = "parallel iterators are lazy and do nothing unless consumed"]
#[derive(Debug, Clone)]
pub struct IntoIter<T> {
    pub(crate) vec: Vec<T>,
}

/// The items of a range of a vector, by value: made by [`Vec::par_drain`](ParallelDrainRange).
/// Dropping the iterator removes the items.
#[must_use = "parallel iterators are lazy and do nothing unless consumed"]
#[derive(Debug)]
pub struct Drain<'a, T: Send> {
    vec: &'a mut Vec<T>,
    range: Range<usize>,
    /// The original length of the vector.
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
            // No piece was made, or its range was empty and at the end.
            drop(self.vec.drain(start..end));
            return;
        }
        let tail = self.len - end;
        // SAFETY: `end <= len <= capacity`.
        let from = unsafe { self.vec.as_ptr().add(end) };
        // SAFETY: `start <= len <= capacity`.
        let to = unsafe { self.vec.as_mut_ptr().add(start) };
        // SAFETY: the tail was not touched since the piece was made, and `start + tail <= len`.
        unsafe { ptr::copy(from, to, tail) };
        // SAFETY: the items before `start` and the tail after them are initialised; the items of
        // the range belonged to the piece, which is gone.
        unsafe { self.vec.set_len(start + tail) };
    }
}

/// An array that owns its items until a piece takes them over.
pub(crate) struct Full<T, const N: usize> {
    array: MaybeUninit<[T; N]>,
    /// Whether the array owns the items. They are initialised then.
    is_full: bool,
}

impl<T, const N: usize> Full<T, N> {
    #[inline]
    pub(crate) fn new(array: [T; N]) -> Full<T, N> {
        Full { array: MaybeUninit::new(array), is_full: true }
    }

    /// The items, unless a piece has them.
    pub(crate) fn items(&self) -> Option<&[T; N]> {
        // SAFETY: the array owns the items, so they are initialised.
        self.is_full.then(|| unsafe { self.array.assume_init_ref() })
    }

    /// Hands the items over to a piece.
    #[inline]
    pub(crate) fn take(&mut self) -> Owned<'_, T> {
        let left = if self.is_full { N } else { 0 };
        self.is_full = false;
        Owned { first: NonNull::from(&mut self.array).cast(), left, lent: PhantomData }
    }
}

impl<T, const N: usize> Drop for Full<T, N> {
    #[inline]
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T: Clone, const N: usize> Clone for Full<T, N> {
    fn clone(&self) -> Self {
        match self.items() {
            Some(items) => Full::new(items.clone()),
            None => Full { array: MaybeUninit::uninit(), is_full: false },
        }
    }
}

/// Owns a range of items in the memory of a vector or an array: a piece, or a block of a piece.
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
        // SAFETY: the items before the range are initialised. The items after it would leak, but
        // are taken over here, or by `Drain::drop`.
        unsafe { vec.set_len(range.start) };
        // SAFETY: the range is inside the allocation.
        let first = unsafe { vec.as_mut_ptr().add(range.start) };
        // SAFETY: it points into an allocation, or dangles without being null.
        let first = unsafe { NonNull::new_unchecked(first) };
        Owned { first, left: range.len(), lent: PhantomData }
    }

    /// Gives the first `count` items to a new owner.
    #[inline]
    fn take_first(&mut self, count: usize) -> Owned<'a, T> {
        assert!(count <= self.left, "{count} of {} items", self.left);
        let first = Owned { first: self.first, left: count, lent: PhantomData };
        // SAFETY: there are at least this many items.
        self.first = unsafe { self.first.add(count) };
        self.left -= count;
        first
    }
}

impl<T> Drop for Owned<'_, T> {
    #[inline]
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

    #[inline]
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
        // SAFETY: this owner owned the item, which is no longer in its range.
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
        // SAFETY: this owner owned the item, which is no longer in its range.
        Some(unsafe { item.read() })
    }
}

impl<T> ExactSizeIterator for Owned<'_, T> {}
