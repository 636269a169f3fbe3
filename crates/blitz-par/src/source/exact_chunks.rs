//! Slices of exactly the same length, and the remainder: `par_chunks_exact`, `par_rchunks_exact`,
//! and their versions for mutable slices.

#![forbid(unsafe_code)]

use super::chunks::{Chunks, ChunksMut, ChunksMutPiece, ChunksPiece};
use super::chunks::{RChunks, RChunksMut, RChunksMutPiece, RChunksPiece};
use crate::iter::{IndexedParallelIterator, ParallelIterator};
use crate::plan::Turn;
use crate::reducer::{Reducer, Run};
use std::mem::take;

macro_rules! exact_chunks {
    (
        $(#[$doc:meta])* $name:ident $([$clone:ident])?, $chunks:ident, $piece:ident,
        $slice:ty, T: $bound:ident, |$whole:ident, $rest:ident| $cut:expr
    ) => {
        $(#[$doc])*
        #[must_use = "parallel iterators are lazy and do nothing unless consumed"]
        #[derive(Debug $(, $clone)?)]
        pub struct $name<'a, T> {
            chunks: $chunks<'a, T>,
            remainder: $slice,
        }

        impl<'a, T> $name<'a, T> {
            pub(crate) fn new($whole: $slice, size: usize) -> Self {
                let $rest = $whole.len() % size;
                let (slice, remainder) = $cut;
                $name { chunks: $piece::source(slice, size), remainder }
            }
        }

        impl<'a, T: $bound> ParallelIterator for $name<'a, T> {
            type Item = $slice;

            drive!(|self, turn, next, acc| self.chunks.drive(turn, next, acc));

            fn exact_len(&self) -> Option<usize> {
                Some(self.len())
            }
        }

        impl<'a, T: $bound> IndexedParallelIterator for $name<'a, T> {
            type Piece<'p>
                = $piece<'a, T>
            where
                Self: 'p;

            fn len(&self) -> usize {
                self.chunks.len()
            }

            fn piece(&mut self) -> $piece<'a, T> {
                self.chunks.piece()
            }
        }
    };
}

/// The remainder of a shared slice.
macro_rules! remainder {
    ($name:ident) => {
        impl<'a, T> $name<'a, T> {
            /// Returns the remainder, which is too short for a chunk.
            ///
            /// ```
            /// # use blitz::prelude::*;
            /// assert_eq!([1, 2, 3].par_chunks_exact(2).remainder(), [3]);
            /// assert_eq!([1, 2, 3].par_rchunks_exact(2).remainder(), [1]);
            /// ```
            #[must_use]
            pub fn remainder(&self) -> &'a [T] {
                self.remainder
            }
        }
    };
}

/// The remainder of a mutable slice.
macro_rules! remainder_mut {
    ($name:ident) => {
        impl<'a, T> $name<'a, T> {
            /// Returns the remainder, which is too short for a chunk.
            ///
            /// ```
            /// # use blitz::prelude::*;
            /// let mut numbers = [1, 2, 3];
            /// numbers.par_chunks_exact_mut(2).remainder()[0] = 9;
            /// assert_eq!(numbers, [1, 2, 9]);
            /// numbers.par_rchunks_exact_mut(2).remainder()[0] = 8;
            /// assert_eq!(numbers, [8, 2, 9]);
            /// ```
            pub fn remainder(&mut self) -> &mut [T] {
                self.remainder
            }

            /// Returns the remainder, with the lifetime of the slice.
            ///
            /// ```
            /// # use blitz::prelude::*;
            /// let mut numbers = [1, 2, 3];
            /// let rest = numbers.par_chunks_exact_mut(2).into_remainder();
            /// rest[0] = 9;
            /// assert_eq!(numbers.par_rchunks_exact_mut(2).into_remainder(), [1]);
            /// assert_eq!(numbers, [1, 2, 9]);
            /// ```
            #[must_use]
            pub fn into_remainder(self) -> &'a mut [T] {
                self.remainder
            }

            /// Returns the remainder once, and then an empty slice.
            ///
            /// ```
            /// # use blitz::prelude::*;
            /// let mut numbers = [1, 2, 3];
            /// let mut chunks = numbers.par_rchunks_exact_mut(2);
            /// let rest = chunks.take_remainder();
            /// assert!(chunks.take_remainder().is_empty());
            /// chunks.for_each(|chunk| chunk.reverse());
            /// rest[0] = 9;
            /// assert_eq!(numbers, [9, 3, 2]);
            /// ```
            #[must_use]
            pub fn take_remainder(&mut self) -> &'a mut [T] {
                take(&mut self.remainder)
            }
        }
    };
}

exact_chunks! {
    /// Chunks of a slice: made by
    /// [`par_chunks_exact`](crate::slice::ParallelSlice::par_chunks_exact).
    ChunksExact [Clone], Chunks, ChunksPiece, &'a [T], T: Sync,
    |slice, rest| slice.split_at(slice.len() - rest)
}
remainder!(ChunksExact);

exact_chunks! {
    /// Mutable chunks of a slice: made by
    /// [`par_chunks_exact_mut`](crate::slice::ParallelSliceMut::par_chunks_exact_mut).
    ChunksExactMut, ChunksMut, ChunksMutPiece, &'a mut [T], T: Send,
    |slice, rest| slice.split_at_mut(slice.len() - rest)
}
remainder_mut!(ChunksExactMut);

exact_chunks! {
    /// Chunks of a slice from its end: made by
    /// [`par_rchunks_exact`](crate::slice::ParallelSlice::par_rchunks_exact).
    RChunksExact [Clone], RChunks, RChunksPiece, &'a [T], T: Sync,
    |slice, rest| { let (remainder, chunks) = slice.split_at(rest); (chunks, remainder) }
}
remainder!(RChunksExact);

exact_chunks! {
    /// Mutable chunks of a slice from its end: made by
    /// [`par_rchunks_exact_mut`](crate::slice::ParallelSliceMut::par_rchunks_exact_mut).
    RChunksExactMut, RChunksMut, RChunksMutPiece, &'a mut [T], T: Send,
    |slice, rest| { let (remainder, chunks) = slice.split_at_mut(rest); (chunks, remainder) }
}
remainder_mut!(RChunksExactMut);
