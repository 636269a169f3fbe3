//! Pairs: `zip`, `zip_eq`, `enumerate`.

use crate::iter::{IndexedParallelIterator, ParallelIterator};
use crate::piece::{Exact, Piece};
use crate::plan::{Limits, Turn};
use crate::reducer::{Reducer, Run};
use crate::run::begin;
use std::iter;
use std::ops::Range;

adaptor! {
    /// Pairs of items of two iterators, until the shorter one ends: made by
    /// [`zip`](IndexedParallelIterator::zip).
    Zip<A, B> { a, b } {}
}

adaptor! {
    /// Pairs of items of two iterators of the same length: made by
    /// [`zip_eq`](IndexedParallelIterator::zip_eq).
    ZipEq<A, B> { a, b } {}
}

adaptor! {
    /// Items with their indexes: made by [`enumerate`](IndexedParallelIterator::enumerate).
    Enumerate<I> { base } {}
}

macro_rules! zip {
    ($name:ident) => {
        impl<A: IndexedParallelIterator, B: IndexedParallelIterator> ParallelIterator
            for $name<A, B>
        {
            type Item = (A::Item, B::Item);

            drive_piece!();
        }

        impl<A: IndexedParallelIterator, B: IndexedParallelIterator> IndexedParallelIterator
            for $name<A, B>
        {
            type Piece<'p>
                = ZipPiece<A::Piece<'p>, B::Piece<'p>>
            where
                Self: 'p;

            fn len(&self) -> usize {
                self.a.len().min(self.b.len())
            }

            fn piece(&mut self) -> Self::Piece<'_> {
                let len = self.len();
                let (mut a, mut b) = (self.a.piece(), self.b.piece());
                // Items without a partner are dropped.
                drop(a.cut(len));
                drop(b.cut(len));
                ZipPiece { a, b }
            }

            fn tune(&self, limits: &mut Limits) {
                self.a.tune(limits);
                self.b.tune(limits);
            }
        }
    };
}

zip!(Zip);
zip!(ZipEq);

/// A piece of [`Zip`] and of [`ZipEq`].
#[derive(Debug)]
pub struct ZipPiece<A, B> {
    a: A,
    b: B,
}

impl<A: Exact, B: Exact> Piece for ZipPiece<A, B> {
    type Item = (A::Item, B::Item);
    type Block = iter::Zip<A::Block, B::Block>;

    fn steps(&self) -> usize {
        self.a.steps()
    }

    fn split_off(&mut self, at: usize) -> Option<Self> {
        Some(ZipPiece { a: self.a.cut(at), b: self.b.cut(at) })
    }

    #[inline]
    fn block(&mut self, steps: usize) -> Self::Block {
        self.a.block(steps).zip(self.b.block(steps))
    }

    fn exact_len(&self) -> Option<usize> {
        Some(self.steps())
    }
}

impl<A: Exact, B: Exact> Exact for ZipPiece<A, B> {}

impl<I: IndexedParallelIterator> ParallelIterator for Enumerate<I> {
    type Item = (usize, I::Item);

    drive_piece!();
}

impl<I: IndexedParallelIterator> IndexedParallelIterator for Enumerate<I> {
    as_indexed!(EnumeratePiece<I::Piece<'p>>, |self| EnumeratePiece {
        first: 0,
        base: self.base.piece()
    });
}

/// A piece of [`Enumerate`].
#[derive(Debug)]
pub struct EnumeratePiece<P> {
    first: usize,
    base: P,
}

impl<P: Exact> Piece for EnumeratePiece<P> {
    type Item = (usize, P::Item);
    type Block = iter::Zip<Range<usize>, P::Block>;

    fn steps(&self) -> usize {
        self.base.steps()
    }

    fn split_off(&mut self, at: usize) -> Option<Self> {
        Some(EnumeratePiece { first: self.first + at, base: self.base.cut(at) })
    }

    #[inline]
    fn block(&mut self, steps: usize) -> Self::Block {
        let first = self.first;
        self.first += steps;
        (first..self.first).zip(self.base.block(steps))
    }

    fn exact_len(&self) -> Option<usize> {
        Some(self.steps())
    }
}

impl<P: Exact> Exact for EnumeratePiece<P> {}
