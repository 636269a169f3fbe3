//! Converts ranges as users write them into ranges of indexes.

#![forbid(unsafe_code)]

use std::ops::{Bound, Range, RangeBounds};

/// The range as indexes below `len`.
///
/// # Panics
/// If the range ends before it starts, or beyond `len`.
#[track_caller]
pub(crate) fn simplify(range: impl RangeBounds<usize>, len: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Unbounded => 0,
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => match before.checked_add(1) {
            Some(start) => start,
            None => panic!("range start index {before} should be < usize::MAX"),
        },
    };
    let end = match range.end_bound() {
        Bound::Unbounded => len,
        Bound::Excluded(&end) => end,
        Bound::Included(&last) => match last.checked_add(1) {
            Some(end) => end,
            None => panic!("range end index {last} should be < usize::MAX"),
        },
    };
    assert!(start <= end, "range start {start} should be <= range end {end}");
    assert!(end <= len, "range end {end} should be <= length {len}");
    start..end
}
