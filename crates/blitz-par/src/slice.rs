//! Parallel iterators over slices, and sorting.

#![forbid(unsafe_code)]

use crate::sort;
use std::cmp::Ordering;

pub use crate::source::chunks::{Chunks, ChunksMut, RChunks, RChunksMut};
pub use crate::source::exact_chunks::{ChunksExact, ChunksExactMut};
pub use crate::source::exact_chunks::{RChunksExact, RChunksExactMut};
pub use crate::source::slice::{Iter, IterMut};
pub use crate::source::split::{ChunkBy, ChunkByMut, Split, SplitInclusive};
pub use crate::source::split::{SplitInclusiveMut, SplitMut};
pub use crate::source::windows::{ArrayWindows, Windows};

use crate::source::chunks::{ChunksMutPiece, ChunksPiece, RChunksMutPiece, RChunksPiece};
use crate::source::windows::{ArrayWindowsPiece, WindowsPiece};

/// Parallel operations on slices.
pub trait ParallelSlice<T: Sync> {
    /// The slice.
    fn as_parallel_slice(&self) -> &[T];

    /// Makes an iterator over the slices between separators.
    ///
    /// An item is a separator if `f` returns true for it.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let sums = [1, 2, 0, 3].par_split(|&n| n == 0).map(|part| part.iter().sum::<i32>());
    /// assert_eq!(sums.collect::<Vec<_>>(), [3, 3]);
    /// ```
    fn par_split<F>(&self, f: F) -> Split<'_, T, F>
    where
        F: Fn(&T) -> bool + Sync + Send,
    {
        Split { slice: self.as_parallel_slice(), f }
    }

    /// Works like [`par_split`](Self::par_split), with each separator at the end of its slice.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let parts = [1, 2, 0, 3];
    /// let parts: Vec<_> = parts.par_split_inclusive(|&n| n == 0).collect();
    /// assert_eq!(parts, [&[1, 2, 0][..], &[3]]);
    /// ```
    fn par_split_inclusive<F>(&self, f: F) -> SplitInclusive<'_, T, F>
    where
        F: Fn(&T) -> bool + Sync + Send,
    {
        SplitInclusive { slice: self.as_parallel_slice(), f }
    }

    /// Makes an iterator over all slices of `window_size` neighbours.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert!([1, 2, 3].par_windows(2).all(|pair| pair[0] < pair[1]));
    /// ```
    ///
    /// # Panics
    /// If `window_size` is 0.
    #[track_caller]
    fn par_windows(&self, window_size: usize) -> Windows<'_, T> {
        assert!(window_size != 0, "window size must not be zero");
        WindowsPiece::source(self.as_parallel_slice(), window_size)
    }

    /// Works like [`par_windows`](Self::par_windows), with arrays of `N` items.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert!([1, 2, 3].par_array_windows().all(|[a, b]| a < b));
    /// ```
    ///
    /// # Panics
    /// If `N` is 0.
    #[track_caller]
    fn par_array_windows<const N: usize>(&self) -> ArrayWindows<'_, T, N> {
        assert!(N != 0, "window size must not be zero");
        ArrayWindowsPiece::source(self.as_parallel_slice())
    }

    /// Makes an iterator over slices of `chunk_size` items; the last one may be shorter.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let sums = [1, 2, 3].par_chunks(2).map(|chunk| chunk.iter().sum::<i32>());
    /// assert_eq!(sums.collect::<Vec<_>>(), [3, 3]);
    /// ```
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_chunks(&self, chunk_size: usize) -> Chunks<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        ChunksPiece::source(self.as_parallel_slice(), chunk_size)
    }

    /// Works like [`par_chunks`](Self::par_chunks), without the last chunk if it is shorter: see
    /// [`remainder`](ChunksExact::remainder).
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let numbers = [1, 2, 3];
    /// let chunks = numbers.par_chunks_exact(2);
    /// assert_eq!(chunks.remainder(), [3]);
    /// assert_eq!(chunks.count(), 1);
    /// ```
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_chunks_exact(&self, chunk_size: usize) -> ChunksExact<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        ChunksExact::new(self.as_parallel_slice(), chunk_size)
    }

    /// Works like [`par_chunks`](Self::par_chunks), but cuts from the end.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let numbers = [1, 2, 3];
    /// assert_eq!(numbers.par_rchunks(2).collect::<Vec<_>>(), [&[2, 3][..], &[1]]);
    /// ```
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_rchunks(&self, chunk_size: usize) -> RChunks<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        RChunksPiece::source(self.as_parallel_slice(), chunk_size)
    }

    /// Works like [`par_chunks_exact`](Self::par_chunks_exact), but cuts from the end.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let numbers = [1, 2, 3];
    /// assert_eq!(numbers.par_rchunks_exact(2).collect::<Vec<_>>(), [[2, 3]]);
    /// ```
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_rchunks_exact(&self, chunk_size: usize) -> RChunksExact<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        RChunksExact::new(self.as_parallel_slice(), chunk_size)
    }

    /// Makes an iterator over slices, cut where `f` is false for two neighbours.
    ///
    /// `f` gets two neighbours, and returns whether they belong to the same slice.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let parts = [1, 2, 2, 1];
    /// let parts: Vec<_> = parts.par_chunk_by(|a, b| a <= b).collect();
    /// assert_eq!(parts, [&[1, 2, 2][..], &[1]]);
    /// ```
    fn par_chunk_by<F>(&self, f: F) -> ChunkBy<'_, T, F>
    where
        F: Fn(&T, &T) -> bool + Sync + Send,
    {
        ChunkBy { slice: self.as_parallel_slice(), f }
    }
}

impl<T: Sync> ParallelSlice<T> for [T] {
    fn as_parallel_slice(&self) -> &[T] {
        self
    }
}

/// Parallel operations on mutable slices.
pub trait ParallelSliceMut<T: Send> {
    /// The slice.
    fn as_parallel_slice_mut(&mut self) -> &mut [T];

    /// Makes an iterator over the mutable slices between separators.
    ///
    /// An item is a separator if `f` returns true for it.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mut numbers = [1, 2, 0, 3];
    /// numbers.par_split_mut(|&n| n == 0).for_each(|part| part.reverse());
    /// assert_eq!(numbers, [2, 1, 0, 3]);
    /// ```
    fn par_split_mut<F>(&mut self, f: F) -> SplitMut<'_, T, F>
    where
        F: Fn(&T) -> bool + Sync + Send,
    {
        SplitMut { slice: self.as_parallel_slice_mut(), f }
    }

    /// Works like [`par_split_mut`](Self::par_split_mut), with each separator at the end of its
    /// slice.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mut numbers = [1, 2, 0, 3];
    /// numbers.par_split_inclusive_mut(|&n| n == 0).for_each(|part| part.reverse());
    /// assert_eq!(numbers, [0, 2, 1, 3]);
    /// ```
    fn par_split_inclusive_mut<F>(&mut self, f: F) -> SplitInclusiveMut<'_, T, F>
    where
        F: Fn(&T) -> bool + Sync + Send,
    {
        SplitInclusiveMut { slice: self.as_parallel_slice_mut(), f }
    }

    /// Makes an iterator over mutable slices of `chunk_size` items; the last one may be shorter.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mut numbers = [1, 2, 3];
    /// numbers.par_chunks_mut(2).for_each(|chunk| chunk.reverse());
    /// assert_eq!(numbers, [2, 1, 3]);
    /// ```
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_chunks_mut(&mut self, chunk_size: usize) -> ChunksMut<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        ChunksMutPiece::source(self.as_parallel_slice_mut(), chunk_size)
    }

    /// Works like [`par_chunks_mut`](Self::par_chunks_mut), without the last chunk if it is
    /// shorter.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mut numbers = [1, 2, 3];
    /// let mut chunks = numbers.par_chunks_exact_mut(2);
    /// assert_eq!(chunks.take_remainder(), [3]);
    /// chunks.for_each(|chunk| chunk.reverse());
    /// assert_eq!(numbers, [2, 1, 3]);
    /// ```
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_chunks_exact_mut(&mut self, chunk_size: usize) -> ChunksExactMut<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        ChunksExactMut::new(self.as_parallel_slice_mut(), chunk_size)
    }

    /// Works like [`par_chunks_mut`](Self::par_chunks_mut), but cuts from the end.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mut numbers = [1, 2, 3];
    /// numbers.par_rchunks_mut(2).for_each(|chunk| chunk.reverse());
    /// assert_eq!(numbers, [1, 3, 2]);
    /// ```
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_rchunks_mut(&mut self, chunk_size: usize) -> RChunksMut<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        RChunksMutPiece::source(self.as_parallel_slice_mut(), chunk_size)
    }

    /// Works like [`par_chunks_exact_mut`](Self::par_chunks_exact_mut), but cuts from the end.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mut numbers = [1, 2, 3];
    /// numbers.par_rchunks_exact_mut(2).for_each(|chunk| chunk.reverse());
    /// assert_eq!(numbers, [1, 3, 2]);
    /// ```
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_rchunks_exact_mut(&mut self, chunk_size: usize) -> RChunksExactMut<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        RChunksExactMut::new(self.as_parallel_slice_mut(), chunk_size)
    }

    /// Makes an iterator over mutable slices, cut where `f` is false for neighbours.
    ///
    /// `f` gets two neighbours, and returns whether they belong to the same slice.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mut numbers = [1, 2, 2, 1];
    /// numbers.par_chunk_by_mut(|a, b| a <= b).for_each(|part| part.reverse());
    /// assert_eq!(numbers, [2, 2, 1, 1]);
    /// ```
    fn par_chunk_by_mut<F>(&mut self, f: F) -> ChunkByMut<'_, T, F>
    where
        F: Fn(&T, &T) -> bool + Sync + Send,
    {
        ChunkByMut { slice: self.as_parallel_slice_mut(), f }
    }

    /// Sorts the slice; equal items keep their order. May allocate a buffer of the same length.
    ///
    /// If the items have no total order, the sort leaves them in any order, or panics.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mut numbers = [3, 1, 2];
    /// numbers.par_sort();
    /// assert_eq!(numbers, [1, 2, 3]);
    /// ```
    #[track_caller]
    fn par_sort(&mut self)
    where
        T: Ord,
    {
        sort::stable(self.as_parallel_slice_mut(), T::cmp);
    }

    /// Works like [`par_sort`](Self::par_sort), with `f` to compare items.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mut numbers = [3, 1, 2];
    /// numbers.par_sort_by(|a, b| b.cmp(a));
    /// assert_eq!(numbers, [3, 2, 1]);
    /// ```
    #[track_caller]
    fn par_sort_by<F>(&mut self, f: F)
    where
        F: Fn(&T, &T) -> Ordering + Sync,
    {
        sort::stable(self.as_parallel_slice_mut(), f);
    }

    /// Works like [`par_sort`](Self::par_sort), by the keys that `f` returns. `f` is called any
    /// number of times per item.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mut numbers = [3i32, -1, 2];
    /// numbers.par_sort_by_key(|n| n.abs());
    /// assert_eq!(numbers, [-1, 2, 3]);
    /// ```
    #[track_caller]
    fn par_sort_by_key<K: Ord, F>(&mut self, f: F)
    where
        F: Fn(&T) -> K + Sync,
    {
        sort::stable(self.as_parallel_slice_mut(), |a, b| f(a).cmp(&f(b)));
    }

    /// Works like [`par_sort`](Self::par_sort), by the keys that `f` returns. `f` is called at most
    /// once per item.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mut numbers = [10, 9, 100];
    /// numbers.par_sort_by_cached_key(|n| n.to_string());
    /// assert_eq!(numbers, [10, 100, 9]);
    /// ```
    #[track_caller]
    fn par_sort_by_cached_key<K: Ord + Send, F>(&mut self, f: F)
    where
        F: Fn(&T) -> K + Sync,
    {
        sort::by_cached_key(self.as_parallel_slice_mut(), f);
    }

    /// Sorts the slice in place; equal items may change their order.
    ///
    /// If the items have no total order, the sort leaves them in any order, or panics.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mut numbers = [3, 1, 2];
    /// numbers.par_sort_unstable();
    /// assert_eq!(numbers, [1, 2, 3]);
    /// ```
    #[track_caller]
    fn par_sort_unstable(&mut self)
    where
        T: Ord,
    {
        sort::unstable(self.as_parallel_slice_mut(), T::cmp);
    }

    /// Works like [`par_sort_unstable`](Self::par_sort_unstable), with `f` to compare items.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mut numbers = [3, 1, 2];
    /// numbers.par_sort_unstable_by(|a, b| b.cmp(a));
    /// assert_eq!(numbers, [3, 2, 1]);
    /// ```
    #[track_caller]
    fn par_sort_unstable_by<F>(&mut self, f: F)
    where
        F: Fn(&T, &T) -> Ordering + Sync,
    {
        sort::unstable(self.as_parallel_slice_mut(), f);
    }

    /// Works like [`par_sort_unstable`](Self::par_sort_unstable), by the keys that `f` returns. `f`
    /// is called any number of times per item.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mut numbers = [3i32, -1, 2];
    /// numbers.par_sort_unstable_by_key(|n| n.abs());
    /// assert_eq!(numbers, [-1, 2, 3]);
    /// ```
    #[track_caller]
    fn par_sort_unstable_by_key<K: Ord, F>(&mut self, f: F)
    where
        F: Fn(&T) -> K + Sync,
    {
        sort::unstable(self.as_parallel_slice_mut(), |a, b| f(a).cmp(&f(b)));
    }
}

impl<T: Send> ParallelSliceMut<T> for [T] {
    fn as_parallel_slice_mut(&mut self) -> &mut [T] {
        self
    }
}
