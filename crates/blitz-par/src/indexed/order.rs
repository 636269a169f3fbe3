//! Reverse order: `rev`.

use crate::iter::{IndexedParallelIterator, ParallelIterator};
use crate::piece::{Exact, Piece};
use crate::plan::{Limits, Turn};
use crate::reducer::{Reducer, Run};
use crate::run::begin;
use std::iter;

adaptor! {
    /// The items from the last to the first: made by [`rev`](IndexedParallelIterator::rev).
    Rev<I> { base } {}
}

impl<I: IndexedParallelIterator> ParallelIterator for Rev<I> {
    type Item = I::Item;

    drive_piece!();
}

impl<I: IndexedParallelIterator> IndexedParallelIterator for Rev<I> {
    as_indexed!(RevPiece<I::Piece<'p>>, |self| RevPiece { base: self.base.piece() });
}

/// A piece of [`Rev`].
#[derive(Debug)]
pub struct RevPiece<P> {
    base: P,
}

impl<P: Exact> Piece for RevPiece<P> {
    type Item = P::Item;
    type Block = iter::Rev<P::Block>;

    fn steps(&self) -> usize {
        self.base.steps()
    }

    fn split_off(&mut self, at: usize) -> Option<Self> {
        let last = self.base.cut(self.steps() - at);
        Some(RevPiece { base: std::mem::replace(&mut self.base, last) })
    }

    #[inline]
    fn block(&mut self, steps: usize) -> Self::Block {
        self.base.block_back(steps).rev()
    }

    fn exact_len(&self) -> Option<usize> {
        Some(self.steps())
    }
}

impl<P: Exact> Exact for RevPiece<P> {}
