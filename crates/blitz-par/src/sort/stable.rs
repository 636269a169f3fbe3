//! Stable: the standard library sorts parts, which are merged by halves.

#![forbid(unsafe_code)]

use super::merge::merge_sort;
use crate::here::enter;
use crate::iter::ParallelIterator;
use crate::slice::ParallelSliceMut;
use crate::tuning;
use std::cmp::Ordering;

/// Sorts `slice`; equal items keep their order.
pub(crate) fn stable<T, F>(slice: &mut [T], f: F)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let workers =
        if slice.len() < 2 * tuning::SORT_ALONE { 1 } else { enter(|here| here.workers()) };
    if workers == 1 {
        slice.sort_by(f);
        return;
    }
    let alone = alone(slice.len(), workers);
    if is_one_run(slice, alone, &f, Ordering::is_gt) {
        return;
    }
    let mut memory = Vec::with_capacity(slice.len());
    enter(|here| merge_sort(here, slice, memory.spare_capacity_mut(), &f, alone));
}

/// How many items a part has that is not cut.
pub(super) fn alone(len: usize, workers: usize) -> usize {
    (len / workers.saturating_mul(tuning::SORT_PARTS)).max(tuning::SORT_ALONE)
}

/// Sorts `slice` if it is in order already, or if `is_reversed` holds for each two neighbours.
pub(super) fn is_one_run<T, F>(
    slice: &mut [T],
    alone: usize,
    f: &F,
    is_reversed: impl Fn(Ordering) -> bool + Sync + Send,
) -> bool
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    if is_ordered(slice, alone, |a, b| f(a, b).is_le()) {
        return true;
    }
    let is_reversed = is_ordered(slice, alone, |a, b| is_reversed(f(a, b)));
    if is_reversed {
        slice.reverse();
    }
    is_reversed
}

/// Whether `f` returns true for each two neighbours.
fn is_ordered<T, F>(slice: &mut [T], alone: usize, f: F) -> bool
where
    T: Send,
    F: Fn(&T, &T) -> bool + Sync + Send,
{
    let mut borders = (alone..slice.len()).step_by(alone);
    borders.all(|at| f(&slice[at - 1], &slice[at]))
        && slice.par_chunks_mut(alone).all(|part| part.is_sorted_by(&f))
}
