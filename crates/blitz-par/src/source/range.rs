//! Ranges of numbers and of characters: `a..b`.

#![forbid(unsafe_code)]

use super::piece::Source;
use crate::iter::IntoParallelIterator;
use crate::piece::{Exact, Piece};
use std::ops::Range;

/// The items of a range `a..b`. It is indexed if its length always fits a `usize`.
pub type Iter<T> = Source<Span<T>>;

/// A piece of [`Iter`].
#[derive(Debug, Clone)]
pub struct Span<T>(pub(crate) Range<T>);

/// A type that ranges can be made of. It cannot be implemented elsewhere.
pub trait RangeItem: Copy + PartialOrd + Send {
    /// A part of a range, as an iterator.
    type Block: Iterator<Item = Self>;

    /// How many items the range has, if that number fits a `usize`.
    fn len(range: &Range<Self>) -> Option<usize>;

    /// Returns the item `at` steps behind the start, or the middle one if the length does not fit.
    fn cut(range: &Range<Self>, at: usize) -> Self;

    /// The range as an iterator.
    fn block(range: Range<Self>, len: usize) -> Self::Block;

    /// Returns the item `count` steps behind the start.
    fn behind(range: &Range<Self>, count: usize) -> Self;
}

/// A type whose ranges have lengths that always fit a `usize`.
pub trait IndexedRangeItem: RangeItem<Block: ExactSizeIterator + DoubleEndedIterator> {}

impl<T: RangeItem> IntoParallelIterator for Range<T> {
    type Item = T;
    type Iter = Iter<T>;

    fn into_par_iter(self) -> Iter<T> {
        Source { piece: Span(self) }
    }
}

impl<T: RangeItem> Piece for Span<T> {
    type Item = T;
    type Block = T::Block;

    #[inline]
    fn steps(&self) -> usize {
        T::len(&self.0).unwrap_or(usize::MAX)
    }

    fn split_off(&mut self, at: usize) -> Option<Self> {
        let middle = T::cut(&self.0, at);
        let right = middle..self.0.end;
        self.0.end = middle;
        Some(Span(right))
    }

    #[inline]
    fn block(&mut self, steps: usize) -> T::Block {
        let start = self.0.start;
        self.0.start = T::behind(&self.0, steps);
        T::block(start..self.0.start, steps)
    }

    fn exact_len(&self) -> Option<usize> {
        T::len(&self.0)
    }
}

impl<T: IndexedRangeItem> Exact for Span<T> {}

macro_rules! numbers {
    ($($type:ident $unsigned:ident),*) => {$(
        impl RangeItem for $type {
            type Block = Range<$type>;

            #[inline]
            #[allow(clippy::unnecessary_fallible_conversions, reason = "small types never fail")]
            fn len(range: &Range<$type>) -> Option<usize> {
                if range.is_empty() {
                    return Some(0);
                }
                usize::try_from(range.end.wrapping_sub(range.start) as $unsigned).ok()
            }

            fn cut(range: &Range<$type>, at: usize) -> $type {
                match Self::len(range) {
                    Some(_) => Self::behind(range, at),
                    None => {
                        let len = range.end.wrapping_sub(range.start) as $unsigned;
                        range.start.wrapping_add((len / 2) as $type)
                    }
                }
            }

            #[inline]
            fn block(range: Range<$type>, _len: usize) -> Range<$type> {
                range
            }

            #[inline]
            fn behind(range: &Range<$type>, count: usize) -> $type {
                range.start.wrapping_add(count as $type)
            }
        }
    )*};
}

numbers!(u8 u8, u16 u16, u32 u32, u64 u64, u128 u128, usize usize);
numbers!(i8 u8, i16 u16, i32 u32, i64 u64, i128 u128, isize usize);

impl IndexedRangeItem for u8 {}
impl IndexedRangeItem for u16 {}
impl IndexedRangeItem for u32 {}
impl IndexedRangeItem for usize {}
impl IndexedRangeItem for i8 {}
impl IndexedRangeItem for i16 {}
impl IndexedRangeItem for i32 {}
impl IndexedRangeItem for isize {}
impl IndexedRangeItem for char {}

/// The surrogates, which are not characters.
const SURROGATES: Range<u32> = 0xD800..0xE000;

/// The number of characters before `c`.
fn rank(c: char) -> u32 {
    let c = u32::from(c);
    if c < SURROGATES.end { c } else { c - (SURROGATES.end - SURROGATES.start) }
}

/// The character with `rank` others before it.
#[inline]
fn ranked(rank: u32) -> char {
    let gap = SURROGATES.end - SURROGATES.start;
    let c = if rank < SURROGATES.start { rank } else { rank + gap };
    match char::from_u32(c) {
        Some(c) => c,
        None => unreachable!("each rank is that of a character"),
    }
}

impl RangeItem for char {
    type Block = Chars;

    fn len(range: &Range<char>) -> Option<usize> {
        Some((rank(range.start)..rank(range.end)).len())
    }

    fn cut(range: &Range<char>, at: usize) -> char {
        Self::behind(range, at)
    }

    fn block(range: Range<char>, len: usize) -> Chars {
        let start = rank(range.start);
        Chars(start..start + len as u32)
    }

    fn behind(range: &Range<char>, count: usize) -> char {
        ranked(rank(range.start) + count as u32)
    }
}

/// A block of characters, by their ranks.
#[derive(Debug, Clone)]
pub struct Chars(Range<u32>);

impl Iterator for Chars {
    type Item = char;

    #[inline]
    fn next(&mut self) -> Option<char> {
        self.0.next().map(ranked)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl DoubleEndedIterator for Chars {
    #[inline]
    fn next_back(&mut self) -> Option<char> {
        self.0.next_back().map(ranked)
    }
}

impl ExactSizeIterator for Chars {}
