//! The items of the standard collections.
//!
//! Collections that cannot be cut are turned into vectors of their items, or of references to them.
//! A loop over a hash map or a hash set, or over shared references to their items,
//! [pulls](super::pulled) the items. That needs no vector if the pool has one worker.

#![forbid(unsafe_code)]

use super::pulled::PulledIter;
use super::vec;
use crate::iter::{IntoParallelIterator, ParallelDrainFull};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList};
use std::hash::Hash;

/// The items of a collection, or references to them.
pub type Iter<T> = vec::IntoIter<T>;

/// Implements the conversion of a collection by way of a vector.
macro_rules! by_vec {
    ([$($params:tt)*] $type:ty, $item:ty, [$($bounds:tt)*]) => {
        impl<$($params)*> IntoParallelIterator for $type
        where
            $($bounds)*
        {
            type Item = $item;
            type Iter = Iter<$item>;

            fn into_par_iter(self) -> Self::Iter {
                Iter { vec: self.into_iter().collect() }
            }
        }
    };
}

/// Implements the conversion of a collection by way of its iterator.
macro_rules! by_pulling {
    ([$($params:tt)*] $type:ty, [$($bounds:tt)*]) => {
        impl<$($params)*> IntoParallelIterator for $type
        where
            $($bounds)*
        {
            type Item = <$type as IntoIterator>::Item;
            type Iter = PulledIter<<$type as IntoIterator>::IntoIter>;

            fn into_par_iter(self) -> Self::Iter {
                PulledIter { iter: self.into_iter() }
            }
        }
    };
}

by_pulling!([K, V, S] HashMap<K, V, S>, [K: Hash + Eq + Send, V: Send]);
by_pulling!(['a, K, V, S] &'a HashMap<K, V, S>, [K: Hash + Eq + Sync, V: Sync]);
by_pulling!([T, S] HashSet<T, S>, [T: Hash + Eq + Send]);
by_pulling!(['a, T, S] &'a HashSet<T, S>, [T: Hash + Eq + Sync]);
// The iterator of a `&mut HashMap` is `Send` only if the keys are.
by_vec!(['a, K, V, S] &'a mut HashMap<K, V, S>, (&'a K, &'a mut V), [K: Hash + Eq + Sync, V: Send]);
by_vec!([K, V] BTreeMap<K, V>, (K, V), [K: Ord + Send, V: Send]);
by_vec!(['a, K, V] &'a BTreeMap<K, V>, (&'a K, &'a V), [K: Ord + Sync, V: Sync]);
by_vec!(['a, K, V] &'a mut BTreeMap<K, V>, (&'a K, &'a mut V), [K: Ord + Sync, V: Send]);
by_vec!([T] BTreeSet<T>, T, [T: Ord + Send]);
by_vec!(['a, T] &'a BTreeSet<T>, &'a T, [T: Ord + Sync]);
by_vec!([T] LinkedList<T>, T, [T: Send]);
by_vec!(['a, T] &'a LinkedList<T>, &'a T, [T: Sync]);
by_vec!(['a, T] &'a mut LinkedList<T>, &'a mut T, [T: Send]);
by_vec!(['a, T] &'a BinaryHeap<T>, &'a T, [T: Ord + Sync]);

impl<T: Ord + Send> IntoParallelIterator for BinaryHeap<T> {
    type Item = T;
    type Iter = Iter<T>;

    fn into_par_iter(self) -> Iter<T> {
        Iter { vec: self.into_vec() }
    }
}

/// Implements the draining of a collection that keeps its memory.
macro_rules! drain_full {
    ([$($params:tt)*] $type:ty, $item:ty, [$($bounds:tt)*]) => {
        impl<$($params)*> ParallelDrainFull for &mut $type
        where
            $($bounds)*
        {
            type Iter = Iter<$item>;
            type Item = $item;

            fn par_drain(self) -> Self::Iter {
                Iter { vec: self.drain().collect() }
            }
        }
    };
}

drain_full!([K, V, S] HashMap<K, V, S>, (K, V), [K: Hash + Eq + Send, V: Send]);
drain_full!([T, S] HashSet<T, S>, T, [T: Hash + Eq + Send]);
drain_full!([T] BinaryHeap<T>, T, [T: Ord + Send]);
