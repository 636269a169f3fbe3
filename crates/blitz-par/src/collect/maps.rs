//! Appending to maps and sets: items are computed in parallel and put in one after the other.

#![forbid(unsafe_code)]

use super::extend::joined;
use crate::iter::{IntoParallelIterator, ParallelExtend};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, Hash};

macro_rules! extend_map {
    ([$($params:tt)*] $type:ty, $item:ty, [$($bounds:tt)*] $(, $reserve:ident)?) => {
        impl<$($params)*> ParallelExtend<$item> for $type
        where
            $($bounds)*
        {
            fn par_extend<I: IntoParallelIterator<Item = $item>>(&mut self, iter: I) {
                let (parts, _len) = joined::<Vec<$item>, I>(iter);
                $(self.$reserve(_len);)?
                parts.into_iter().for_each(|part| self.extend(part));
            }
        }
    };
}

extend_map!([K, V, S] HashMap<K, V, S>, (K, V),
    [K: Eq + Hash + Send, V: Send, S: BuildHasher + Send], reserve);
extend_map!(['a, K, V, S] HashMap<K, V, S>, (&'a K, &'a V),
    [K: Copy + Eq + Hash + Send + Sync + 'a, V: Copy + Send + Sync + 'a, S: BuildHasher + Send],
    reserve);
extend_map!([T, S] HashSet<T, S>, T, [T: Eq + Hash + Send, S: BuildHasher + Send], reserve);
extend_map!(['a, T, S] HashSet<T, S>, &'a T,
    [T: Copy + Eq + Hash + Send + Sync + 'a, S: BuildHasher + Send], reserve);
extend_map!([K, V] BTreeMap<K, V>, (K, V), [K: Ord + Send, V: Send]);
extend_map!(['a, K, V] BTreeMap<K, V>, (&'a K, &'a V),
    [K: Copy + Ord + Send + Sync + 'a, V: Copy + Send + Sync + 'a]);
extend_map!([T] BTreeSet<T>, T, [T: Ord + Send]);
extend_map!(['a, T] BTreeSet<T>, &'a T, [T: Copy + Ord + Send + Sync + 'a]);
