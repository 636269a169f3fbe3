//! Ranges and lengths at their limits, and arguments that are refused.

use super::everywhere;
use crate::iter::repeat_n;
use crate::piece::Piece;
use crate::prelude::*;
use std::ops::Range;

#[test]
fn windows_of_the_longest_slice_are_counted() {
    let all = [(); usize::MAX];
    assert_eq!(all.par_windows(1).len(), usize::MAX);
    assert_eq!(all.par_windows(usize::MAX).count(), 1);
    assert!(all.par_array_windows::<3>().find_any(|[(), (), ()]| true).is_some());
}

#[test]
fn a_length_that_cannot_be_counted_is_none() {
    assert_eq!(repeat_n(1, usize::MAX).intersperse(2).opt_len(), None);
    assert_eq!(repeat_n(1, usize::MAX / 2 + 1).intersperse(2).opt_len(), Some(usize::MAX));
}

#[test]
fn ranges_across_zero_and_up_to_the_greatest() {
    everywhere(|| {
        assert_eq!((-500..500i128).into_par_iter().sum::<i128>(), -500);
        assert_eq!(
            (-500..=500i64).into_par_iter().map(|n| n + 1).collect::<Vec<_>>(),
            (-499..=501).collect::<Vec<_>>()
        );
        assert_eq!((i8::MIN..=i8::MAX).into_par_iter().count(), 256);
        assert_eq!((i8::MIN..=i8::MAX).into_par_iter().rev().max(), Some(i8::MAX));
        assert_eq!((u64::MAX - 9..=u64::MAX).into_par_iter().count(), 10);
        assert_eq!((u128::MAX - 9..=u128::MAX).into_par_iter().max(), Some(u128::MAX));
        assert_eq!(
            (5..5u8).into_par_iter().count()
                + std::ops::RangeInclusive::new(6, 5u8).into_par_iter().count(),
            0
        );
        assert_eq!((usize::MAX - 3..=usize::MAX).into_par_iter().collect::<Vec<_>>().len(), 4);
    });
}

#[test]
fn a_range_that_was_used_up_is_empty() {
    let mut range = 0..=3u32;
    range.by_ref().for_each(drop);
    assert_eq!(range.into_par_iter().count(), 0);
}

#[test]
fn characters_skip_surrogates() {
    everywhere(|| {
        let all: String = ('\u{D7F0}'..='\u{E00F}').into_par_iter().collect();
        assert!(all.chars().eq('\u{D7F0}'..='\u{E00F}'));
        assert_eq!(('\0'..=char::MAX).into_par_iter().count(), ('\0'..=char::MAX).count());
        assert_eq!(('z'..'a').into_par_iter().count(), 0);
    });
}

#[test]
fn lengths_beyond_usize_do_not_overflow() {
    fn len(range: &Range<i128>) -> u128 {
        range.end.wrapping_sub(range.start) as u128
    }
    let octillion = 10_i128.pow(27);
    let half = i128::MAX as u128;
    for (range, expected) in [
        (0..octillion, octillion as u128),
        (-octillion..octillion, 2 * octillion as u128),
        (i128::MIN..0, half + 1),
        (i128::MIN..i128::MAX, u128::MAX),
    ] {
        assert_eq!(len(&range), expected);
        assert_eq!(range.clone().into_par_iter().opt_len(), None);
        // A cut leaves no item out, and its halves have lengths that differ by at most one.
        let mut piece = range.into_par_iter().piece;
        while piece.exact_len().is_none() {
            let whole = piece.0.clone();
            let right = piece.split_off(usize::MAX / 2).unwrap();
            let (left, rest) = (&piece.0, &right.0);
            assert_eq!((left.start, left.end, rest.end), (whole.start, rest.start, whole.end));
            assert!(len(left).abs_diff(len(rest)) <= 1, "{left:?} and {rest:?}");
            assert_eq!(len(left) + len(rest), len(&whole));
            piece = right;
        }
        assert_eq!(piece.exact_len(), usize::try_from(len(&piece.0)).ok());
    }
}

#[test]
fn numbers_beyond_usize_are_searched() {
    everywhere(|| {
        let all = 0..1u128 << 100;
        assert_eq!(all.clone().into_par_iter().find_first(|&n| n >= 1000), Some(1000));
        assert!(all.clone().into_par_iter().any(|n| n % 7 == 3));
        assert_eq!(all.into_par_iter().opt_len(), None);
    });
}

#[test]
fn as_many_units_as_there_can_be() {
    everywhere(|| {
        let units = vec![(); usize::MAX];
        assert_eq!(units.par_iter().len(), usize::MAX);
        assert_eq!(units.par_iter().position_first(|()| true), Some(0));
        assert!(units.par_iter().chunks(usize::MAX).len() == 1);
        assert!(units.into_par_iter().any(|()| true));
    });
}

#[test]
#[should_panic(expected = "chunk_size must not be zero")]
fn chunks_of_nothing_panic() {
    let _ = [1].par_chunks(0);
}

#[test]
#[should_panic(expected = "step must not be zero")]
fn steps_of_nothing_panic() {
    let _ = (0..3).into_par_iter().step_by(0);
}

#[test]
#[should_panic(expected = "iterators must have the same length")]
fn different_lengths_panic() {
    let _ = (0..3).into_par_iter().zip_eq(0..4);
}

#[test]
#[should_panic(expected = "range end 4 should be <= length 3")]
fn drains_beyond_the_end_panic() {
    let _ = vec![1, 2, 3].par_drain(1..=3);
}

#[test]
#[should_panic(expected = "has no length")]
fn a_chain_that_is_too_long_has_no_length() {
    let _ = vec![(); usize::MAX].into_par_iter().chain([()]).len();
}
