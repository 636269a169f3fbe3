//! Merges between a slice and memory of the same length, with several workers.
//!
//! Each function below moves items from one place to another. It has moved all of them, in some
//! order, when it returns or unwinds. So a panic of the comparison leaves each item in the slice
//! exactly once.

use crate::here::Here;
use crate::tuning;
use std::cmp::Ordering;
use std::mem::{MaybeUninit, forget};
use std::slice;

/// Sorts `slice`. Parts of at most `alone` items are sorted by the standard library.
pub(crate) fn merge_sort<T, F>(
    here: Here<'_>,
    slice: &mut [T],
    memory: &mut [MaybeUninit<T>],
    f: &F,
    alone: usize,
) where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    assert!(slice.len() <= memory.len(), "there is room for each item");
    let len = slice.len();
    let (items, memory) = (Run::of(slice.as_mut_ptr(), len), memory.as_mut_ptr().cast());
    sort(here, items, Run::of(memory, len), f, alone, false);
}

/// Memory for some items, initialised or not.
struct Run<T> {
    first: *mut T,
    len: usize,
}

// SAFETY: it is used like a mutable slice: one thread at a time moves its items.
unsafe impl<T: Send> Send for Run<T> {}

impl<T> Clone for Run<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Run<T> {}

impl<T> Run<T> {
    fn of(first: *mut T, len: usize) -> Run<T> {
        Run { first, len }
    }

    /// The first `at` items, and the others.
    fn split_at(self, at: usize) -> (Run<T>, Run<T>) {
        assert!(at <= self.len, "{at} of {} items", self.len);
        (Run::of(self.first, at), Run::of(self.first.wrapping_add(at), self.len - at))
    }

    /// Where the last item is; the run is not empty.
    fn last(self) -> *mut T {
        self.first.wrapping_add(self.len - 1)
    }

    /// Forgets the first `count` items; the run has at least as many.
    fn drop_first(&mut self, count: usize) {
        self.first = self.first.wrapping_add(count);
        self.len -= count;
    }

    /// # Safety
    /// 1. The items are initialised, and no thread changes them while the result lives.
    unsafe fn items<'a>(self) -> &'a [T] {
        // SAFETY: obligation 1.
        unsafe { slice::from_raw_parts(self.first, self.len) }
    }

    /// Moves all items to `to`.
    ///
    /// # Safety
    /// 1. The items are initialised, and are not used here afterwards.
    /// 2. `to` has room for them and does not overlap, and the caller has exclusive access to both.
    unsafe fn move_to(self, to: Run<T>) {
        // SAFETY: obligations 1 and 2.
        unsafe { to.first.copy_from_nonoverlapping(self.first, self.len) };
    }
}

/// Moves items when it is dropped, even by a panic.
struct MoveAtEnd<T> {
    from: Run<T>,
    to: Run<T>,
}

impl<T> Drop for MoveAtEnd<T> {
    fn drop(&mut self) {
        // SAFETY: the maker of this has exclusive access to both runs, and the items are in `from`.
        unsafe { self.from.move_to(self.to) };
    }
}

/// Sorts `items`. The result is in `memory` if `away`, else in `items`.
fn sort<T, F>(here: Here<'_>, items: Run<T>, memory: Run<T>, f: &F, alone: usize, away: bool)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    if items.len <= alone {
        let _move = away.then(|| MoveAtEnd { from: items, to: memory });
        // SAFETY: the items are initialised, and the caller has exclusive access to them.
        let items = unsafe { slice::from_raw_parts_mut(items.first, items.len) };
        items.sort_by(f);
        return;
    }
    let middle = items.len / 2;
    let (items_left, items_right) = items.split_at(middle);
    let (memory_left, memory_right) = memory.split_at(middle);
    // Sort the halves into the memory that does not get the result.
    let (from, to) = if away { (items, memory) } else { (memory, items) };
    let if_it_panics = MoveAtEnd { from, to };
    here.join(
        |here| sort(here, items_left, memory_left, f, alone, !away),
        move |here, _| sort(here, items_right, memory_right, f, alone, !away),
    );
    forget(if_it_panics);
    let (left, right) = from.split_at(middle);
    merge(here, left, right, to, f);
}

/// Merges two sorted runs into `to`.
fn merge<T, F>(here: Here<'_>, left: Run<T>, right: Run<T>, to: Run<T>, f: &F)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let merge = Merge { left, right, to };
    if left.len + right.len < 2 * tuning::SORT_ALONE {
        merge.one_by_one(f);
        return;
    }
    let (left_at, right_at) = merge.middle(f);
    forget(merge);
    let (left_low, left_high) = left.split_at(left_at);
    let (right_low, right_high) = right.split_at(right_at);
    let (to_low, to_high) = to.split_at(left_at + right_at);
    here.join(
        |here| self::merge(here, left_low, right_low, to_low, f),
        move |here, _| self::merge(here, left_high, right_high, to_high, f),
    );
}

/// Two sorted runs that are being merged. The items that are left are moved when this is dropped.
struct Merge<T> {
    left: Run<T>,
    right: Run<T>,
    to: Run<T>,
}

impl<T> Merge<T> {
    /// Where to cut the runs so that all items before the cuts sort before all others.
    fn middle(&self, f: &impl Fn(&T, &T) -> Ordering) -> (usize, usize) {
        // SAFETY: the items are initialised, and this merge has exclusive access to them.
        let left = unsafe { self.left.items() };
        // SAFETY: as above.
        let right = unsafe { self.right.items() };
        if left.len() >= right.len() {
            let at = left.len() / 2;
            (at, right.partition_point(|item| f(item, &left[at]).is_lt()))
        } else {
            let at = right.len() / 2;
            (left.partition_point(|item| f(item, &right[at]).is_le()), at)
        }
    }

    /// Moves items until a run is empty, from both ends: the processor does the two comparisons at
    /// the same time, since neither depends on the other.
    fn one_by_one(mut self, f: &impl Fn(&T, &T) -> Ordering) {
        loop {
            // Each step takes one item at each end, perhaps both from the same run. So neither
            // run is empty before any of this many steps, whatever `f` returns.
            let steps = self.left.len.min(self.right.len) / 2;
            if steps == 0 {
                break;
            }
            for _ in 0..steps {
                // SAFETY: neither run is empty.
                unsafe { self.move_first(f) };
                // SAFETY: as above.
                unsafe { self.move_last(f) };
            }
        }
        while self.left.len > 0 && self.right.len > 0 {
            // SAFETY: neither run is empty.
            unsafe { self.move_first(f) };
        }
    }

    /// Moves the lesser of the two first items. If they are equal, moves the left one.
    ///
    /// # Safety
    /// 1. Neither run is empty.
    #[inline(always)]
    unsafe fn move_first(&mut self, f: &impl Fn(&T, &T) -> Ordering) {
        let (left, right) = (self.left.first, self.right.first);
        // SAFETY: there is an item, and this merge has exclusive access to it.
        let is_right = f(unsafe { &*right }, unsafe { &*left }).is_lt();
        // No branch depends on the comparison, because the processor could not predict it.
        let from = if is_right { right } else { left };
        // SAFETY: the item leaves its run below, and the place is free; this merge owns both.
        unsafe { self.to.first.copy_from_nonoverlapping(from, 1) };
        self.to.drop_first(1);
        self.right.drop_first(usize::from(is_right));
        self.left.drop_first(usize::from(!is_right));
    }

    /// Moves the greater of the two last items. If they are equal, moves the right one.
    ///
    /// # Safety
    /// 1. Neither run is empty.
    #[inline(always)]
    unsafe fn move_last(&mut self, f: &impl Fn(&T, &T) -> Ordering) {
        let (left, right) = (self.left.last(), self.right.last());
        // SAFETY: there is an item, and this merge has exclusive access to it.
        let is_left = f(unsafe { &*right }, unsafe { &*left }).is_lt();
        let from = if is_left { left } else { right };
        // SAFETY: the item leaves its run below, and the place is free; this merge owns both.
        unsafe { self.to.last().copy_from_nonoverlapping(from, 1) };
        self.to.len -= 1;
        self.left.len -= usize::from(is_left);
        self.right.len -= usize::from(!is_left);
    }
}

impl<T> Drop for Merge<T> {
    fn drop(&mut self) {
        let (first, rest) = self.to.split_at(self.left.len);
        // SAFETY: there is exactly this much room for the rest, and this merge has exclusive access
        // to it.
        unsafe { self.left.move_to(first) };
        // SAFETY: as above.
        unsafe { self.right.move_to(rest) };
    }
}
