//! The items of arrays.

#![forbid(unsafe_code)]

use super::vec;
use crate::iter::{IntoParallelIterator, into_par_iter_of_refs};

/// The items of an array, by value.
pub type IntoIter<T> = vec::IntoIter<T>;

impl<T: Send, const N: usize> IntoParallelIterator for [T; N] {
    type Item = T;
    type Iter = IntoIter<T>;

    fn into_par_iter(self) -> IntoIter<T> {
        IntoIter { vec: Vec::from(self) }
    }
}

into_par_iter_of_refs!([T, const N: usize] [T; N] as [T]);
