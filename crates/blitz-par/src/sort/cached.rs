//! Sorts by keys that are computed once.

#![forbid(unsafe_code)]

use super::unstable::unstable;
use crate::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

/// Sorts `slice` by the keys that `f` returns; equal items keep their order.
#[track_caller]
pub(crate) fn by_cached_key<T, K, F>(slice: &mut [T], f: F)
where
    T: Send,
    K: Ord + Send,
    F: Fn(&T) -> K + Sync,
{
    if slice.len() < 2 {
        return;
    }
    let keys = (&mut *slice).into_par_iter().enumerate();
    let mut keys: Vec<(K, usize)> = keys.map(|(index, item)| (f(item), index)).collect();
    // With an index after each key no two keys are equal.
    unstable(&mut keys, Ord::cmp);
    // Item `keys[at].1` belongs at `at`. Positions before `at` already have their items. The swap
    // for such a position `p` has moved the item that was at `p` to position `keys[p].1`.
    for at in 0..keys.len() {
        let mut from = keys[at].1;
        while from < at {
            from = keys[from].1;
        }
        keys[at].1 = from;
        slice.swap(at, from);
    }
}
