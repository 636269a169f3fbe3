//! `chain`: the items of one parallel iterator, then those of another.

use crate::iter::{IndexedParallelIterator, ParallelIterator};
use crate::piece::{Counted, Exact, Piece};
use crate::plan::{Limits, Turn};
use crate::reducer::{Reducer, Run};
use crate::run::both;
use std::iter;

adaptor! {
    /// The items of one iterator, then those of another: made by
    /// [`chain`](ParallelIterator::chain).
    Chain<A, B> { a, b } {}
}

fn sum(a: Option<usize>, b: Option<usize>) -> Option<usize> {
    a?.checked_add(b?)
}

impl<A, B> ParallelIterator for Chain<A, B>
where
    A: ParallelIterator,
    B: ParallelIterator<Item = A::Item>,
{
    type Item = A::Item;

    drive!(|self, turn, next, acc| {
        let Chain { a, b } = self;
        let (steps, rest) = a.exact_len().zip(b.exact_len()).unwrap_or((1, 1));
        let beyond = turn.place.split_off(steps, rest);
        both(
            turn,
            next,
            beyond,
            acc,
            |turn, acc| a.drive(turn, next, acc),
            |turn, acc| b.drive(turn, next, acc),
        )
    });

    fn exact_len(&self) -> Option<usize> {
        sum(self.a.exact_len(), self.b.exact_len())
    }

    fn opt_len(&self) -> Option<usize> {
        sum(self.a.opt_len(), self.b.opt_len())
    }
}

impl<A, B> IndexedParallelIterator for Chain<A, B>
where
    A: IndexedParallelIterator,
    B: IndexedParallelIterator<Item = A::Item>,
{
    type Piece<'p>
        = ChainPiece<A::Piece<'p>, B::Piece<'p>>
    where
        Self: 'p;

    fn len(&self) -> usize {
        match self.a.len().checked_add(self.b.len()) {
            Some(len) => len,
            None => panic!("a chain of more than usize::MAX items has no length"),
        }
    }

    fn piece(&mut self) -> Self::Piece<'_> {
        ChainPiece { a: self.a.piece(), b: self.b.piece() }
    }

    fn tune(&self, limits: &mut Limits) {
        self.a.tune(limits);
        self.b.tune(limits);
    }
}

/// A piece of [`Chain`].
#[derive(Debug)]
pub struct ChainPiece<A, B> {
    a: A,
    b: B,
}

impl<A: Exact, B: Exact<Item = A::Item>> Piece for ChainPiece<A, B> {
    type Item = A::Item;
    type Block = Counted<iter::Chain<A::Block, B::Block>>;

    fn steps(&self) -> usize {
        self.a.steps() + self.b.steps()
    }

    fn split_off(&mut self, at: usize) -> Option<Self> {
        let first = self.a.steps().min(at);
        Some(ChainPiece { a: self.a.cut(first), b: self.b.cut(at - first) })
    }

    fn block(&mut self, steps: usize) -> Self::Block {
        let first = self.a.steps().min(steps);
        let (a, b) = (self.a.block(first), self.b.block(steps - first));
        Counted::new(a.chain(b), steps)
    }

    fn exact_len(&self) -> Option<usize> {
        Some(self.steps())
    }
}

impl<A: Exact, B: Exact<Item = A::Item>> Exact for ChainPiece<A, B> {}
