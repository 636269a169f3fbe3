//! Parallel iterators that know the index of each item.

use super::{IntoParallelIterator, ParallelIterator};
use crate::collect::unzip::{Pairs, extend_both};
use crate::end::{compare, scan};
use crate::indexed::blocks::{ExponentialBlocks, UniformBlocks};
use crate::indexed::chunks::{Chunks, FoldChunks, FoldChunksWith};
use crate::indexed::interleave::{Interleave, InterleaveShortest};
use crate::indexed::order::Rev;
use crate::indexed::part::{Skip, Take};
use crate::indexed::positions::Positions;
use crate::indexed::step::StepBy;
use crate::indexed::zip::{Enumerate, Zip, ZipEq};
use crate::piece::Exact;
use crate::plan::Limits;
use crate::source::{slice, vec};
use std::cmp::Ordering;

/// The other iterator of methods that take two.
type Other<T> = <T as IntoParallelIterator>::Iter;

/// A parallel iterator that knows the index of each item.
#[allow(clippy::len_without_is_empty, reason = "`ExactSizeIterator` has no stable `is_empty`")]
pub trait IndexedParallelIterator: ParallelIterator {
    /// The whole work as a piece. It may borrow from the iterator.
    #[doc(hidden)]
    type Piece<'p>: Exact<Item = Self::Item>
    where
        Self: 'p;

    /// Returns how many items there are.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((0..10).into_par_iter().step_by(3).len(), 4);
    /// ```
    fn len(&self) -> usize;

    /// Makes the piece. Called at most once.
    #[doc(hidden)]
    fn piece(&mut self) -> Self::Piece<'_>;

    /// Changes the plan of a loop over the piece.
    #[doc(hidden)]
    fn tune(&self, _limits: &mut Limits) {}

    /// Goes through the items in blocks, one after the other. Each block is twice as long as the
    /// one before. Use this for searches that are likely to end soon.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let found = (0..10_000).into_par_iter().by_exponential_blocks().find_first(|n| n % 10 == 9);
    /// assert_eq!(found, Some(9));
    /// ```
    fn by_exponential_blocks(self) -> ExponentialBlocks<Self> {
        ExponentialBlocks { base: self }
    }

    /// Goes through the items in blocks of `block_size`, one after the other.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((0..100).into_par_iter().by_uniform_blocks(10).sum::<i32>(), 4950);
    /// ```
    ///
    /// # Panics
    /// If `block_size` is 0.
    #[track_caller]
    fn by_uniform_blocks(self, block_size: usize) -> UniformBlocks<Self> {
        assert!(block_size != 0, "block_size must not be zero");
        UniformBlocks { base: self, size: block_size }
    }

    /// Replaces the contents of `target` by the items.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mut target = vec![7];
    /// (0..3).into_par_iter().collect_into_vec(&mut target);
    /// assert_eq!(target, [0, 1, 2]);
    /// ```
    #[track_caller]
    fn collect_into_vec(self, target: &mut Vec<Self::Item>) {
        target.clear();
        super::ParallelExtend::par_extend(target, self);
    }

    /// Replaces the items of the slice `target`.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mut target = [0; 3];
    /// (1..=3u8).into_par_iter().collect_into_slice(&mut target);
    /// assert_eq!(target, [1, 2, 3]);
    /// ```
    ///
    /// # Panics
    /// If `target` has a different length.
    #[track_caller]
    fn collect_into_slice(self, target: &mut [Self::Item]) {
        let (len, room) = (self.len(), target.len());
        assert!(len == room, "there are {len} items and a slice of {room}");
        let target: slice::IterMut<'_, Self::Item> = target.into_par_iter();
        target.zip(self).for_each(|(place, item)| *place = item);
    }

    /// Replaces the contents of two vectors by the halves of pairs.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let (mut left, mut right) = (vec![], vec![]);
    /// vec![(1, 'a'), (2, 'b')].into_par_iter().unzip_into_vecs(&mut left, &mut right);
    /// assert_eq!((left, right), (vec![1, 2], vec!['a', 'b']));
    /// ```
    #[track_caller]
    fn unzip_into_vecs<A: Send, B: Send>(self, left: &mut Vec<A>, right: &mut Vec<B>)
    where
        Self: IndexedParallelIterator<Item = (A, B)>,
    {
        left.clear();
        right.clear();
        extend_both(self, Pairs, left, right);
    }

    /// Pairs the items with those of another iterator, until the shorter one ends.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let pairs: Vec<_> = (1..4).into_par_iter().zip(vec!['a', 'b']).collect();
    /// assert_eq!(pairs, [(1, 'a'), (2, 'b')]);
    /// ```
    fn zip<Z>(self, other: Z) -> Zip<Self, Other<Z>>
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
    {
        Zip { a: self, b: other.into_par_iter() }
    }

    /// Pairs the items with those of another iterator of the same length.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((1..3).into_par_iter().zip_eq(vec!['a', 'b']).count(), 2);
    /// ```
    ///
    /// # Panics
    /// If the iterators have different lengths.
    #[track_caller]
    fn zip_eq<Z>(self, other: Z) -> ZipEq<Self, Other<Z>>
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
    {
        let b = other.into_par_iter();
        assert_eq!(self.len(), b.len(), "iterators must have the same length");
        ZipEq { a: self, b }
    }

    /// Takes items from this iterator and another one by turns, then the rest of the longer one.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mixed: Vec<_> = (1..3).into_par_iter().interleave(vec![7, 8, 9]).collect();
    /// assert_eq!(mixed, [1, 7, 2, 8, 9]);
    /// ```
    fn interleave<I>(self, other: I) -> Interleave<Self, Other<I>>
    where
        I: IntoParallelIterator<Item = Self::Item, Iter: IndexedParallelIterator>,
    {
        Interleave { a: self, b: other.into_par_iter() }
    }

    /// Takes items from this iterator and another one by turns until one has no more.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mixed: Vec<_> = (1..3).into_par_iter().interleave_shortest(vec![7, 8, 9]).collect();
    /// assert_eq!(mixed, [1, 7, 2, 8]);
    /// ```
    fn interleave_shortest<I>(self, other: I) -> InterleaveShortest<Self, Other<I>>
    where
        I: IntoParallelIterator<Item = Self::Item, Iter: IndexedParallelIterator>,
    {
        InterleaveShortest { a: self, b: other.into_par_iter() }
    }

    /// Makes vectors of `chunk_size` items; the last one may be shorter.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let chunks: Vec<_> = (1..6).into_par_iter().chunks(2).collect();
    /// assert_eq!(chunks, [vec![1, 2], vec![3, 4], vec![5]]);
    /// ```
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn chunks(self, chunk_size: usize) -> Chunks<Self> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        Chunks { base: self, size: chunk_size }
    }

    /// Folds each chunk of `chunk_size` items, beginning with a value of `identity`.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let sums: Vec<_> = (1..6).into_par_iter().fold_chunks(2, || 0, |a, b| a + b).collect();
    /// assert_eq!(sums, [3, 7, 5]);
    /// ```
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn fold_chunks<T, ID, F>(self, chunk_size: usize, identity: ID, f: F) -> FoldChunks<Self, ID, F>
    where
        ID: Fn() -> T + Sync + Send,
        F: Fn(T, Self::Item) -> T + Sync + Send,
        T: Send,
    {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        FoldChunks { base: self, size: chunk_size, identity, f }
    }

    /// Folds each chunk of `chunk_size` items, beginning with a clone of `init`.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let sums: Vec<_> = (1..6).into_par_iter().fold_chunks_with(2, 10, |a, b| a + b).collect();
    /// assert_eq!(sums, [13, 17, 15]);
    /// ```
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn fold_chunks_with<T, F>(self, chunk_size: usize, init: T, f: F) -> FoldChunksWith<Self, T, F>
    where
        T: Clone + Send,
        F: Fn(T, Self::Item) -> T + Sync + Send,
    {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        FoldChunksWith { base: self, size: chunk_size, seed: init, f }
    }

    /// Compares with another iterator: the first items that differ decide, else the lengths.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert!(vec![1, 2].par_iter().cmp(&vec![1, 3]).is_lt());
    /// ```
    #[track_caller]
    fn cmp<I>(self, other: I) -> Ordering
    where
        I: IntoParallelIterator<Item = Self::Item, Iter: IndexedParallelIterator>,
        Self::Item: Ord,
    {
        compare::cmp(self, other)
    }

    /// Compares like [`cmp`](Self::cmp), with items that may not be comparable.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!(vec![1.0, f64::NAN].par_iter().partial_cmp(&vec![1.0, 2.0]), None);
    /// ```
    #[track_caller]
    fn partial_cmp<I>(self, other: I) -> Option<Ordering>
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        compare::partial_cmp(self, other)
    }

    /// Whether the items equal those of another iterator.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert!((1..3).into_par_iter().eq(vec![1, 2]));
    /// ```
    #[track_caller]
    fn eq<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialEq<I::Item>,
    {
        compare::eq(self, other)
    }

    /// Whether the items differ from those of another iterator.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert!((1..3).into_par_iter().ne(vec![1]));
    /// ```
    #[track_caller]
    fn ne<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialEq<I::Item>,
    {
        !compare::eq(self, other)
    }

    /// Whether the items are less than those of another iterator.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert!((1..3).into_par_iter().lt(vec![1, 3]));
    /// ```
    #[track_caller]
    fn lt<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        compare::partial_cmp(self, other).is_some_and(Ordering::is_lt)
    }

    /// Whether the items are less than those of another iterator or equal them.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert!((1..3).into_par_iter().le(vec![1, 2]));
    /// ```
    #[track_caller]
    fn le<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        compare::partial_cmp(self, other).is_some_and(Ordering::is_le)
    }

    /// Whether the items are greater than those of another iterator.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert!((1..3).into_par_iter().gt(vec![1]));
    /// ```
    #[track_caller]
    fn gt<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        compare::partial_cmp(self, other).is_some_and(Ordering::is_gt)
    }

    /// Whether the items are greater than those of another iterator or equal them.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert!((1..3).into_par_iter().ge(vec![1, 2]));
    /// ```
    #[track_caller]
    fn ge<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        compare::partial_cmp(self, other).is_some_and(Ordering::is_ge)
    }

    /// Pairs each item with its index.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let pairs: Vec<_> = vec!['a', 'b'].into_par_iter().enumerate().collect();
    /// assert_eq!(pairs, [(0, 'a'), (1, 'b')]);
    /// ```
    fn enumerate(self) -> Enumerate<Self> {
        Enumerate { base: self }
    }

    /// Takes the first item and then each `step`-th.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((3..10).into_par_iter().step_by(3).collect::<Vec<i32>>(), [3, 6, 9]);
    /// ```
    ///
    /// # Panics
    /// If `step` is 0.
    #[track_caller]
    fn step_by(self, step: usize) -> StepBy<Self> {
        assert!(step != 0, "step must not be zero");
        StepBy { base: self, step }
    }

    /// Leaves out the first `n` items. They are still computed, and then dropped, by a loop of
    /// their own. Limits and tokens do not hold for that loop.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((0..5).into_par_iter().skip(3).collect::<Vec<i32>>(), [3, 4]);
    /// ```
    fn skip(self, n: usize) -> Skip<Self> {
        Skip { base: self, count: n }
    }

    /// Takes the first `n` items.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((0..5).into_par_iter().take(2).collect::<Vec<i32>>(), [0, 1]);
    /// ```
    fn take(self, n: usize) -> Take<Self> {
        Take { base: self, count: n }
    }

    /// Returns the index of any item for which `f` returns true.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!([1, 2, 3].par_iter().position_any(|&n| n == 2), Some(1));
    /// ```
    #[track_caller]
    fn position_any(self, f: impl Fn(Self::Item) -> bool + Sync + Send) -> Option<usize> {
        self.enumerate().find_map_any(|(index, item)| f(item).then_some(index))
    }

    /// Returns the index of the first item for which `f` returns true.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!([1, 2, 2].par_iter().position_first(|&n| n == 2), Some(1));
    /// ```
    #[track_caller]
    fn position_first(self, f: impl Fn(Self::Item) -> bool + Sync + Send) -> Option<usize> {
        self.enumerate().find_map_first(|(index, item)| f(item).then_some(index))
    }

    /// Returns the index of the last item for which `f` returns true.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!([1, 2, 2].par_iter().position_last(|&n| n == 2), Some(2));
    /// ```
    #[track_caller]
    fn position_last(self, f: impl Fn(Self::Item) -> bool + Sync + Send) -> Option<usize> {
        self.enumerate().find_map_last(|(index, item)| f(item).then_some(index))
    }

    /// Does the same as [`position_any`](Self::position_any).
    #[deprecated(note = "use `position_any`, `position_first` or `position_last`")]
    #[track_caller]
    fn position(self, f: impl Fn(Self::Item) -> bool + Sync + Send) -> Option<usize> {
        self.position_any(f)
    }

    /// Makes an iterator over the indexes of the items for which `f` returns true.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!([1, 2, 2].par_iter().positions(|&n| n == 2).collect::<Vec<_>>(), [1, 2]);
    /// ```
    fn positions<F>(self, f: F) -> Positions<Self, F>
    where
        F: Fn(Self::Item) -> bool + Sync + Send,
    {
        Positions { base: self, f }
    }

    /// Goes from the last item to the first.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((0..3).into_par_iter().rev().collect::<Vec<i32>>(), [2, 1, 0]);
    /// ```
    fn rev(self) -> Rev<Self> {
        Rev { base: self }
    }

    /// Replaces each item by the result of `f` over all items up to it. `f` has to be associative.
    /// The items are computed before this returns.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let sums: Vec<i32> = (1..6).into_par_iter().scan_inclusive(|a, b| a + b).collect();
    /// assert_eq!(sums, [1, 3, 6, 10, 15]);
    /// ```
    #[track_caller]
    fn scan_inclusive<F>(self, f: F) -> vec::IntoIter<Self::Item>
    where
        F: Fn(&Self::Item, &Self::Item) -> Self::Item + Sync + Send,
    {
        scan::inclusive(self, f)
    }
}
