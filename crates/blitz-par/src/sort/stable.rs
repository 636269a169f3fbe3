//! Stable sort: the standard library sorts parts, which are then merged pairwise.

#![forbid(unsafe_code)]

use super::merge::merge_sort;
use crate::here::{Here, enter, is_inside};
use crate::tuning;
use std::cmp::Ordering;
use std::mem;

/// Sorts `slice`; equal items keep their order.
#[track_caller]
pub(crate) fn stable<T, F>(slice: &mut [T], f: F)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let f = &f;
    let one = |slice: &mut [T]| slice.sort_by(f);
    sort_by_length(slice, f, Ordering::is_gt, one, |here, slice, alone| {
        let mut memory = Vec::with_capacity(slice.len());
        merge_sort(here, slice, memory.spare_capacity_mut(), f, alone);
    });
}

/// Sorts `slice` by `one`, or by `many` if it is long and there are several workers. Calls neither
/// if a long slice is in order already. If `is_reversed` holds for each two neighbours, reverses
/// the slice instead. `many` gets the length up to which a part is not cut.
#[track_caller]
pub(super) fn sort_by_length<T, F>(
    slice: &mut [T],
    f: &F,
    is_reversed: impl Fn(Ordering) -> bool + Copy + Send + Sync,
    one: impl FnOnce(&mut [T]) + Send,
    many: impl FnOnce(Here<'_>, &mut [T], usize) + Send,
) where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    if slice.len() < 2 * tuning::SORT_ALONE {
        return one(slice);
    }
    let is_inside = is_inside();
    if !is_inside && is_one_run_alone(slice, f, is_reversed) {
        return;
    }
    enter(|here| match here.workers() {
        1 if is_inside && is_one_run_alone(slice, f, is_reversed) => (),
        1 => one(slice),
        workers => {
            let alone = alone(slice.len(), workers);
            if !is_inside || !is_one_run(here, slice, alone, f, is_reversed) {
                many(here, slice, alone);
            }
        }
    });
}

/// Does the same as [`is_one_run`], on the current thread. A thread outside of the pool checks by
/// itself: it is likely to have the items in its cache, and waking a worker takes as long as
/// comparing 100,000 numbers.
fn is_one_run_alone<T>(
    slice: &mut [T],
    f: impl Fn(&T, &T) -> Ordering,
    is_reversed: impl Fn(Ordering) -> bool,
) -> bool {
    let is_sorted = are_all(slice, |a, b| f(a, b).is_le());
    if !is_sorted && are_all(slice, |a, b| is_reversed(f(a, b))) {
        slice.reverse();
        return true;
    }
    is_sorted
}

/// Whether `f` returns true for each two neighbours.
///
/// It asks for some pairs before it looks at the answers. So the compiler can use vector
/// instructions, and a million numbers take 0.4 of the time of `is_sorted_by`.
fn are_all<T>(slice: &[T], f: impl Fn(&T, &T) -> bool) -> bool {
    const PAIRS: usize = 16;
    let mut rest = slice;
    while let Some(block) = rest.first_chunk::<{ PAIRS + 1 }>() {
        let ask = |at| f(&block[at], &block[at + 1]);
        if !(0..PAIRS).fold(true, |all, at| all & ask(at)) {
            return false;
        }
        rest = &rest[PAIRS..];
    }
    rest.is_sorted_by(f)
}

/// The length up to which a part is not cut.
fn alone(len: usize, workers: usize) -> usize {
    (len / workers.saturating_mul(tuning::SORT_PARTS)).max(tuning::SORT_ALONE)
}

/// Whether `slice` is in order now: it was in order before, or `is_reversed` holds for each two
/// neighbours and this function has reversed it.
fn is_one_run<T, F>(
    here: Here<'_>,
    slice: &mut [T],
    alone: usize,
    f: &F,
    is_reversed: impl Fn(Ordering) -> bool + Sync,
) -> bool
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    if is_ordered(here, slice, alone, &|a, b| f(a, b).is_le()) {
        return true;
    }
    let is_reversed = is_ordered(here, slice, alone, &|a, b| is_reversed(f(a, b)));
    if is_reversed {
        swap(here, Ends::of(slice), alone);
    }
    is_reversed
}

/// Whether `f` returns true for each two neighbours.
fn is_ordered<T, F>(here: Here<'_>, slice: &mut [T], alone: usize, f: &F) -> bool
where
    T: Send,
    F: Fn(&T, &T) -> bool + Sync,
{
    let middle = slice.len() / 2;
    let (last, first) = (middle.saturating_sub(1), slice.len() - middle);
    // Check the neighbours in the middle, and then those in both halves.
    slice[last..=first].is_sorted_by(f) && are_ordered(here, Ends::of(slice), alone, f)
}

/// Two parts of a slice, equally far from its ends. The worker that has compared them is likely to
/// swap them, too, and has them in its cache.
struct Ends<'a, T> {
    left: &'a mut [T],
    right: &'a mut [T],
}

impl<T> Ends<'_, T> {
    /// Both halves, without the item in the middle if there is one.
    fn of(slice: &mut [T]) -> Ends<'_, T> {
        let middle = slice.len() / 2;
        let (left, rest) = slice.split_at_mut(middle);
        let (_, right) = rest.split_at_mut(rest.len() - middle);
        Ends { left, right }
    }

    /// Cuts both parts; returns their outer halves and their inner halves.
    fn cut(&mut self) -> [Ends<'_, T>; 2] {
        let middle = self.left.len() / 2;
        let (outer_left, inner_left) = self.left.split_at_mut(middle);
        let (inner_right, outer_right) = self.right.split_at_mut(self.right.len() - middle);
        let outer = Ends { left: outer_left, right: outer_right };
        [outer, Ends { left: inner_left, right: inner_right }]
    }
}

/// Whether `f` returns true for each two neighbours of either part.
fn are_ordered<T, F>(here: Here<'_>, mut ends: Ends<'_, T>, alone: usize, f: &F) -> bool
where
    T: Send,
    F: Fn(&T, &T) -> bool + Sync,
{
    if ends.left.len() <= alone {
        return are_all(ends.left, f) && are_all(ends.right, f);
    }
    let [outer, inner] = ends.cut();
    let border = |before: &[T], after: &[T]| f(&before[before.len() - 1], &after[0]);
    if !border(outer.left, inner.left) || !border(inner.right, outer.right) {
        return false;
    }
    let (outer, inner) = here.join(
        |here| are_ordered(here, outer, alone, f),
        |here, _| are_ordered(here, inner, alone, f),
    );
    outer && inner
}

/// Swaps the first item of the left part with the last one of the right part, and so on.
fn swap<T: Send>(here: Here<'_>, mut ends: Ends<'_, T>, alone: usize) {
    if ends.left.len() <= alone {
        let pairs = ends.left.iter_mut().zip(ends.right.iter_mut().rev());
        pairs.for_each(|(left, right)| mem::swap(left, right));
        return;
    }
    let [outer, inner] = ends.cut();
    here.join(|here| swap(here, outer, alone), |here, _| swap(here, inner, alone));
}
