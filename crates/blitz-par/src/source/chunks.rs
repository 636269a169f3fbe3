//! Slices of the same length, except perhaps the last one: `par_chunks`, `par_rchunks`, and their
//! versions for mutable slices.

#![forbid(unsafe_code)]

use super::piece::Source;
use crate::piece::{Exact, Piece};
use std::mem::take;
use std::slice;

/// Where the first `steps` chunks end, counted from the front.
pub(crate) fn from_front(len: usize, steps: usize, size: usize) -> usize {
    steps.saturating_mul(size).min(len)
}

/// Where the first `steps` chunks begin, if they are counted from the back.
pub(crate) fn from_back(len: usize, steps: usize, size: usize) -> usize {
    len.saturating_sub(steps.saturating_mul(size))
}

/// Chunks of a slice, counted from its front or from its end.
macro_rules! chunks {
    (
        $(#[$doc:meta])* $name:ident, $(#[$piece_doc:meta])* $piece:ident $([$clone:ident])?,
        $slice:ty, T: $bound:ident, $block:ident, $make:ident,
        $split:ident at $at:ident, |$left:ident, $right:ident| $order:expr
    ) => {
        $(#[$doc])*
        pub type $name<'a, T> = Source<$piece<'a, T>>;

        $(#[$piece_doc])*
        #[derive(Debug $(, $clone)?)]
        pub struct $piece<'a, T> {
            slice: $slice,
            size: usize,
        }

        impl<'a, T> $piece<'a, T> {
            pub(crate) fn source(slice: $slice, size: usize) -> Source<Self> {
                Source { piece: $piece { slice, size } }
            }

            /// Takes out the slice of the first `steps` chunks.
            fn take_first(&mut self, steps: usize) -> $slice {
                let middle = $at(self.slice.len(), steps, self.size);
                let ($left, $right) = take(&mut self.slice).$split(middle);
                let (first, rest) = $order;
                self.slice = rest;
                first
            }
        }

        impl<'a, T: $bound> Piece for $piece<'a, T> {
            type Item = $slice;
            type Block = slice::$block<'a, T>;

            fn steps(&self) -> usize {
                self.slice.len().div_ceil(self.size)
            }

            fn split_off(&mut self, at: usize) -> Option<Self> {
                let first = self.take_first(at);
                let slice = std::mem::replace(&mut self.slice, first);
                Some($piece { slice, size: self.size })
            }

            fn block(&mut self, steps: usize) -> Self::Block {
                self.take_first(steps).$make(self.size)
            }

            fn exact_len(&self) -> Option<usize> {
                Some(self.steps())
            }
        }

        impl<T: $bound> Exact for $piece<'_, T> {}
    };
}

chunks! {
    /// Chunks of a slice; the last one may be shorter: made by
    /// [`par_chunks`](crate::slice::ParallelSlice::par_chunks).
    Chunks,
    /// A piece of [`Chunks`].
    ChunksPiece [Clone], &'a [T], T: Sync, Chunks, chunks,
    split_at at from_front, |left, right| (left, right)
}

chunks! {
    /// Mutable chunks of a slice; the last one may be shorter: made by
    /// [`par_chunks_mut`](crate::slice::ParallelSliceMut::par_chunks_mut).
    ChunksMut,
    /// A piece of [`ChunksMut`].
    ChunksMutPiece, &'a mut [T], T: Send, ChunksMut, chunks_mut,
    split_at_mut at from_front, |left, right| (left, right)
}

chunks! {
    /// Chunks of a slice from its end; the last one may be shorter: made by
    /// [`par_rchunks`](crate::slice::ParallelSlice::par_rchunks).
    RChunks,
    /// A piece of [`RChunks`].
    RChunksPiece [Clone], &'a [T], T: Sync, RChunks, rchunks,
    split_at at from_back, |left, right| (right, left)
}

chunks! {
    /// Mutable chunks of a slice from its end; the last one may be shorter: made by
    /// [`par_rchunks_mut`](crate::slice::ParallelSliceMut::par_rchunks_mut).
    RChunksMut,
    /// A piece of [`RChunksMut`].
    RChunksMutPiece, &'a mut [T], T: Send, RChunksMut, rchunks_mut,
    split_at_mut at from_back, |left, right| (right, left)
}
