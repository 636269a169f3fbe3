//! One item for each part of a loop: `fold`, `fold_with`.

use super::seeds::{Init, Seeds};
use crate::iter::ParallelIterator;
use crate::plan::Turn;
use crate::reducer::{Layer, Reducer, Run};
use crate::run::through;
use std::iter::once;

adaptor! {
    /// Folds the items of each part of the loop: made by [`fold`](ParallelIterator::fold).
    Fold<I; G, F> { base } { identity: G, f: F }
}

adaptor! {
    /// Folds the items of each part of the loop, beginning with a clone of a value: made by
    /// [`fold_with`](ParallelIterator::fold_with).
    FoldWith<I; S, F> { base } { seed: S, f: F }
}

struct FoldLayer<'l, G, F, N> {
    identity: G,
    f: &'l F,
    next: &'l N,
}

impl<T, G, F, N> Layer<T> for FoldLayer<'_, G, F, N>
where
    G: Init,
    F: Fn(G::Value, T) -> G::Value + Sync,
    N: Reducer<G::Value>,
{
    type To = G::Value;
    stateful!(identity, G::Value);

    fn wrap(&self, acc: N::Acc) -> Self::Acc {
        let (spare, own) = self.identity.start();
        (spare, own, acc)
    }

    fn unwrap(&self, (spare, own, acc): Self::Acc, turn: &Turn<'_>) -> N::Acc {
        let acc = self.next.fold(acc, turn, once(own));
        self.identity.end(spare);
        acc
    }

    #[inline]
    fn fold<B: Iterator<Item = T>>(
        &self,
        (spare, own, acc): Self::Acc,
        _: &Turn<'_>,
        block: B,
    ) -> Self::Acc {
        (spare, block.fold(own, self.f), acc)
    }
}

impl<I, S, G, F> ParallelIterator for Fold<I, G, F>
where
    I: ParallelIterator,
    S: Send,
    G: Fn() -> S + Sync + Send,
    F: Fn(S, I::Item) -> S + Sync + Send,
{
    type Item = S;

    drive_layer!(|self, next| FoldLayer { identity: &self.identity, f: &self.f, next });
}

impl<I, S, F> ParallelIterator for FoldWith<I, S, F>
where
    I: ParallelIterator,
    S: Clone + Send,
    F: Fn(S, I::Item) -> S + Sync + Send,
{
    type Item = S;

    drive!(|self, turn, next, acc| {
        let seeds = Seeds::new(self.seed);
        let layer = FoldLayer { identity: &seeds, f: &self.f, next };
        let out = through(self.base, layer, turn, acc);
        drop(seeds);
        out
    });
}
