//! Functions with a value per part of the loop: `map_with`, `map_init`.
//!
//! The value lasts as long as its part of the loop, or for one block if an indexed adaptor follows.
//! It need not be `Send` if a function makes it on the thread that uses it.

use super::seeds::{Init, Seeds};
use crate::iter::{IndexedParallelIterator, ParallelIterator};
use crate::piece::{Exact, Piece};
use crate::plan::{Limits, Turn};
use crate::reducer::{Layer, Reducer, Run};
use crate::run::through;

adaptor! {
    /// Calls a function with a clone of a value and with each item: made by
    /// [`map_with`](ParallelIterator::map_with).
    MapWith<I; S, F> { base } { seed: S, f: F }
}

adaptor! {
    /// Calls a function with a value that is made for each part of the loop, and with each item:
    /// made by [`map_init`](ParallelIterator::map_init).
    MapInit<I; G, F> { base } { init: G, f: F }
}

struct WithLayer<'l, G, F, N> {
    init: G,
    f: &'l F,
    next: &'l N,
}

impl<T, R, G, F, N> Layer<T> for WithLayer<'_, G, F, N>
where
    G: Init,
    F: Fn(&mut G::Value, T) -> R + Sync,
    N: Reducer<R>,
{
    type To = R;
    stateful!(init, G::Value);

    fn wrap(&self, acc: N::Acc) -> Self::Acc {
        let (spare, own) = self.init.start();
        (spare, own, acc)
    }

    fn unwrap(&self, (spare, own, acc): Self::Acc, _: &Turn<'_>) -> N::Acc {
        drop(own);
        self.init.end(spare);
        acc
    }

    #[inline]
    fn fold<B: Iterator<Item = T>>(
        &self,
        (spare, mut own, acc): Self::Acc,
        turn: &Turn<'_>,
        block: B,
    ) -> Self::Acc {
        let acc = self.next.fold(acc, turn, block.map(|item| (self.f)(&mut own, item)));
        (spare, own, acc)
    }
}

impl<I, S, R, F> ParallelIterator for MapWith<I, S, F>
where
    I: ParallelIterator,
    S: Clone + Send,
    R: Send,
    F: Fn(&mut S, I::Item) -> R + Sync + Send,
{
    type Item = R;

    drive!(|self, turn, next, acc| {
        let seeds = Seeds::new(self.seed);
        let layer = WithLayer { init: &seeds, f: &self.f, next };
        let out = through(self.base, layer, turn, acc);
        drop(seeds);
        out
    });

    as_many!();
}

impl<I, S, R, G, F> ParallelIterator for MapInit<I, G, F>
where
    I: ParallelIterator,
    R: Send,
    G: Fn() -> S + Sync + Send,
    F: Fn(&mut S, I::Item) -> R + Sync + Send,
{
    type Item = R;

    drive_layer!(|self, next| WithLayer { init: &self.init, f: &self.f, next });

    as_many!();
}

/// How the value of a block is made. If an indexed adaptor follows, a value lasts for one block
/// only.
pub trait Make: Clone + Send {
    /// The type of the value.
    type Value;
    /// Makes a value.
    fn make(&self) -> Self::Value;
}

/// Clones the value that each piece has.
#[derive(Debug, Clone)]
pub struct ByClone<S>(S);

impl<S: Clone + Send> Make for ByClone<S> {
    type Value = S;

    fn make(&self) -> S {
        self.0.clone()
    }
}

/// Calls a function.
#[derive(Debug)]
pub struct ByCall<'p, G>(&'p G);

impl<G> Clone for ByCall<'_, G> {
    fn clone(&self) -> Self {
        ByCall(self.0)
    }
}

impl<S, G: Fn() -> S + Sync> Make for ByCall<'_, G> {
    type Value = S;

    fn make(&self) -> S {
        (self.0)()
    }
}

impl<I, S, R, F> IndexedParallelIterator for MapWith<I, S, F>
where
    I: IndexedParallelIterator,
    S: Clone + Send,
    R: Send,
    F: Fn(&mut S, I::Item) -> R + Sync + Send,
{
    as_indexed!(WithPiece<'p, I::Piece<'p>, ByClone<S>, F>, |self| WithPiece {
        base: self.base.piece(),
        make: ByClone(self.seed.clone()),
        f: &self.f
    });
}

impl<I, S, R, G, F> IndexedParallelIterator for MapInit<I, G, F>
where
    I: IndexedParallelIterator,
    R: Send,
    G: Fn() -> S + Sync + Send,
    F: Fn(&mut S, I::Item) -> R + Sync + Send,
{
    as_indexed!(WithPiece<'p, I::Piece<'p>, ByCall<'p, G>, F>, |self| WithPiece {
        base: self.base.piece(),
        make: ByCall(&self.init),
        f: &self.f
    });
}

/// A piece of [`MapWith`] and of [`MapInit`].
#[derive(Debug)]
pub struct WithPiece<'p, P, M, F> {
    base: P,
    make: M,
    f: &'p F,
}

impl<'p, P, M, R, F> Piece for WithPiece<'p, P, M, F>
where
    P: Piece,
    M: Make,
    F: Fn(&mut M::Value, P::Item) -> R + Sync,
{
    type Item = R;
    type Block = WithBlock<'p, P::Block, M::Value, F>;

    fn steps(&self) -> usize {
        self.base.steps()
    }

    fn split_off(&mut self, at: usize) -> Option<Self> {
        let base = self.base.split_off(at)?;
        Some(WithPiece { base, make: self.make.clone(), f: self.f })
    }

    fn block(&mut self, steps: usize) -> Self::Block {
        WithBlock { block: self.base.block(steps), value: self.make.make(), f: self.f }
    }

    fn exact_len(&self) -> Option<usize> {
        self.base.exact_len()
    }
}

impl<P, M, R, F> Exact for WithPiece<'_, P, M, F>
where
    P: Exact,
    M: Make,
    F: Fn(&mut M::Value, P::Item) -> R + Sync,
{
}

/// A block with a value of its own.
#[derive(Debug)]
pub struct WithBlock<'p, B, S, F> {
    block: B,
    value: S,
    f: &'p F,
}

impl<B: Iterator, S, R, F: Fn(&mut S, B::Item) -> R> Iterator for WithBlock<'_, B, S, F> {
    type Item = R;

    #[inline]
    fn next(&mut self) -> Option<R> {
        let item = self.block.next()?;
        Some((self.f)(&mut self.value, item))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.block.size_hint()
    }
}

impl<B, S, R, F> DoubleEndedIterator for WithBlock<'_, B, S, F>
where
    B: DoubleEndedIterator,
    F: Fn(&mut S, B::Item) -> R,
{
    #[inline]
    fn next_back(&mut self) -> Option<R> {
        let item = self.block.next_back()?;
        Some((self.f)(&mut self.value, item))
    }
}

impl<B, S, R, F> ExactSizeIterator for WithBlock<'_, B, S, F>
where
    B: ExactSizeIterator,
    F: Fn(&mut S, B::Item) -> R,
{
}
