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

/// Makes a parallel iterator of a piece.
///
/// ```
/// use blitz::par::iter::{Piece, from_piece};
/// use blitz::prelude::*;
///
/// /// Powers of two, with exponents below a limit.
/// struct Powers(std::ops::Range<u32>);
///
/// impl Piece for Powers {
///     type Item = u64;
///     type Block = std::vec::IntoIter<u64>;
///
///     fn steps(&self) -> usize {
///         self.0.len()
///     }
///
///     fn split_off(&mut self, at: usize) -> Option<Powers> {
///         let middle = self.0.start + at as u32;
///         let right = middle..self.0.end;
///         self.0.end = middle;
///         Some(Powers(right))
///     }
///
///     fn block(&mut self, steps: usize) -> Self::Block {
///         self.0.by_ref().take(steps).map(|n| 1 << n).collect::<Vec<_>>().into_iter()
///     }
/// }
///
/// assert_eq!(from_piece(Powers(0..10)).sum::<u64>(), 1023);
/// ```
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
