//! Several items as one: `chunks`, `fold_chunks`, `fold_chunks_with`.

use crate::iter::{IndexedParallelIterator, ParallelIterator};
use crate::piece::{Exact, Piece};
use crate::plan::{Limits, Turn};
use crate::reducer::{Reducer, Run};
use crate::run::begin;

adaptor! {
    /// Items in vectors of the same length: made by [`chunks`](IndexedParallelIterator::chunks).
    Chunks<I> { base } { size: usize }
}

adaptor! {
    /// The folds of a fixed number of items each: made by
    /// [`fold_chunks`](IndexedParallelIterator::fold_chunks).
    FoldChunks<I; G, F> { base } { size: usize, identity: G, f: F }
}

adaptor! {
    /// The folds of a fixed number of items each, beginning with a clone of a value: made by
    /// [`fold_chunks_with`](IndexedParallelIterator::fold_chunks_with).
    FoldChunksWith<I; S, F> { base } { size: usize, seed: S, f: F }
}

/// How the items of a chunk are combined.
pub trait Group<T>: Clone + Send {
    /// The result for a chunk.
    type Out;
    /// Combines the items of a chunk.
    fn group(&self, items: impl Iterator<Item = T>) -> Self::Out;
}

/// Collects the items of a chunk.
#[derive(Debug, Clone, Copy)]
pub struct IntoVec;

impl<T> Group<T> for IntoVec {
    type Out = Vec<T>;

    fn group(&self, items: impl Iterator<Item = T>) -> Vec<T> {
        items.collect()
    }
}

/// Folds the items of a chunk, starting with a function's result.
#[derive(Debug)]
pub struct ByFold<'p, G, F>(&'p G, &'p F);

impl<G, F> Clone for ByFold<'_, G, F> {
    fn clone(&self) -> Self {
        ByFold(self.0, self.1)
    }
}

impl<T, S, G, F> Group<T> for ByFold<'_, G, F>
where
    G: Fn() -> S + Sync,
    F: Fn(S, T) -> S + Sync,
{
    type Out = S;

    fn group(&self, items: impl Iterator<Item = T>) -> S {
        items.fold((self.0)(), self.1)
    }
}

/// Folds the items of a chunk, starting with a clone of a value.
///
/// Each piece has its own copy to clone from, so the value need not be `Sync`.
#[derive(Debug)]
pub struct ByFoldWith<'p, S, F>(S, &'p F);

impl<S: Clone, F> Clone for ByFoldWith<'_, S, F> {
    fn clone(&self) -> Self {
        ByFoldWith(self.0.clone(), self.1)
    }
}

impl<T, S, F> Group<T> for ByFoldWith<'_, S, F>
where
    S: Clone + Send,
    F: Fn(S, T) -> S + Sync,
{
    type Out = S;

    fn group(&self, items: impl Iterator<Item = T>) -> S {
        items.fold(self.0.clone(), self.1)
    }
}

macro_rules! grouped {
    ($name:ident [$($params:ident),*] $item:ty, [$($generics:ident),*] where [$($bounds:tt)*],
     $group:ty, |$self:ident| $make:expr) => {
        impl<I: IndexedParallelIterator, $($params),*> ParallelIterator for $name<I, $($generics),*>
        where
            $($bounds)*
        {
            type Item = $item;

            drive_piece!();
        }

        impl<I: IndexedParallelIterator, $($params),*> IndexedParallelIterator
            for $name<I, $($generics),*>
        where
            $($bounds)*
        {
            type Piece<'p>
                = Grouped<I::Piece<'p>, $group>
            where
                Self: 'p;

            fn len(&self) -> usize {
                self.base.len().div_ceil(self.size)
            }

            fn piece(&mut $self) -> Self::Piece<'_> {
                Grouped { base: $self.base.piece(), size: $self.size, group: $make }
            }

            fn tune(&self, limits: &mut Limits) {
                self.base.tune(limits);
            }
        }
    };
}

grouped!(Chunks[] Vec<I::Item>, [] where [], IntoVec, |self| IntoVec);
grouped!(FoldChunks[S, G, F] S, [G, F]
    where [S: Send, G: Fn() -> S + Sync + Send, F: Fn(S, I::Item) -> S + Sync + Send,],
    ByFold<'p, G, F>, |self| ByFold(&self.identity, &self.f));
grouped!(FoldChunksWith[S, F] S, [S, F]
    where [S: Clone + Send, F: Fn(S, I::Item) -> S + Sync + Send,],
    ByFoldWith<'p, S, F>, |self| ByFoldWith(self.seed.clone(), &self.f));

/// A piece of iterators over chunks, or a block of such a piece.
#[derive(Debug)]
pub struct Grouped<P, G> {
    base: P,
    size: usize,
    group: G,
}

impl<P: Exact, G: Clone> Grouped<P, G> {
    /// How many items of the base belong to `steps` steps.
    fn below(&self, steps: usize) -> usize {
        steps.saturating_mul(self.size).min(self.base.steps())
    }

    fn cut_below(&mut self, at: usize) -> Self {
        let base = self.base.cut(self.below(at));
        Grouped { base, size: self.size, group: self.group.clone() }
    }
}

impl<P: Exact, G: Group<P::Item>> Piece for Grouped<P, G> {
    type Item = G::Out;
    type Block = Grouped<P, G>;

    fn steps(&self) -> usize {
        self.base.steps().div_ceil(self.size)
    }

    fn split_off(&mut self, at: usize) -> Option<Self> {
        Some(self.cut_below(at))
    }

    fn block(&mut self, steps: usize) -> Self::Block {
        let rest = self.cut_below(steps);
        std::mem::replace(self, rest)
    }

    fn exact_len(&self) -> Option<usize> {
        Some(self.steps())
    }
}

impl<P: Exact, G: Group<P::Item>> Exact for Grouped<P, G> {}

impl<P: Exact, G: Group<P::Item>> Iterator for Grouped<P, G> {
    type Item = G::Out;

    fn next(&mut self) -> Option<G::Out> {
        let size = self.size.min(self.base.steps());
        (size > 0).then(|| self.group.group(self.base.block(size)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.steps(), Some(self.steps()))
    }
}

impl<P: Exact, G: Group<P::Item>> DoubleEndedIterator for Grouped<P, G> {
    fn next_back(&mut self) -> Option<G::Out> {
        let size = match self.base.steps() % self.size {
            0 => self.size.min(self.base.steps()),
            rest => rest,
        };
        (size > 0).then(|| self.group.group(self.base.block_back(size)))
    }
}

impl<P: Exact, G: Group<P::Item>> ExactSizeIterator for Grouped<P, G> {}
