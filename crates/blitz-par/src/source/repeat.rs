//! One item again and again: [`repeat`], [`repeat_n`].

#![forbid(unsafe_code)]

use super::piece::Source;
use crate::indexed::zip::Zip;
use crate::iter::{IndexedParallelIterator, IntoParallelIterator};
use crate::piece::{Exact, Piece};
use std::iter;

/// Clones of an item without end: made by [`repeat`].
pub type Repeat<T> = Source<Endless<T>>;
/// A number of clones of an item: made by [`repeat_n`].
pub type RepeatN<T> = Source<Copies<T>>;

/// A piece of [`Repeat`].
#[derive(Debug, Clone)]
pub struct Endless<T>(T);

impl<T: Clone + Send> Piece for Endless<T> {
    type Item = T;
    type Block = iter::RepeatN<T>;
    const IS_MEASURED: bool = false;

    fn steps(&self) -> usize {
        usize::MAX
    }

    fn split_off(&mut self, _at: usize) -> Option<Self> {
        Some(self.clone())
    }

    fn block(&mut self, steps: usize) -> Self::Block {
        iter::repeat_n(self.0.clone(), steps)
    }
}

/// Makes a parallel iterator that repeats an item without end. Another adaptor must end the loop.
///
/// ```
/// use blitz::par::iter::repeat;
/// use blitz::prelude::*;
/// assert_eq!(repeat(2).take(3).collect::<Vec<_>>(), [2, 2, 2]);
/// ```
pub fn repeat<T: Clone + Send>(item: T) -> Repeat<T> {
    Source { piece: Endless(item) }
}

impl<T: Clone + Send> Repeat<T> {
    /// Repeats the item `n` times.
    ///
    /// ```
    /// use blitz::par::iter::repeat;
    /// use blitz::prelude::*;
    /// assert_eq!(repeat("ab").take(3).rev().collect::<String>(), "ababab");
    /// ```
    pub fn take(self, n: usize) -> RepeatN<T> {
        repeat_n(self.piece.0, n)
    }

    /// Pairs each item of `other` with the repeated item.
    ///
    /// ```
    /// use blitz::par::iter::repeat;
    /// use blitz::prelude::*;
    /// assert_eq!(repeat('a').zip(vec![1, 2]).collect::<Vec<_>>(), [('a', 1), ('a', 2)]);
    /// ```
    pub fn zip<Z>(self, other: Z) -> Zip<RepeatN<T>, Z::Iter>
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
    {
        let b = other.into_par_iter();
        Zip { a: self.take(b.len()), b }
    }
}

/// A piece of [`RepeatN`]. It has no item if the count is 0.
#[derive(Debug, Clone)]
pub struct Copies<T> {
    item: Option<T>,
    left: usize,
}

impl<T: Clone> Copies<T> {
    /// Takes the first `count` copies: the item itself stays with the last part.
    fn take_first(&mut self, count: usize) -> Self {
        self.left -= count;
        let item = if count == 0 {
            None
        } else if self.left == 0 {
            self.item.take()
        } else {
            self.item.clone()
        };
        Copies { item, left: count }
    }
}

impl<T: Clone + Send> Piece for Copies<T> {
    type Item = T;
    type Block = Copies<T>;

    fn steps(&self) -> usize {
        self.left
    }

    fn split_off(&mut self, at: usize) -> Option<Self> {
        let first = self.take_first(at);
        Some(std::mem::replace(self, first))
    }

    fn block(&mut self, steps: usize) -> Self::Block {
        self.take_first(steps)
    }

    fn exact_len(&self) -> Option<usize> {
        Some(self.left)
    }
}

impl<T: Clone + Send> Exact for Copies<T> {}

impl<T: Clone> Iterator for Copies<T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        if self.left == 0 { self.item.take() } else { self.item.clone() }
    }

    fn nth(&mut self, n: usize) -> Option<T> {
        if n >= self.left {
            self.left = 0;
            self.item = None;
        } else {
            self.left -= n;
        }
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T: Clone> DoubleEndedIterator for Copies<T> {
    fn next_back(&mut self) -> Option<T> {
        self.next()
    }

    fn nth_back(&mut self, n: usize) -> Option<T> {
        self.nth(n)
    }
}

impl<T: Clone> ExactSizeIterator for Copies<T> {}

/// Makes a parallel iterator that repeats an item `n` times. The last one is the item itself.
///
/// ```
/// use blitz::par::iter::repeat_n;
/// use blitz::prelude::*;
/// assert_eq!(repeat_n("ab", 3).collect::<String>(), "ababab");
/// ```
pub fn repeat_n<T: Clone + Send>(item: T, n: usize) -> RepeatN<T> {
    Source { piece: Copies { item: (n > 0).then_some(item), left: n } }
}

/// Does the same as [`repeat_n`], under its old name.
#[deprecated(note = "use `repeat_n`")]
pub fn repeatn<T: Clone + Send>(item: T, n: usize) -> RepeatN<T> {
    repeat_n(item, n)
}
