//! `fold` with functions that may end their part of the loop: `try_fold`, `try_fold_with`.

use super::seeds::{Init, Seeds};
use crate::iter::ParallelIterator;
use crate::place::Place;
use crate::plan::Turn;
use crate::reducer::{Layer, Reducer, Run};
use crate::run::through;
use crate::tried::Try;
use std::iter::once;
use std::marker::PhantomData;
use std::ops::ControlFlow;

adaptor! {
    /// Folds the items of each part of the loop until the function ends that part: made by
    /// [`try_fold`](ParallelIterator::try_fold).
    TryFold<I; R, G, F> { base } { identity: G, f: F, result: PhantomData<fn() -> R> }
}

adaptor! {
    /// Folds the items of each part of the loop, beginning with a clone of a value, until the
    /// function ends that part: made by [`try_fold_with`](ParallelIterator::try_fold_with).
    TryFoldWith<I; R, S, F> { base } { seed: S, f: F, result: PhantomData<fn() -> R> }
}

struct TryFoldLayer<'l, R, G, F, N> {
    identity: G,
    f: &'l F,
    next: &'l N,
    result: PhantomData<fn() -> R>,
}

impl<T, R, G, F, N> Layer<T> for TryFoldLayer<'_, R, G, F, N>
where
    R: Try,
    G: Init<Value = R::Output>,
    F: Fn(R::Output, T) -> R + Sync,
    N: Reducer<R>,
{
    type To = R;
    stateful!(identity, ControlFlow<R::Residual, R::Output>);

    fn wrap(&self, acc: N::Acc) -> Self::Acc {
        let (spare, own) = self.identity.start();
        (spare, ControlFlow::Continue(own), acc)
    }

    fn unwrap(&self, (spare, own, acc): Self::Acc, turn: &Turn<'_>) -> N::Acc {
        let acc = self.next.fold(acc, turn, once(R::of(own)));
        self.identity.end(spare);
        acc
    }

    fn fold<B: Iterator<Item = T>>(
        &self,
        (spare, own, acc): Self::Acc,
        _: &Turn<'_>,
        mut block: B,
    ) -> Self::Acc {
        let own = match own {
            ControlFlow::Continue(own) => {
                block.try_fold(own, |own, item| (self.f)(own, item).branch())
            }
            over => over,
        };
        drop(block);
        (spare, own, acc)
    }

    fn is_done(&self, acc: &Self::Acc, place: &Place) -> bool {
        matches!(acc.1, ControlFlow::Break(_)) || self.next.is_done(&acc.2, place)
    }
}

impl<I, R, G, F> ParallelIterator for TryFold<I, R, G, F>
where
    I: ParallelIterator,
    R: Try + Send,
    G: Fn() -> R::Output + Sync + Send,
    F: Fn(R::Output, I::Item) -> R + Sync + Send,
{
    type Item = R;

    drive_layer!(|self, next| TryFoldLayer {
        identity: &self.identity,
        f: &self.f,
        next,
        result: PhantomData,
    });
}

impl<I, R, S, F> ParallelIterator for TryFoldWith<I, R, S, F>
where
    I: ParallelIterator,
    R: Try<Output = S> + Send,
    S: Clone + Send,
    F: Fn(S, I::Item) -> R + Sync + Send,
{
    type Item = R;

    drive!(|self, turn, next, acc| {
        let (seeds, result) = (Seeds::new(self.seed), PhantomData);
        let layer = TryFoldLayer { identity: &seeds, f: &self.f, next, result };
        let out = through(self.base, layer, turn, acc);
        drop(seeds);
        out
    });
}
