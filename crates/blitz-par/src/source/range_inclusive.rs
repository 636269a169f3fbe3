//! Inclusive ranges of numbers and of characters: `a..=b`.

#![forbid(unsafe_code)]

use super::piece::Source;
use super::range::{RangeItem, Span};
use crate::iter::IntoParallelIterator;
use crate::piece::{Counted, Exact, Piece};
use std::ops::RangeInclusive;
use std::{iter, option};

/// The items of a range `a..=b`. It is indexed if its length always fits a `usize`.
pub type Iter<T> = Source<SpanInclusive<T>>;

/// A piece of [`Iter`].
#[derive(Debug, Clone)]
pub struct SpanInclusive<T> {
    span: Span<T>,
    /// The greatest value of its type, if the range ends with it: no exclusive range contains it.
    last: Option<T>,
}

/// A type with a next value for each value but the last.
pub trait Successor: RangeItem {
    /// The next value.
    fn successor(self) -> Option<Self>;
}

macro_rules! successor {
    ($($type:ident)*) => {$(
        impl Successor for $type {
            fn successor(self) -> Option<Self> {
                self.checked_add(1)
            }
        }
    )*};
}

successor!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

impl Successor for char {
    fn successor(self) -> Option<Self> {
        (self..=char::MAX).nth(1)
    }
}

impl<T: Successor> IntoParallelIterator for RangeInclusive<T> {
    type Item = T;
    type Iter = Iter<T>;

    fn into_par_iter(self) -> Iter<T> {
        let (start, end) = (*self.start(), *self.end());
        let (span, last) = match end.successor() {
            _ if self.is_empty() => (start..start, None),
            Some(behind) => (start..behind, None),
            None => (start..end, Some(end)),
        };
        Source { piece: SpanInclusive { span: Span(span), last } }
    }
}

impl<T: Successor> Piece for SpanInclusive<T> {
    type Item = T;
    type Block = Counted<iter::Chain<T::Block, option::IntoIter<T>>>;

    fn steps(&self) -> usize {
        self.span.steps().saturating_add(usize::from(self.last.is_some()))
    }

    fn split_off(&mut self, at: usize) -> Option<Self> {
        let whole = at > self.span.steps();
        let span = self.span.split_off(at.min(self.span.steps()))?;
        let last = if whole { None } else { self.last.take() };
        Some(SpanInclusive { span, last })
    }

    #[inline]
    fn block(&mut self, steps: usize) -> Self::Block {
        let first = steps.min(self.span.steps());
        let last = if steps > first { self.last.take() } else { None };
        Counted::new(self.span.block(first).chain(last), steps)
    }

    fn exact_len(&self) -> Option<usize> {
        self.span.exact_len()?.checked_add(usize::from(self.last.is_some()))
    }
}

impl Exact for SpanInclusive<u8> {}
impl Exact for SpanInclusive<u16> {}
impl Exact for SpanInclusive<i8> {}
impl Exact for SpanInclusive<i16> {}
impl Exact for SpanInclusive<char> {}
