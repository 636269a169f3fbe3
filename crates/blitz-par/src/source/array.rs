//! The items of arrays.

#![forbid(unsafe_code)]

use super::vec::{Full, Owned};
use crate::iter::{IndexedParallelIterator, ParallelIterator};
use crate::iter::{IntoParallelIterator, into_par_iter_of_refs};
use crate::plan::Turn;
use crate::reducer::{Reducer, Run};
use crate::run::begin;
use std::fmt;

/// The items of an array, by value. They stay where the iterator is: no memory is allocated.
#[must_use = "parallel iterators are lazy and do nothing unless consumed"]
#[derive(Clone)]
pub struct IntoIter<T, const N: usize> {
    array: Full<T, N>,
}

impl<T: fmt::Debug, const N: usize> fmt::Debug for IntoIter<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntoIter").field("array", &self.array.items()).finish()
    }
}

impl<T: Send, const N: usize> IntoParallelIterator for [T; N] {
    type Item = T;
    type Iter = IntoIter<T, N>;

    #[inline]
    fn into_par_iter(self) -> IntoIter<T, N> {
        IntoIter { array: Full::new(self) }
    }
}

into_par_iter_of_refs!([T, const N: usize] [T; N] as [T]);

impl<T: Send, const LEN: usize> ParallelIterator for IntoIter<T, LEN> {
    type Item = T;

    drive_piece!();
}

impl<T: Send, const N: usize> IndexedParallelIterator for IntoIter<T, N> {
    type Piece<'p>
        = Owned<'p, T>
    where
        Self: 'p;

    fn len(&self) -> usize {
        N
    }

    #[inline]
    fn piece(&mut self) -> Owned<'_, T> {
        self.array.take()
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use std::sync::Arc;

    #[test]
    fn an_array_drops_each_item_once() {
        let item = Arc::new(());
        let items = [item.clone(), item.clone()].into_par_iter();
        let twin = items.clone();
        assert_eq!(Arc::strong_count(&item), 5);
        drop(items);
        assert_eq!(Arc::strong_count(&item), 3);
        assert_eq!(twin.count(), 2);
        assert_eq!(Arc::strong_count(&item), 1);
    }

    #[test]
    fn an_array_shows_its_items() {
        let items = [1, 2].into_par_iter();
        assert_eq!(format!("{items:?}"), "IntoIter { array: Some([1, 2]) }");
    }
}
