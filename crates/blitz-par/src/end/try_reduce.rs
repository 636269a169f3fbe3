//! One value of all items, unless an item ends the loop: `try_reduce`, `try_reduce_with`,
//! `try_for_each`.

use crate::place::Place;
use crate::plan::Turn;
use crate::reducer::Reducer;
use crate::tried::Try;
use blitz_parts::prim::{AtomicBool, Relaxed};
use std::ops::ControlFlow::{self, Break, Continue};

/// The result of a part so far, in the terms of [`Try`].
type Flow<T> = ControlFlow<<T as Try>::Residual, <T as Try>::Output>;

/// Reduces the items, beginning with an identity, until an item or `f` ends the loop. Then all
/// parts end.
pub(crate) struct TryReduce<G, F> {
    identity: G,
    f: F,
    is_over: AtomicBool,
}

impl<G, F> TryReduce<G, F> {
    pub(crate) fn new(identity: G, f: F) -> TryReduce<G, F> {
        TryReduce { identity, f, is_over: AtomicBool::new(false) }
    }
}

/// Reduces `acc` and one more item.
fn step<T: Try>(f: impl Fn(T::Output, T::Output) -> T, acc: T::Output, item: T) -> Flow<T> {
    match item.branch() {
        Continue(value) => f(acc, value).branch(),
        over => over,
    }
}

/// Merges two parts. If one of them has ended the loop, it wins; if both have, the left one wins.
/// If the merge itself ends the loop, notes it in `is_over`.
fn both<T: Try>(
    f: impl Fn(T::Output, T::Output) -> T,
    is_over: &AtomicBool,
    left: T,
    right: T,
) -> T {
    match (left.branch(), right.branch()) {
        (Continue(left), Continue(right)) => {
            let merged = f(left, right).branch();
            if merged.is_break() {
                is_over.store(true, Relaxed);
            }
            T::of(merged)
        }
        (over @ Break(_), other) | (other, over) => {
            drop(other);
            T::of(over)
        }
    }
}

impl<T, G, F> Reducer<T> for TryReduce<G, F>
where
    T: Try + Send,
    G: Fn() -> T::Output + Sync,
    F: Fn(T::Output, T::Output) -> T + Sync,
{
    type Acc = Flow<T>;
    type Out = T;

    fn start(&self, _: &Place) -> Self::Acc {
        Continue((self.identity)())
    }

    fn fold<B: Iterator<Item = T>>(&self, acc: Self::Acc, _: &Turn<'_>, mut block: B) -> Self::Acc {
        let acc = match acc {
            Continue(acc) => block.try_fold(acc, |acc, item| step(&self.f, acc, item)),
            over => over,
        };
        drop(block);
        if acc.is_break() {
            self.is_over.store(true, Relaxed);
        }
        acc
    }

    fn finish(&self, acc: Self::Acc, _: &Turn<'_>) -> T {
        T::of(acc)
    }

    fn merge(&self, left: T, right: T) -> T {
        both(&self.f, &self.is_over, left, right)
    }

    fn is_done(&self, _: &Self::Acc, place: &Place) -> bool {
        self.is_over(place)
    }

    fn is_over(&self, _: &Place) -> bool {
        self.is_over.load(Relaxed)
    }
}

/// Reduces the items, if there are any, until an item or `f` ends the loop. Then all parts end.
pub(crate) struct TryReduceWith<F> {
    f: F,
    is_over: AtomicBool,
}

impl<F> TryReduceWith<F> {
    pub(crate) fn new(f: F) -> TryReduceWith<F> {
        TryReduceWith { f, is_over: AtomicBool::new(false) }
    }
}

impl<T, F> Reducer<T> for TryReduceWith<F>
where
    T: Try + Send,
    F: Fn(T::Output, T::Output) -> T + Sync,
{
    type Acc = Option<Flow<T>>;
    type Out = Option<T>;

    fn start(&self, _: &Place) -> Self::Acc {
        None
    }

    fn fold<B: Iterator<Item = T>>(&self, acc: Self::Acc, _: &Turn<'_>, mut block: B) -> Self::Acc {
        let acc = match acc.or_else(|| block.next().map(T::branch))? {
            Continue(first) => block.try_fold(first, |acc, item| step(&self.f, acc, item)),
            over => over,
        };
        drop(block);
        if acc.is_break() {
            self.is_over.store(true, Relaxed);
        }
        Some(acc)
    }

    fn finish(&self, acc: Self::Acc, _: &Turn<'_>) -> Option<T> {
        acc.map(T::of)
    }

    fn merge(&self, left: Option<T>, right: Option<T>) -> Option<T> {
        match (left, right) {
            (Some(left), Some(right)) => Some(both(&self.f, &self.is_over, left, right)),
            (left, right) => left.or(right),
        }
    }

    fn is_done(&self, _: &Self::Acc, place: &Place) -> bool {
        self.is_over(place)
    }

    fn is_over(&self, _: &Place) -> bool {
        self.is_over.load(Relaxed)
    }
}
