//! Unstable sort in place: cuts at the median, which the standard library finds, until parts are
//! short.

#![forbid(unsafe_code)]

use super::stable::{alone, is_one_run, is_one_run_alone};
use crate::here::{Here, enter, is_inside};
use crate::tuning;
use std::cmp::Ordering;

/// Sorts `slice`; equal items may change their order.
pub(crate) fn unstable<T, F>(slice: &mut [T], f: F)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    if slice.len() < 2 * tuning::SORT_ALONE {
        slice.sort_unstable_by(f);
        return;
    }
    let (f, is_inside) = (&f, is_inside());
    if !is_inside && is_one_run_alone(slice, f, Ordering::is_ge) {
        return;
    }
    enter(|here| match here.workers() {
        1 if is_inside && is_one_run_alone(slice, f, Ordering::is_ge) => (),
        1 => slice.sort_unstable_by(f),
        workers => {
            let alone = alone(slice.len(), workers);
            if !is_inside || !is_one_run(here, slice, alone, f, Ordering::is_ge) {
                sort(here, slice, f, alone);
            }
        }
    });
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
