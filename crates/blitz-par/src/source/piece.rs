//! A piece as a parallel iterator.

#![forbid(unsafe_code)]

use crate::iter::{IndexedParallelIterator, ParallelIterator};
use crate::piece::{Exact, Piece};
use crate::plan::Turn;
use crate::reducer::{Reducer, Run};
use crate::run::begin;

/// A parallel iterator over a [`Piece`]: most sources, and the result of [`from_piece`].
#[must_use = "parallel iterators are lazy and do nothing unless consumed"]
#[derive(Debug, Clone)]
pub struct Source<P> {
    pub(crate) piece: P,
}

/// Makes a parallel iterator of a piece: see [`Piece`] for an example.
pub fn from_piece<P: Piece<Item: Send>>(piece: P) -> Source<P> {
    Source { piece }
}

impl<P: Piece<Item: Send>> ParallelIterator for Source<P> {
    type Item = P::Item;

    drive!(|self, turn, next, acc| begin(turn, next, self.piece, acc));

    fn exact_len(&self) -> Option<usize> {
        self.piece.exact_len()
    }
}

impl<P: Exact<Item: Send>> IndexedParallelIterator for Source<P> {
    type Piece<'p>
        = P
    where
        Self: 'p;

    fn len(&self) -> usize {
        self.piece.steps()
    }

    fn piece(&mut self) -> P {
        self.piece.cut(0)
    }
}
