//! Every n-th item: `step_by`.

use crate::iter::{IndexedParallelIterator, ParallelIterator};
use crate::piece::{Exact, Piece};
use crate::plan::{Limits, Turn};
use crate::reducer::{Reducer, Run};
use crate::run::begin;
use std::iter;

adaptor! {
    /// Every n-th item, from the first on: made by [`step_by`](IndexedParallelIterator::step_by).
    StepBy<I> { base } { step: usize }
}

impl<I: IndexedParallelIterator> ParallelIterator for StepBy<I> {
    type Item = I::Item;

    drive_piece!();
}

impl<I: IndexedParallelIterator> IndexedParallelIterator for StepBy<I> {
    type Piece<'p>
        = StepPiece<I::Piece<'p>>
    where
        Self: 'p;

    fn len(&self) -> usize {
        self.base.len().div_ceil(self.step)
    }

    fn piece(&mut self) -> Self::Piece<'_> {
        StepPiece { base: self.base.piece(), step: self.step }
    }

    fn tune(&self, limits: &mut Limits) {
        self.base.tune(limits);
    }
}

/// A piece of [`StepBy`].
#[derive(Debug)]
pub struct StepPiece<P> {
    base: P,
    step: usize,
}

impl<P: Exact> StepPiece<P> {
    /// How many items of the base belong to `steps` steps.
    fn below(&self, steps: usize) -> usize {
        steps.saturating_mul(self.step).min(self.base.steps())
    }
}

impl<P: Exact> Piece for StepPiece<P> {
    type Item = P::Item;
    type Block = iter::StepBy<P::Block>;

    fn steps(&self) -> usize {
        self.base.steps().div_ceil(self.step)
    }

    fn split_off(&mut self, at: usize) -> Option<Self> {
        let base = self.base.cut(self.below(at));
        Some(StepPiece { base, step: self.step })
    }

    #[inline]
    fn block(&mut self, steps: usize) -> Self::Block {
        self.base.block(self.below(steps)).step_by(self.step)
    }

    fn exact_len(&self) -> Option<usize> {
        Some(self.steps())
    }
}

impl<P: Exact> Exact for StepPiece<P> {}
