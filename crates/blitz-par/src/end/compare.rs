//! Comparisons of two iterators.

use crate::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use std::cmp::Ordering;

/// Compares two iterators. The first pair that is not equal decides, or else the lengths.
#[track_caller]
pub(crate) fn partial_cmp<A, B>(a: A, b: B) -> Option<Ordering>
where
    A: IndexedParallelIterator<Item: PartialOrd<B::Item>>,
    B: IntoParallelIterator<Iter: IndexedParallelIterator>,
{
    let b = b.into_par_iter();
    let by_length = a.len().cmp(&b.len());
    let unequal = |pair: (A::Item, B::Item)| match pair.0.partial_cmp(&pair.1) {
        Some(Ordering::Equal) => None,
        found => Some(found),
    };
    a.zip(b).find_map_first(unequal).unwrap_or(Some(by_length))
}

/// Compares like `partial_cmp`, for items that can always be compared.
#[track_caller]
pub(crate) fn cmp<A, B>(a: A, b: B) -> Ordering
where
    A: IndexedParallelIterator<Item: Ord>,
    B: IntoParallelIterator<Item = A::Item, Iter: IndexedParallelIterator>,
{
    let b = b.into_par_iter();
    let by_length = a.len().cmp(&b.len());
    let unequal = |pair: (A::Item, A::Item)| match pair.0.cmp(&pair.1) {
        Ordering::Equal => None,
        found => Some(found),
    };
    a.zip(b).find_map_first(unequal).unwrap_or(by_length)
}

/// Whether all pairs are equal, and the lengths are equal, too.
#[track_caller]
pub(crate) fn eq<A, B>(a: A, b: B) -> bool
where
    A: IndexedParallelIterator<Item: PartialEq<B::Item>>,
    B: IntoParallelIterator<Iter: IndexedParallelIterator>,
{
    let b = b.into_par_iter();
    a.len() == b.len() && a.zip(b).all(|(a, b)| a == b)
}

/// Returns the first or the second value. Drops the other one first, so that nothing is lost if its
/// drop panics.
pub(crate) fn one_of<T>(first: bool, a: T, b: T) -> T {
    let (one, other) = if first { (a, b) } else { (b, a) };
    drop(other);
    one
}
