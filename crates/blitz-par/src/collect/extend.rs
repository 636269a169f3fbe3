//! Appending to collections that are sequences: [`ParallelExtend`].

#![forbid(unsafe_code)]

use super::rope::{Part, Rope, parts};
use super::{in_place, rope};
use crate::iter::{IntoParallelIterator, ParallelExtend, ParallelIterator};
use std::collections::{BinaryHeap, LinkedList, VecDeque};

impl<T: Send> ParallelExtend<T> for Vec<T> {
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, iter: I) {
        let iter = iter.into_par_iter();
        match iter.exact_len() {
            Some(len) => in_place::extend(self, iter, len),
            None => rope::extend(self, iter),
        }
    }
}

/// The items of a loop in one vector.
#[track_caller]
pub(crate) fn vec_of<T: Send>(iter: impl IntoParallelIterator<Item = T>) -> Vec<T> {
    let mut vec = Vec::new();
    vec.par_extend(iter);
    vec
}

impl<T: Send> ParallelExtend<T> for VecDeque<T> {
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, iter: I) {
        self.extend(vec_of(iter));
    }
}

impl<T: Ord + Send> ParallelExtend<T> for BinaryHeap<T> {
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, iter: I) {
        self.extend(vec_of(iter));
    }
}

impl<T: Send> ParallelExtend<T> for LinkedList<T> {
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, iter: I) {
        self.extend(vec_of(iter));
    }
}

/// Appends copies of the referenced items.
macro_rules! extend_by_copies {
    ([$($bounds:tt)*] $type:ty) => {
        impl<'a, T: Copy + Send + Sync + 'a $($bounds)*> ParallelExtend<&'a T> for $type {
            fn par_extend<I: IntoParallelIterator<Item = &'a T>>(&mut self, iter: I) {
                self.par_extend(iter.into_par_iter().copied());
            }
        }
    };
}

extend_by_copies!([] Vec<T>);
extend_by_copies!([] VecDeque<T>);
extend_by_copies!([+ Ord] BinaryHeap<T>);
extend_by_copies!([] LinkedList<T>);

impl ParallelExtend<()> for () {
    fn par_extend<I: IntoParallelIterator<Item = ()>>(&mut self, iter: I) {
        iter.into_par_iter().for_each(|()| ());
    }
}

/// Collects the items of each part of a loop; also returns the total length.
#[track_caller]
pub(crate) fn joined<C, I>(iter: I) -> (Rope<C>, usize)
where
    I: IntoParallelIterator,
    C: Part + Extend<I::Item>,
{
    parts(iter.into_par_iter())
}
