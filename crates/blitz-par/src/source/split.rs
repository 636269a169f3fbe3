//! Slices between separators, or of neighbours that belong together: `par_split`,
//! `par_split_inclusive`, `par_chunk_by`, and their versions for mutable slices.

#![forbid(unsafe_code)]

use super::split_on::{Separated, SplitOn};
use crate::iter::ParallelIterator;
use crate::plan::Turn;
use crate::reducer::{Reducer, Run};
use crate::run::begin;
use std::fmt;
use std::ops::Range;
use std::slice;

/// Parts of a slice that a function separates.
macro_rules! split {
    (
        $(#[$doc:meta])* $name:ident $([$clone:ident])?, $part:ident,
        $slice:ty, T: $bound:ident, F: ($($of:tt)*), $items:ident, $make:ident, $split:ident,
        separator |$f:ident, $in:ident, $at:ident| $is:expr,
        stays: $stays:literal, empty counts: $empty:literal
    ) => {
        $(#[$doc])*
        #[must_use = "parallel iterators are lazy and do nothing unless consumed"]
        $(#[derive($clone)])?
        pub struct $name<'a, T, F> {
            pub(crate) slice: $slice,
            pub(crate) f: F,
        }

        impl<T: fmt::Debug, F> fmt::Debug for $name<'_, T, F> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("slice", &self.slice).finish_non_exhaustive()
            }
        }

        impl<'a, T: $bound, F: Fn($($of)*) -> bool + Sync + Send> ParallelIterator
            for $name<'a, T, F>
        {
            type Item = $slice;

            drive!(|self, turn, next, acc| {
                let part = $part { slice: self.slice, f: &self.f };
                begin(turn, next, SplitOn::new(part), acc)
            });
        }

        #[doc = concat!("A part of [`", stringify!($name), "`].")]
        struct $part<'a, 'p, T, F> {
            slice: $slice,
            f: &'p F,
        }

        impl<'a, 'p, T: $bound, F: Fn($($of)*) -> bool + Sync> Separated for $part<'a, 'p, T, F> {
            type Item = $slice;
            type Items = slice::$items<'a, T, &'p F>;
            const EMPTY_COUNTS: bool = $empty;

            fn len(&self) -> usize {
                self.slice.len()
            }

            fn find(&self, mut range: Range<usize>) -> Option<usize> {
                let ($f, $in) = (self.f, &*self.slice);
                range.find(|&$at| $is).map(|at| at + usize::from($stays))
            }

            fn find_back(&self, before: usize) -> Option<usize> {
                let ($f, $in) = (self.f, &*self.slice);
                (0..before).rfind(|&$at| $is).map(|at| at + usize::from($stays))
            }

            fn cut_at(self, end: usize) -> (Self, Self) {
                let (left, right) = self.slice.$split(end);
                let (_, right) = right.$split(usize::from(!$stays));
                ($part { slice: left, f: self.f }, $part { slice: right, f: self.f })
            }

            fn items(self) -> Self::Items {
                self.slice.$make(self.f)
            }

            fn whole(self) -> Option<Self::Item> {
                Some(self.slice).filter(|slice| $empty || !slice.is_empty())
            }
        }
    };
}

/// Whether an item and the next one belong to different chunks.
fn is_border<T>(slice: &[T], at: usize, f: impl Fn(&T, &T) -> bool) -> bool {
    slice.get(at + 1).is_some_and(|next| !f(&slice[at], next))
}

split! {
    /// Slices between separators: made by [`par_split`](crate::slice::ParallelSlice::par_split).
    Split [Clone], SplitPart, &'a [T], T: Sync, F: (&T), Split, split, split_at,
    separator |f, slice, at| f(&slice[at]), stays: false, empty counts: true
}

split! {
    /// Mutable slices between separators: made by
    /// [`par_split_mut`](crate::slice::ParallelSliceMut::par_split_mut).
    SplitMut, SplitMutPart, &'a mut [T], T: Send, F: (&T), SplitMut, split_mut, split_at_mut,
    separator |f, slice, at| f(&slice[at]), stays: false, empty counts: true
}

split! {
    /// Slices that end with separators: made by
    /// [`par_split_inclusive`](crate::slice::ParallelSlice::par_split_inclusive).
    SplitInclusive [Clone], SplitInclusivePart, &'a [T], T: Sync, F: (&T),
    SplitInclusive, split_inclusive, split_at,
    separator |f, slice, at| f(&slice[at]), stays: true, empty counts: false
}

split! {
    /// Mutable slices that end with separators: made by
    /// [`par_split_inclusive_mut`](crate::slice::ParallelSliceMut::par_split_inclusive_mut).
    SplitInclusiveMut, SplitInclusiveMutPart, &'a mut [T], T: Send, F: (&T),
    SplitInclusiveMut, split_inclusive_mut, split_at_mut,
    separator |f, slice, at| f(&slice[at]), stays: true, empty counts: false
}

split! {
    /// Slices of neighbours that belong together: made by
    /// [`par_chunk_by`](crate::slice::ParallelSlice::par_chunk_by).
    ChunkBy [Clone], ChunkByPart, &'a [T], T: Sync, F: (&T, &T), ChunkBy, chunk_by, split_at,
    separator |f, slice, at| is_border(slice, at, f), stays: true, empty counts: false
}

split! {
    /// Mutable slices of neighbours that belong together: made by
    /// [`par_chunk_by_mut`](crate::slice::ParallelSliceMut::par_chunk_by_mut).
    ChunkByMut, ChunkByMutPart, &'a mut [T], T: Send, F: (&T, &T), ChunkByMut, chunk_by_mut,
    split_at_mut,
    separator |f, slice, at| is_border(slice, at, f), stays: true, empty counts: false
}
