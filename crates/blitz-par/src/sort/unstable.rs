//! In place: cut at the median, which the standard library finds, until parts are short.

#![forbid(unsafe_code)]

use super::stable::{alone, is_one_run};
use crate::here::{Here, enter};
use crate::tuning;
use std::cmp::Ordering;

/// Sorts `slice`; equal items may change their order.
pub(crate) fn unstable<T, F>(slice: &mut [T], f: F)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let workers =
        if slice.len() < 2 * tuning::SORT_ALONE { 1 } else { enter(|here| here.workers()) };
    if workers == 1 {
        slice.sort_unstable_by(f);
        return;
    }
    let alone = alone(slice.len(), workers);
    if !is_one_run(slice, alone, &f, Ordering::is_ge) {
        enter(|here| sort(here, slice, &f, alone));
    }
}

/// Sorts `slice`; parts of at most `alone` items are not cut.
fn sort<T, F>(here: Here<'_>, slice: &mut [T], f: &F, alone: usize)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    if slice.len() <= alone {
        slice.sort_unstable_by(f);
        return;
    }
    let (low, _, high) = slice.select_nth_unstable_by(slice.len() / 2, f);
    here.join(|here| sort(here, low, f, alone), |here, _| sort(here, high, f, alone));
}
