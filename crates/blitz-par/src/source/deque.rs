//! The items of `VecDeque`.

#![forbid(unsafe_code)]

use super::{slice, vec};
use crate::adapt::chain::Chain;
use crate::iter::{IndexedParallelIterator, IntoParallelIterator};
use crate::iter::{ParallelDrainRange, ParallelIterator};
use crate::plan::Turn;
use crate::range_of::simplify;
use crate::reducer::{Reducer, Run};
use std::collections::VecDeque;
use std::ops::{Range, RangeBounds};

/// References to the items of a `VecDeque`.
pub type Iter<'a, T> = Chain<slice::Iter<'a, T>, slice::Iter<'a, T>>;
/// Mutable references to the items of a `VecDeque`.
pub type IterMut<'a, T> = Chain<slice::IterMut<'a, T>, slice::IterMut<'a, T>>;
/// The items of a `VecDeque`, by value.
pub type IntoIter<T> = vec::IntoIter<T>;

impl<T: Send> IntoParallelIterator for VecDeque<T> {
    type Item = T;
    type Iter = IntoIter<T>;

    fn into_par_iter(self) -> IntoIter<T> {
        IntoIter { vec: Vec::from(self) }
    }
}

impl<'a, T: Sync> IntoParallelIterator for &'a VecDeque<T> {
    type Item = &'a T;
    type Iter = Iter<'a, T>;

    fn into_par_iter(self) -> Self::Iter {
        let (a, b) = self.as_slices();
        Chain { a: a.into_par_iter(), b: b.into_par_iter() }
    }
}

impl<'a, T: Send> IntoParallelIterator for &'a mut VecDeque<T> {
    type Item = &'a mut T;
    type Iter = IterMut<'a, T>;

    fn into_par_iter(self) -> Self::Iter {
        let (a, b) = self.as_mut_slices();
        Chain { a: a.into_par_iter(), b: b.into_par_iter() }
    }
}

/// The items of a range of a `VecDeque`, by value: made by
/// [`VecDeque::par_drain`](ParallelDrainRange). Dropping the iterator removes the items.
#[must_use = "parallel iterators are lazy and do nothing unless consumed"]
#[derive(Debug)]
pub struct Drain<'a, T: Send> {
    deque: &'a mut VecDeque<T>,
    range: Range<usize>,
    /// The items, once they are asked for.
    items: IntoIter<T>,
}

impl<T: Send> Drain<'_, T> {
    fn take_items(&mut self) {
        self.items.vec.extend(self.deque.drain(self.range.clone()));
        self.range.end = self.range.start;
    }
}

impl<'a, T: Send> ParallelDrainRange<usize> for &'a mut VecDeque<T> {
    type Iter = Drain<'a, T>;
    type Item = T;

    fn par_drain<R: RangeBounds<usize>>(self, range: R) -> Self::Iter {
        Drain {
            range: simplify(range, self.len()),
            deque: self,
            items: IntoIter { vec: Vec::new() },
        }
    }
}

impl<T: Send> ParallelIterator for Drain<'_, T> {
    type Item = T;

    drive!(|mut self, turn, next, acc| {
        self.take_items();
        let items = std::mem::take(&mut self.items.vec);
        IntoIter { vec: items }.drive(turn, next, acc)
    });

    fn exact_len(&self) -> Option<usize> {
        Some(self.len())
    }
}

impl<T: Send> IndexedParallelIterator for Drain<'_, T> {
    type Piece<'p>
        = vec::Owned<'p, T>
    where
        Self: 'p;

    fn len(&self) -> usize {
        self.range.len() + self.items.len()
    }

    fn piece(&mut self) -> Self::Piece<'_> {
        self.take_items();
        self.items.piece()
    }
}

impl<T: Send> Drop for Drain<'_, T> {
    fn drop(&mut self) {
        drop(self.deque.drain(self.range.clone()));
    }
}
