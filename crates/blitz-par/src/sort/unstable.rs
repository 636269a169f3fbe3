//! Unstable sort in place: cuts at the median, which the standard library finds, until parts are
//! short.

#![forbid(unsafe_code)]

use super::stable::sort_by_length;
use crate::here::Here;
use std::cmp::Ordering;

/// Sorts `slice`; equal items may change their order.
#[track_caller]
pub(crate) fn unstable<T, F>(slice: &mut [T], f: F)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let f = &f;
    let one = |slice: &mut [T]| slice.sort_unstable_by(f);
    let many = |here: Here<'_>, slice: &mut [T], alone| sort(here, slice, f, alone);
    sort_by_length(slice, f, Ordering::is_ge, one, many);
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
