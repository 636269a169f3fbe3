//! Items of two kinds: [`Either`], as items, as collections and as iterators.

#![forbid(unsafe_code)]

use super::unzip::{Divide, collect_both, extend_both};
use crate::iter::{FromParallelIterator, IntoParallelIterator};
use crate::iter::{IndexedParallelIterator, ParallelExtend, ParallelIterator};
use crate::piece::{Exact, Piece};
use crate::plan::{Limits, Turn};
use crate::reducer::{Reducer, Run};
use either::Either;

/// Puts left items into the first collection, and right items into the second.
pub(crate) struct BySide<F>(pub(crate) F);

impl<T, L: Send, R: Send, F: Fn(T) -> Either<L, R> + Sync + Send> Divide<T> for BySide<F> {
    type A = L;
    type B = R;
    const TO_BOTH: bool = false;

    fn divide(&self, item: T, a: &mut Vec<L>, b: &mut Vec<R>) {
        match (self.0)(item) {
            Either::Left(item) => a.push(item),
            Either::Right(item) => b.push(item),
        }
    }
}

impl<L, R, A, B> FromParallelIterator<Either<L, R>> for (A, B)
where
    L: Send,
    R: Send,
    A: FromParallelIterator<L> + Send,
    B: FromParallelIterator<R> + Send,
{
    fn from_par_iter<I: IntoParallelIterator<Item = Either<L, R>>>(iter: I) -> Self {
        collect_both(iter.into_par_iter(), BySide(|item| item))
    }
}

impl<L, R, A, B> ParallelExtend<Either<L, R>> for (A, B)
where
    L: Send,
    R: Send,
    A: ParallelExtend<L> + Send,
    B: ParallelExtend<R> + Send,
{
    fn par_extend<I: IntoParallelIterator<Item = Either<L, R>>>(&mut self, iter: I) {
        extend_both(iter.into_par_iter(), BySide(|item| item), &mut self.0, &mut self.1);
    }
}

impl<L, R, T> ParallelExtend<T> for Either<L, R>
where
    L: ParallelExtend<T>,
    R: ParallelExtend<T>,
    T: Send,
{
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, iter: I) {
        match self {
            Either::Left(collection) => collection.par_extend(iter),
            Either::Right(collection) => collection.par_extend(iter),
        }
    }
}

impl<L, R> ParallelIterator for Either<L, R>
where
    L: ParallelIterator,
    R: ParallelIterator<Item = L::Item>,
{
    type Item = L::Item;

    drive!(|self, turn, next, acc| {
        match self {
            Either::Left(iter) => iter.drive(turn, next, acc),
            Either::Right(iter) => iter.drive(turn, next, acc),
        }
    });

    fn exact_len(&self) -> Option<usize> {
        self.as_ref().either(L::exact_len, R::exact_len)
    }

    fn opt_len(&self) -> Option<usize> {
        self.as_ref().either(L::opt_len, R::opt_len)
    }
}

impl<L, R> IndexedParallelIterator for Either<L, R>
where
    L: IndexedParallelIterator,
    R: IndexedParallelIterator<Item = L::Item>,
{
    type Piece<'p>
        = EitherPiece<L::Piece<'p>, R::Piece<'p>>
    where
        Self: 'p;

    fn len(&self) -> usize {
        self.as_ref().either(L::len, R::len)
    }

    fn piece(&mut self) -> Self::Piece<'_> {
        EitherPiece(self.as_mut().map_either(L::piece, R::piece))
    }

    fn tune(&self, limits: &mut Limits) {
        match self {
            Either::Left(iter) => iter.tune(limits),
            Either::Right(iter) => iter.tune(limits),
        }
    }
}

/// A piece of either of two iterators.
#[derive(Debug)]
pub struct EitherPiece<L, R>(Either<L, R>);

impl<L: Piece, R: Piece<Item = L::Item>> Piece for EitherPiece<L, R> {
    type Item = L::Item;
    type Block = Either<L::Block, R::Block>;

    fn steps(&self) -> usize {
        self.0.as_ref().either(L::steps, R::steps)
    }

    fn split_off(&mut self, at: usize) -> Option<Self> {
        Some(EitherPiece(match &mut self.0 {
            Either::Left(piece) => Either::Left(piece.split_off(at)?),
            Either::Right(piece) => Either::Right(piece.split_off(at)?),
        }))
    }

    fn block(&mut self, steps: usize) -> Self::Block {
        self.0.as_mut().map_either(|piece| piece.block(steps), |piece| piece.block(steps))
    }

    fn exact_len(&self) -> Option<usize> {
        self.0.as_ref().either(L::exact_len, R::exact_len)
    }
}

impl<L: Exact, R: Exact<Item = L::Item>> Exact for EitherPiece<L, R> {}
