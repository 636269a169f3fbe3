//! One value of all items: `for_each`, `count`, `reduce`, `reduce_with`, `sum`, `product`.

use crate::place::Place;
use crate::plan::Turn;
use crate::reducer::Reducer;
use std::iter::{Product, Sum, empty};
use std::marker::PhantomData;

/// A reducer whose state and result are the same.
macro_rules! simple {
    (
        $(#[$doc:meta])* $name:ident<$($F:ident),*> [$($params:tt)*] for $item:ty, $state:ty
        where [$($bounds:tt)*],
        start |$this:ident| $start:expr,
        fold |$acc:ident, $block:ident| $fold:expr,
        merge |$left:ident, $right:ident| $merge:expr
    ) => {
        impl<$($params)*> Reducer<$item> for $name<$($F),*>
        where
            $($bounds)*
        {
            type Acc = $state;
            type Out = $state;

            #[inline]
            fn start(&self, _: &Place) -> $state {
                let $this = self;
                $start
            }

            #[inline]
            fn fold<Block: Iterator<Item = $item>>(
                &self,
                $acc: $state,
                _: &Turn<'_>,
                #[allow(unused_mut)] mut $block: Block,
            ) -> $state {
                let $this = self;
                $fold
            }

            #[inline]
            fn finish(&self, acc: $state, _: &Turn<'_>) -> $state {
                acc
            }

            #[inline]
            fn merge(&self, $left: $state, $right: $state) -> $state {
                let $this = self;
                $merge
            }
        }
    };
}

/// Calls a function with each item.
pub(crate) struct ForEach<F>(pub(crate) F);

simple! {
    ForEach<F> [T, F] for T, () where [F: Fn(T) + Sync],
    start |_this| (),
    fold |_acc, block| block.for_each(&_this.0),
    merge |_left, _right| ()
}

/// Counts the items.
pub(crate) struct Count;

simple! {
    Count<> [T] for T, usize where [],
    start |_this| 0,
    fold |acc, block| acc + block.count(),
    merge |left, right| left + right
}

/// Reduces the items, beginning with an identity.
pub(crate) struct Reduce<G, F> {
    pub(crate) identity: G,
    pub(crate) f: F,
}

simple! {
    Reduce<G, F> [T, G, F] for T, T
    where [T: Send, G: Fn() -> T + Sync, F: Fn(T, T) -> T + Sync],
    start |this| (this.identity)(),
    fold |acc, block| block.fold(acc, &this.f),
    merge |left, right| (this.f)(left, right)
}

/// Reduces the items, if there are any.
pub(crate) struct ReduceWith<F>(pub(crate) F);

simple! {
    ReduceWith<F> [T, F] for T, Option<T> where [T: Send, F: Fn(T, T) -> T + Sync],
    start |_this| None,
    fold |acc, block| acc.or_else(|| block.next()).map(|first| block.fold(first, &_this.0)),
    merge |left, right| match (left, right) {
        (Some(left), Some(right)) => Some((_this.0)(left, right)),
        (left, right) => left.or(right),
    }
}

/// Adds the items up.
pub(crate) struct Sums<S>(pub(crate) PhantomData<fn() -> S>);

simple! {
    Sums<S> [T, S] for T, S where [S: Sum<T> + Sum<S> + Send],
    start |_this| empty::<T>().sum(),
    fold |acc, block| [acc, block.sum()].into_iter().sum(),
    merge |left, right| [left, right].into_iter().sum()
}

/// Multiplies the items.
pub(crate) struct Products<S>(pub(crate) PhantomData<fn() -> S>);

simple! {
    Products<S> [T, S] for T, S where [S: Product<T> + Product<S> + Send],
    start |_this| empty::<T>().product(),
    fold |acc, block| [acc, block.product()].into_iter().product(),
    merge |left, right| [left, right].into_iter().product()
}
