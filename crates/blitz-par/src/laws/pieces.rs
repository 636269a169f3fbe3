//! An exact piece can be cut everywhere, and blocks have as many items as they were asked for, from
//! either end.

use crate::iter::{Either, once, repeat_n};
use crate::piece::{Exact, Piece};
use crate::prelude::*;
use std::collections::VecDeque;
use std::fmt::Debug;

/// Cuts the result of `make` at every place and compares.
fn check<I>(make: impl Fn() -> I)
where
    I: IndexedParallelIterator<Item: Debug + PartialEq>,
{
    let mut whole = make();
    let len = whole.len();
    assert_eq!(whole.opt_len(), Some(len));
    let all: Vec<_> = whole.piece().block(len).collect();
    assert_eq!(all.len(), len);
    for i in 0..=len {
        for j in i..=len {
            let mut iter = make();
            let mut left = iter.piece();
            let right = left.cut(j);
            let middle = left.cut(i);
            check_piece(left, &all[..i]);
            check_piece(middle, &all[i..j]);
            check_piece(right, &all[j..]);

            let mut iter = make();
            let mut piece = iter.piece();
            let first = piece.block(i);
            let second = piece.block(j - i);
            assert_eq!((first.len(), second.len(), piece.steps()), (i, j - i, len - j));
            assert_eq!(first.chain(second).chain(piece.block(len - j)).collect::<Vec<_>>(), all);

            // Take some from the front, some from the back, and drop the others.
            let mut iter = make();
            let mut block = iter.piece().block(len);
            assert!(block.by_ref().take(i).eq(make().piece().block(len).take(i)));
            let back: Vec<_> = block.by_ref().rev().take(len - j).collect();
            assert!(back.iter().eq(all[j..].iter().rev()));
            assert_eq!((block.len(), block.size_hint()), (j - i, (j - i, Some(j - i))));
        }
    }
}

fn check_piece<P: Exact<Item: Debug + PartialEq>>(mut piece: P, expected: &[P::Item]) {
    assert_eq!((piece.steps(), piece.exact_len()), (expected.len(), Some(expected.len())));
    let half = expected.len() / 2;
    let back: Vec<_> = piece.block_back(half).rev().collect();
    assert!(back.iter().eq(expected.iter().rev().take(half)));
    let front: Vec<_> = piece.block(expected.len() - half).collect();
    assert_eq!(front, expected[..expected.len() - half]);
    assert_eq!(piece.steps(), 0);
}

const NUMBERS: [u8; 6] = [3, 1, 4, 1, 5, 9];

macro_rules! exact {
    ($($name:ident: $make:expr;)*) => {$(
        #[test]
        fn $name() {
            check(|| $make);
        }
    )*};
}

exact! {
    slice: NUMBERS.par_iter();
    empty_slice: NUMBERS[..0].par_iter();
    vector: NUMBERS.to_vec().into_par_iter();
    array: NUMBERS.into_par_iter();
    option: Some(1).into_par_iter();
    nothing: None::<u8>.into_par_iter();
    copies: repeat_n(String::from("x"), 5);
    zero_sized: vec![(); 5].into_par_iter();
    range: (-3..3i8).into_par_iter();
    wide_range: (usize::MAX - 5..usize::MAX).into_par_iter();
    empty_range: std::ops::Range { start: 5u32, end: 3 }.into_par_iter();
    inclusive: (250..=255u8).into_par_iter();
    inclusive_below: (0..=5i16).into_par_iter();
    one_of_all: (255..=255u8).into_par_iter();
    chars: ('\u{D7FD}'..'\u{E002}').into_par_iter();
    chars_inclusive: ('\u{10FFFC}'..=char::MAX).into_par_iter();
    chunks: NUMBERS.par_chunks(4);
    rchunks: NUMBERS.par_rchunks(4);
    exact_chunks: NUMBERS.par_chunks_exact(2);
    exact_rchunks: NUMBERS.par_rchunks_exact(4);
    windows: NUMBERS.par_windows(3);
    windows_too_wide: NUMBERS.par_windows(9);
    array_windows: NUMBERS.par_array_windows::<2>();
    map: NUMBERS.par_iter().map(|n| n + 1);
    cloned: NUMBERS.par_iter().cloned();
    copied: NUMBERS.par_iter().copied();
    inspect: NUMBERS.par_iter().inspect(|_| ());
    update: NUMBERS.into_par_iter().update(|n| *n += 1);
    map_with: NUMBERS.into_par_iter().map_with(1, |m, n| *m + n);
    map_init: NUMBERS.into_par_iter().map_init(|| 1, |m, n| *m + n);
    panic_fuse: NUMBERS.par_iter().panic_fuse();
    chain: NUMBERS.par_iter().chain(&NUMBERS[..2]).chain(once(&7));
    zip: NUMBERS.par_iter().zip(1..4u16);
    enumerate: NUMBERS.par_iter().enumerate();
    rev: NUMBERS.par_iter().rev();
    rev_of_chain: NUMBERS.par_iter().chain(&NUMBERS[..2]).rev();
    skip: NUMBERS.par_iter().skip(2);
    skip_all: NUMBERS.par_iter().skip(20);
    take: NUMBERS.par_iter().take(4);
    step_by: NUMBERS.par_iter().step_by(4);
    step_by_one: NUMBERS.par_iter().step_by(1);
    chunks_of_items: NUMBERS.into_par_iter().chunks(4);
    fold_chunks: NUMBERS.into_par_iter().fold_chunks(4, || 1, |a, b| a + b);
    fold_chunks_with: NUMBERS.into_par_iter().fold_chunks_with(5, 1, |a, b| a + b);
    interleave: NUMBERS.par_iter().interleave(&NUMBERS[..2]);
    interleave_longer: NUMBERS[..1].par_iter().interleave(&NUMBERS);
    interleave_shortest: NUMBERS.par_iter().interleave_shortest(&NUMBERS[..3]);
    intersperse: NUMBERS.into_par_iter().intersperse(0);
    intersperse_one: once(1).intersperse(0);
    multizip: (&NUMBERS, 0..5u8, NUMBERS.par_iter().rev()).into_par_iter();
    either: Either::<_, crate::range::Iter<u8>>::Left(NUMBERS.into_par_iter());
    tuned: NUMBERS.par_iter().with_min_len(2).with_max_len(3).max_workers(2).fixed_shape();
    deep: NUMBERS.par_iter().zip(1..9u8).rev().map(|(a, b)| a * b).chunks(2).enumerate().skip(1);
}

#[test]
fn deque() {
    let mut deque: VecDeque<u8> = NUMBERS.into();
    deque.rotate_left(2);
    check(|| deque.par_iter());
    check(|| deque.clone().into_par_iter());
}

#[test]
fn mutable_slices_and_drains() {
    // Only one such iterator can exist at a time, so each is cut once.
    for at in 0..=NUMBERS.len() {
        let mut numbers = NUMBERS.to_vec();
        let mut iter = numbers.par_iter_mut();
        let mut left = iter.piece();
        left.cut(at).block(NUMBERS.len() - at).for_each(|n| *n += 1);
        assert!(left.block(at).rev().map(|n| &*n).eq(NUMBERS[..at].iter().rev()));
        let mut drained = numbers.par_drain(1..5);
        let mut left = drained.piece();
        let right = left.cut(at.min(4));
        assert_eq!((left.steps(), right.steps()), (at.min(4), 4 - at.min(4)));
        drop((left, right));
        drop(drained);
        assert_eq!(numbers.len(), 2);
    }
}

#[test]
fn pieces_without_exact_lengths_lose_nothing() {
    fn drain<P: Piece>(mut piece: P, at: usize, all: &mut Vec<P::Item>) {
        let right = if at > 0 { piece.split_off(at.min(piece.steps())) } else { None };
        while piece.steps() > 0 {
            all.extend(piece.block(at.clamp(1, piece.steps())));
        }
        right.into_iter().for_each(|right| drain(right, at / 2, all));
    }
    for at in 0..40 {
        let mut all = Vec::new();
        drain((u64::MAX - 30..u64::MAX).into_par_iter().piece, at, &mut all);
        assert!(all.into_iter().eq(u64::MAX - 30..u64::MAX), "{at}");
        let (text, mut all) = ("a\u{DF}\u{1D11E}b".repeat(4), Vec::new());
        drain(text.par_chars().piece, at, &mut all);
        assert!(all.into_iter().eq(text.chars()), "{at}");
    }
}
