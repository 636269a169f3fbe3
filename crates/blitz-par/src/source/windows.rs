//! Overlapping slices of the same length: `par_windows`, `par_array_windows`.

#![forbid(unsafe_code)]

use super::piece::Source;
use crate::piece::{Exact, Piece};
use std::slice;

/// Overlapping slices: made by [`par_windows`](crate::slice::ParallelSlice::par_windows).
pub type Windows<'a, T> = Source<WindowsPiece<'a, T>>;

/// Overlapping arrays: made by
/// [`par_array_windows`](crate::slice::ParallelSlice::par_array_windows).
pub type ArrayWindows<'a, T, const N: usize> = Source<ArrayWindowsPiece<'a, T, N>>;

/// A piece of [`Windows`].
#[derive(Debug, Clone)]
pub struct WindowsPiece<'a, T> {
    slice: &'a [T],
    size: usize,
}

impl<'a, T> WindowsPiece<'a, T> {
    pub(crate) fn source(slice: &'a [T], size: usize) -> Source<Self> {
        Source { piece: WindowsPiece { slice, size } }
    }

    fn cut_at(&mut self, at: usize) -> Self {
        let right =
            WindowsPiece { slice: &self.slice[at.min(self.slice.len())..], size: self.size };
        let end = if at == 0 { 0 } else { (at + (self.size - 1)).min(self.slice.len()) };
        self.slice = &self.slice[..end];
        right
    }
}

impl<'a, T: Sync> Piece for WindowsPiece<'a, T> {
    type Item = &'a [T];
    type Block = slice::Windows<'a, T>;

    fn steps(&self) -> usize {
        // Subtract first: adding one to the length of a slice of a zero-sized type may overflow.
        self.slice.len().saturating_sub(self.size - 1)
    }

    fn split_off(&mut self, at: usize) -> Option<Self> {
        Some(self.cut_at(at))
    }

    fn block(&mut self, steps: usize) -> Self::Block {
        let rest = self.cut_at(steps);
        std::mem::replace(self, rest).slice.windows(self.size)
    }

    fn exact_len(&self) -> Option<usize> {
        Some(self.steps())
    }
}

impl<T: Sync> Exact for WindowsPiece<'_, T> {}

/// A piece of [`ArrayWindows`].
#[derive(Debug, Clone)]
pub struct ArrayWindowsPiece<'a, T, const N: usize>(WindowsPiece<'a, T>);

impl<'a, T, const N: usize> ArrayWindowsPiece<'a, T, N> {
    pub(crate) fn source(slice: &'a [T]) -> Source<Self> {
        Source { piece: ArrayWindowsPiece(WindowsPiece { slice, size: N }) }
    }
}

impl<'a, T: Sync, const N: usize> Piece for ArrayWindowsPiece<'a, T, N> {
    type Item = &'a [T; N];
    type Block = Arrays<'a, T, N>;

    fn steps(&self) -> usize {
        self.0.steps()
    }

    fn split_off(&mut self, at: usize) -> Option<Self> {
        Some(ArrayWindowsPiece(self.0.cut_at(at)))
    }

    fn block(&mut self, steps: usize) -> Self::Block {
        Arrays(self.0.block(steps))
    }

    fn exact_len(&self) -> Option<usize> {
        Some(self.steps())
    }
}

impl<T: Sync, const N: usize> Exact for ArrayWindowsPiece<'_, T, N> {}

/// A block of [`ArrayWindows`].
#[derive(Debug)]
pub struct Arrays<'a, T, const N: usize>(slice::Windows<'a, T>);

/// The window as an array of the same length.
fn as_array<T, const N: usize>(window: &[T]) -> &[T; N] {
    match window.first_chunk() {
        Some(array) => array,
        None => unreachable!("windows have the length that was asked for"),
    }
}

impl<'a, T, const N: usize> Iterator for Arrays<'a, T, N> {
    type Item = &'a [T; N];

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(as_array)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T, const N: usize> DoubleEndedIterator for Arrays<'_, T, N> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(as_array)
    }
}

impl<T, const N: usize> ExactSizeIterator for Arrays<'_, T, N> {}
