//! Parallel iterators: their methods.

use super::{
    Chain, Cloned, Copied, Filter, FilterMap, FlatMap, FlatMapIter, Flatten, FlattenIter, Fold,
    FoldWith, FromParallelIterator, Inspect, Intersperse, IntoParallelIterator, Map, MapInit,
    MapWith, PanicFuse, ParallelExtend, SkipAny, SkipAnyWhile, TakeAny, TakeAnyWhile, TryFold,
    TryFoldWith, Update, WhileSome,
};
use crate::collect::either::BySide;
use crate::collect::rope::Parts;
use crate::collect::unzip::{ByTest, Pairs, extend_both};
use crate::end::compare::one_of;
use crate::end::find::Find;
use crate::end::reduce::{Count, ForEach, Products, Reduce, ReduceWith, Sums};
use crate::end::try_reduce::{TryReduce, TryReduceWith};
use crate::plan::Turn;
use crate::reducer::{Reducer, Run};
use crate::run::reduce;
use crate::tried::Try;
use either::Either;
use std::cmp::Ordering;
use std::collections::LinkedList;
use std::iter::{Product, Sum};
use std::marker::PhantomData;
use std::ops::ControlFlow::Continue;

/// A parallel iterator: a source of items, and the adaptors over it.
///
/// Nothing runs until you call a method that does not return an iterator, or
/// [`scan_inclusive`](super::IndexedParallelIterator::scan_inclusive). Then the loop runs on the
/// current pool, or on the global one. It runs block by block on the calling worker, and idle
/// workers get parts of it. A panic of a closure continues in the caller when all parts have ended.
///
/// Other crates cannot implement this trait: see [`Piece`](super::Piece) for sources of your own.
#[must_use = "parallel iterators are lazy and do nothing unless consumed"]
pub trait ParallelIterator: Sized + Send {
    /// The items.
    type Item: Send;

    /// Runs the loop. `acc` is the state of the previous part, if there is one.
    #[doc(hidden)]
    fn drive<R: Reducer<Self::Item>>(
        self,
        turn: Turn<'_>,
        reducer: &R,
        acc: Option<R::Acc>,
    ) -> Run<R::Acc, R::Out>;

    /// Returns the number of items, if it is known and the place of each item is its index.
    #[doc(hidden)]
    fn exact_len(&self) -> Option<usize> {
        None
    }

    /// Returns how many items there are, if that is known.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((0..10).into_par_iter().opt_len(), Some(10));
    /// assert_eq!((0..10).into_par_iter().filter(|n| n % 2 == 0).opt_len(), None);
    /// ```
    fn opt_len(&self) -> Option<usize> {
        self.exact_len()
    }

    /// Calls `op` with each item.
    /// ```
    /// # use blitz::prelude::*;
    /// let sum = std::sync::atomic::AtomicI32::new(0);
    /// (0..10).into_par_iter().for_each(|n| drop(sum.fetch_add(n, std::sync::atomic::Ordering::Relaxed)));
    /// assert_eq!(sum.into_inner(), 45);
    /// ```
    #[track_caller]
    fn for_each(self, op: impl Fn(Self::Item) + Sync + Send) {
        reduce(self, &ForEach(op));
    }

    /// Calls `op` with a clone of `init` and with each item. Each part of the loop has its own
    /// clone.
    /// ```
    /// # use blitz::prelude::*;
    /// let (send, receive) = std::sync::mpsc::channel();
    /// (0..5).into_par_iter().for_each_with(send, |send, n| send.send(n).unwrap());
    /// assert_eq!(receive.iter().sum::<i32>(), 10);
    /// ```
    #[track_caller]
    fn for_each_with<OP, T: Clone + Send>(self, init: T, op: OP)
    where
        OP: Fn(&mut T, Self::Item) + Sync + Send,
    {
        self.map_with(init, op).for_each(|()| ());
    }

    /// Calls `op` with a value of `init` and with each item. `init` is called once for each part of
    /// the loop, and its value need not be `Send`.
    /// ```
    /// # use blitz::prelude::*;
    /// (0..5).into_par_iter().for_each_init(|| std::rc::Rc::new(1), |one, n| assert!(n + **one > 0));
    /// ```
    #[track_caller]
    fn for_each_init<OP, INIT: Fn() -> T + Sync + Send, T>(self, init: INIT, op: OP)
    where
        OP: Fn(&mut T, Self::Item) + Sync + Send,
    {
        self.map_init(init, op).for_each(|()| ());
    }

    /// Calls `op` with each item until one call fails; returns one of the failures. Parts of the
    /// loop end soon after.
    /// ```
    /// # use blitz::prelude::*;
    /// assert!((0..10).into_par_iter().try_for_each(|n| (n < 9).then_some(())).is_none());
    /// ```
    #[track_caller]
    fn try_for_each<OP, R: Try<Output = ()> + Send>(self, op: OP) -> R
    where
        OP: Fn(Self::Item) -> R + Sync + Send,
    {
        self.map(op).try_reduce(|| (), |(), ()| R::of(Continue(())))
    }

    /// Works like [`try_for_each`](Self::try_for_each), with a clone of `init` for each part of the
    /// loop.
    /// ```
    /// # use blitz::prelude::*;
    /// let (send, receive) = std::sync::mpsc::channel();
    /// (0..5).into_par_iter().try_for_each_with(send, |send, n| send.send(n)).unwrap();
    /// assert_eq!(receive.iter().sum::<i32>(), 10);
    /// ```
    #[track_caller]
    fn try_for_each_with<OP, T: Clone + Send, R>(self, init: T, op: OP) -> R
    where
        OP: Fn(&mut T, Self::Item) -> R + Sync + Send,
        R: Try<Output = ()> + Send,
    {
        self.map_with(init, op).try_reduce(|| (), |(), ()| R::of(Continue(())))
    }

    /// Works like [`try_for_each`](Self::try_for_each), with a value of `init` for each part of the
    /// loop.
    /// ```
    /// # use blitz::prelude::*;
    /// let below = |limit: &mut i32, n: i32| (n < *limit).then_some(());
    /// assert_eq!((0..9).into_par_iter().try_for_each_init(|| 9, below), Some(()));
    /// ```
    #[track_caller]
    fn try_for_each_init<OP, INIT, T, R: Try<Output = ()> + Send>(self, init: INIT, op: OP) -> R
    where
        OP: Fn(&mut T, Self::Item) -> R + Sync + Send,
        INIT: Fn() -> T + Sync + Send,
    {
        self.map_init(init, op).try_reduce(|| (), |(), ()| R::of(Continue(())))
    }

    /// Counts the items.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((0..10).into_par_iter().filter(|n| n % 3 == 0).count(), 4);
    /// ```
    #[track_caller]
    fn count(self) -> usize {
        reduce(self, &Count)
    }

    /// Replaces each item by the result of `f`.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((0..3).into_par_iter().map(|n| 2 * n).collect::<Vec<_>>(), [0, 2, 4]);
    /// ```
    fn map<F: Fn(Self::Item) -> R + Sync + Send, R: Send>(self, f: F) -> Map<Self, F> {
        Map { base: self, f }
    }

    /// Works like [`map`](Self::map), with a clone of `init` for each part of the loop. If an
    /// indexed adaptor follows, such as `enumerate`, each block has its own clone.
    /// ```
    /// # use blitz::prelude::*;
    /// let words = ["a", "b"].par_iter().map_with(String::new(), |buffer, word| {
    ///     buffer.clear();
    ///     buffer.push_str(word);
    ///     buffer.len()
    /// });
    /// assert_eq!(words.sum::<usize>(), 2);
    /// ```
    fn map_with<F, T: Clone + Send, R: Send>(self, init: T, f: F) -> MapWith<Self, T, F>
    where
        F: Fn(&mut T, Self::Item) -> R + Sync + Send,
    {
        MapWith { base: self, seed: init, f }
    }

    /// Works like [`map`](Self::map), with a value of `init` for each part of the loop. The value
    /// need not be `Send`. If an indexed adaptor follows, such as `enumerate`, each block has its
    /// own value.
    /// ```
    /// # use blitz::prelude::*;
    /// let sums = (0..4).into_par_iter().map_init(|| std::rc::Rc::new(1), |one, n| n + **one);
    /// assert_eq!(sums.collect::<Vec<i32>>(), [1, 2, 3, 4]);
    /// ```
    fn map_init<F, INIT, T, R: Send>(self, init: INIT, f: F) -> MapInit<Self, INIT, F>
    where
        F: Fn(&mut T, Self::Item) -> R + Sync + Send,
        INIT: Fn() -> T + Sync + Send,
    {
        MapInit { base: self, init, f }
    }

    /// Clones each item.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!(["a".to_owned()].par_iter().cloned().collect::<Vec<String>>(), ["a"]);
    /// ```
    fn cloned<'a, T: Clone + Send + Sync + 'a>(self) -> Cloned<Self>
    where
        Self: ParallelIterator<Item = &'a T>,
    {
        Cloned { base: self }
    }

    /// Copies each item.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!([1, 2].par_iter().copied().collect::<Vec<i32>>(), [1, 2]);
    /// ```
    fn copied<'a, T: Copy + Send + Sync + 'a>(self) -> Copied<Self>
    where
        Self: ParallelIterator<Item = &'a T>,
    {
        Copied { base: self }
    }

    /// Calls `f` with a reference to each item on its way.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((0..3).into_par_iter().inspect(|n| assert!(*n < 3)).sum::<i32>(), 3);
    /// ```
    fn inspect<F: Fn(&Self::Item) + Sync + Send>(self, f: F) -> Inspect<Self, F> {
        Inspect { base: self, f }
    }

    /// Lets `f` change each item on its way.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((0..3).into_par_iter().update(|n| *n += 1).sum::<i32>(), 6);
    /// ```
    fn update<F: Fn(&mut Self::Item) + Sync + Send>(self, f: F) -> Update<Self, F> {
        Update { base: self, f }
    }

    /// Passes on the items for which `f` returns true.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((0..9).into_par_iter().filter(|n| n % 4 == 0).collect::<Vec<_>>(), [0, 4, 8]);
    /// ```
    fn filter<F: Fn(&Self::Item) -> bool + Sync + Send>(self, f: F) -> Filter<Self, F> {
        Filter { base: self, f }
    }

    /// Passes on the results of `f` that are not `None`.
    /// ```
    /// # use blitz::prelude::*;
    /// let numbers = ["1", "x", "3"].par_iter().filter_map(|text| text.parse::<i32>().ok());
    /// assert_eq!(numbers.sum::<i32>(), 4);
    /// ```
    fn filter_map<F, R: Send>(self, f: F) -> FilterMap<Self, F>
    where
        F: Fn(Self::Item) -> Option<R> + Sync + Send,
    {
        FilterMap { base: self, f }
    }

    /// Passes on the items of the parallel iterators that `f` returns. These iterators are also cut
    /// if another worker is idle.
    /// ```
    /// # use blitz::prelude::*;
    /// let items = (1..4).into_par_iter().flat_map(|n| vec![n; n]);
    /// assert_eq!(items.collect::<Vec<_>>(), [1, 2, 2, 3, 3, 3]);
    /// ```
    fn flat_map<F, PI: IntoParallelIterator>(self, f: F) -> FlatMap<Self, F>
    where
        F: Fn(Self::Item) -> PI + Sync + Send,
    {
        FlatMap { base: self, f }
    }

    /// Passes on the items of the sequential iterators that `f` returns.
    /// ```
    /// # use blitz::prelude::*;
    /// let items = (1..4).into_par_iter().flat_map_iter(|n| std::iter::repeat(n).take(n));
    /// assert_eq!(items.collect::<Vec<_>>(), [1, 2, 2, 3, 3, 3]);
    /// ```
    fn flat_map_iter<F, SI: IntoIterator<Item: Send>>(self, f: F) -> FlatMapIter<Self, F>
    where
        F: Fn(Self::Item) -> SI + Sync + Send,
    {
        FlatMapIter { base: self, f }
    }

    /// Passes on the items of parallel iterators that are themselves items.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!(vec![vec![1], vec![2, 3]].into_par_iter().flatten().sum::<i32>(), 6);
    /// ```
    fn flatten(self) -> Flatten<Self>
    where
        Self::Item: IntoParallelIterator,
    {
        Flatten { base: self }
    }

    /// Passes on the items of sequential iterators that are themselves items.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!(vec![Some(1), None, Some(3)].into_par_iter().flatten_iter().sum::<i32>(), 4);
    /// ```
    fn flatten_iter(self) -> FlattenIter<Self>
    where
        Self::Item: IntoIterator<Item: Send>,
    {
        FlattenIter { base: self }
    }

    /// Reduces the items to one. `op` has to be associative, and `identity` has to return a neutral
    /// value: it is called any number of times.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((1..5).into_par_iter().reduce(|| 0, |a, b| a + b), 10);
    /// ```
    #[track_caller]
    fn reduce<OP, ID: Fn() -> Self::Item + Sync + Send>(self, identity: ID, op: OP) -> Self::Item
    where
        OP: Fn(Self::Item, Self::Item) -> Self::Item + Sync + Send,
    {
        reduce(self, &Reduce { identity, f: op })
    }

    /// Reduces the items to one, if there are any. `op` has to be associative.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((1..5).into_par_iter().reduce_with(|a, b| a * b), Some(24));
    /// ```
    #[track_caller]
    fn reduce_with<OP>(self, op: OP) -> Option<Self::Item>
    where
        OP: Fn(Self::Item, Self::Item) -> Self::Item + Sync + Send,
    {
        reduce(self, &ReduceWith(op))
    }

    /// Works like [`reduce`](Self::reduce), for items that may be failures and an `op` that may
    /// fail. The loop ends soon after a failure.
    /// ```
    /// # use blitz::prelude::*;
    /// let sum = [1u8, 200, 100].par_iter().map(|&n| Some(n)).try_reduce(|| 0, |a, b| a.checked_add(b));
    /// assert_eq!(sum, None);
    /// ```
    #[track_caller]
    fn try_reduce<T, OP, ID: Fn() -> T + Sync + Send>(self, identity: ID, op: OP) -> Self::Item
    where
        OP: Fn(T, T) -> Self::Item + Sync + Send,
        Self::Item: Try<Output = T>,
    {
        reduce(self, &TryReduce::new(identity, op))
    }

    /// Works like [`reduce_with`](Self::reduce_with), for items that may be failures and an `op`
    /// that may fail.
    /// ```
    /// # use blitz::prelude::*;
    /// let sum = [1u8, 2].par_iter().map(|&n| Some(n)).try_reduce_with(|a, b| a.checked_add(b));
    /// assert_eq!(sum, Some(Some(3)));
    /// ```
    #[track_caller]
    fn try_reduce_with<T, OP>(self, op: OP) -> Option<Self::Item>
    where
        OP: Fn(T, T) -> Self::Item + Sync + Send,
        Self::Item: Try<Output = T>,
    {
        reduce(self, &TryReduceWith::new(op))
    }

    /// Folds the items of each part of the loop into one. The number of parts depends on the
    /// workers, so reduce their results afterwards.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((0..10).into_par_iter().fold(|| 0, |a, b| a + b).sum::<i32>(), 45);
    /// ```
    fn fold<T: Send, ID: Fn() -> T + Sync + Send, F>(self, identity: ID, f: F) -> Fold<Self, ID, F>
    where
        F: Fn(T, Self::Item) -> T + Sync + Send,
    {
        Fold { base: self, identity, f }
    }

    /// Works like [`fold`](Self::fold), beginning with clones of `init`.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((0..10).into_par_iter().fold_with(0, |a, b| a + b).sum::<i32>(), 45);
    /// ```
    fn fold_with<F, T: Clone + Send>(self, init: T, f: F) -> FoldWith<Self, T, F>
    where
        F: Fn(T, Self::Item) -> T + Sync + Send,
    {
        FoldWith { base: self, seed: init, f }
    }

    /// Works like [`fold`](Self::fold), with a function that may fail. A failure ends only its own
    /// part of the loop.
    /// ```
    /// # use blitz::prelude::*;
    /// let parts = [1u8, 200, 100].par_iter().try_fold(|| 0u8, |a, &b| a.checked_add(b));
    /// assert_eq!(parts.try_reduce(|| 0, u8::checked_add), None);
    /// ```
    fn try_fold<T, R, ID, F>(self, identity: ID, f: F) -> TryFold<Self, R, ID, F>
    where
        F: Fn(T, Self::Item) -> R + Sync + Send,
        ID: Fn() -> T + Sync + Send,
        R: Try<Output = T> + Send,
    {
        TryFold { base: self, identity, f, result: PhantomData }
    }

    /// Works like [`try_fold`](Self::try_fold), beginning with clones of `init`.
    /// ```
    /// # use blitz::prelude::*;
    /// let parts = [1u8, 2].par_iter().try_fold_with(0u8, |a, &b| a.checked_add(b));
    /// assert_eq!(parts.try_reduce(|| 0, u8::checked_add), Some(3));
    /// ```
    fn try_fold_with<F, T: Clone + Send, R>(self, init: T, f: F) -> TryFoldWith<Self, R, T, F>
    where
        F: Fn(T, Self::Item) -> R + Sync + Send,
        R: Try<Output = T> + Send,
    {
        TryFoldWith { base: self, seed: init, f, result: PhantomData }
    }

    /// Adds the items up, in any grouping.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((0..10).into_par_iter().sum::<i32>(), 45);
    /// ```
    #[track_caller]
    fn sum<S: Sum<Self::Item> + Sum<S> + Send>(self) -> S {
        reduce(self, &Sums(PhantomData))
    }

    /// Multiplies the items, in any grouping.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((1..6).into_par_iter().product::<i32>(), 120);
    /// ```
    #[track_caller]
    fn product<P: Product<Self::Item> + Product<P> + Send>(self) -> P {
        reduce(self, &Products(PhantomData))
    }

    /// Returns the least item; of equal ones, the first.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!([3, 1, 2].par_iter().min(), Some(&1));
    /// ```
    #[track_caller]
    fn min(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        self.min_by(Ord::cmp)
    }

    /// Returns the least item by `f`; of equal ones, the first.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!([3i32, -4].par_iter().min_by(|a, b| a.abs().cmp(&b.abs())), Some(&3));
    /// ```
    #[track_caller]
    fn min_by<F>(self, f: F) -> Option<Self::Item>
    where
        F: Fn(&Self::Item, &Self::Item) -> Ordering + Sync + Send,
    {
        self.reduce_with(|a, b| one_of(f(&a, &b).is_le(), a, b))
    }

    /// Returns the item whose key is least; of equal ones, the first.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!([3i32, -4].par_iter().min_by_key(|n| n.abs()), Some(&3));
    /// ```
    #[track_caller]
    fn min_by_key<K: Ord + Send, F>(self, f: F) -> Option<Self::Item>
    where
        F: Fn(&Self::Item) -> K + Sync + Send,
    {
        let keyed = self.map(|item| (f(&item), item));
        Some(keyed.min_by(|a, b| a.0.cmp(&b.0))?.1)
    }

    /// Returns the greatest item; of equal ones, the last.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!([3, 1, 2].par_iter().max(), Some(&3));
    /// ```
    #[track_caller]
    fn max(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        self.max_by(Ord::cmp)
    }

    /// Returns the greatest item by `f`; of equal ones, the last.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!([3i32, -4].par_iter().max_by(|a, b| a.abs().cmp(&b.abs())), Some(&-4));
    /// ```
    #[track_caller]
    fn max_by<F>(self, f: F) -> Option<Self::Item>
    where
        F: Fn(&Self::Item, &Self::Item) -> Ordering + Sync + Send,
    {
        self.reduce_with(|a, b| one_of(f(&a, &b).is_gt(), a, b))
    }

    /// Returns the item whose key is greatest; of equal ones, the last.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!([3i32, -4].par_iter().max_by_key(|n| n.abs()), Some(&-4));
    /// ```
    #[track_caller]
    fn max_by_key<K: Ord + Send, F>(self, f: F) -> Option<Self::Item>
    where
        F: Fn(&Self::Item) -> K + Sync + Send,
    {
        let keyed = self.map(|item| (f(&item), item));
        Some(keyed.max_by(|a, b| a.0.cmp(&b.0))?.1)
    }

    /// Goes on with the items of another iterator.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((0..2).into_par_iter().chain(5..7).collect::<Vec<i32>>(), [0, 1, 5, 6]);
    /// ```
    fn chain<C: IntoParallelIterator<Item = Self::Item>>(self, other: C) -> Chain<Self, C::Iter> {
        Chain { a: self, b: other.into_par_iter() }
    }

    /// Returns any item for which `f` returns true. The loop ends soon after one is found.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!([1, 2, 3].par_iter().find_any(|&&n| n == 2), Some(&2));
    /// ```
    #[track_caller]
    fn find_any(self, f: impl Fn(&Self::Item) -> bool + Sync + Send) -> Option<Self::Item> {
        reduce(self, &Find::any(|item| Some(item).filter(&f)))
    }

    /// Returns the first item for which `f` returns true.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((1..100).into_par_iter().find_first(|n| n % 10 == 0), Some(10));
    /// ```
    #[track_caller]
    fn find_first(self, f: impl Fn(&Self::Item) -> bool + Sync + Send) -> Option<Self::Item> {
        reduce(self, &Find::first(|item| Some(item).filter(&f)))
    }

    /// Returns the last item for which `f` returns true.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((1..100).into_par_iter().find_last(|n| n % 10 == 0), Some(90));
    /// ```
    #[track_caller]
    fn find_last(self, f: impl Fn(&Self::Item) -> bool + Sync + Send) -> Option<Self::Item> {
        reduce(self, &Find::last(|item| Some(item).filter(&f)))
    }

    /// Returns a result of `f` that is not `None`, for any item.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!(["x", "2"].par_iter().find_map_any(|text| text.parse().ok()), Some(2));
    /// ```
    #[track_caller]
    fn find_map_any<F: Fn(Self::Item) -> Option<R> + Sync + Send, R: Send>(
        self,
        f: F,
    ) -> Option<R> {
        reduce(self, &Find::any(f))
    }

    /// Returns the first result of `f` that is not `None`.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!(["x", "2", "3"].par_iter().find_map_first(|text| text.parse().ok()), Some(2));
    /// ```
    #[track_caller]
    fn find_map_first<F: Fn(Self::Item) -> Option<R> + Sync + Send, R: Send>(
        self,
        f: F,
    ) -> Option<R> {
        reduce(self, &Find::first(f))
    }

    /// Returns the last result of `f` that is not `None`.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!(["x", "2", "3"].par_iter().find_map_last(|text| text.parse().ok()), Some(3));
    /// ```
    #[track_caller]
    fn find_map_last<F: Fn(Self::Item) -> Option<R> + Sync + Send, R: Send>(
        self,
        f: F,
    ) -> Option<R> {
        reduce(self, &Find::last(f))
    }

    /// Does the same as [`find_any`](Self::find_any).
    #[deprecated(note = "use `find_any`, `find_first` or `find_last`")]
    #[track_caller]
    fn find(self, f: impl Fn(&Self::Item) -> bool + Sync + Send) -> Option<Self::Item> {
        self.find_any(f)
    }

    /// Whether `f` returns true for at least one item. The loop ends soon after such an item.
    /// ```
    /// # use blitz::prelude::*;
    /// assert!([1, 2, 3].par_iter().any(|&n| n > 2));
    /// ```
    #[track_caller]
    fn any(self, f: impl Fn(Self::Item) -> bool + Sync + Send) -> bool {
        reduce(self, &Find::any(|item| f(item).then_some(()))).is_some()
    }

    /// Returns whether `f` is true for all items. The loop ends soon after an item for which it is
    /// not.
    /// ```
    /// # use blitz::prelude::*;
    /// assert!([1, 2, 3].par_iter().all(|&n| n > 0));
    /// ```
    #[track_caller]
    fn all(self, f: impl Fn(Self::Item) -> bool + Sync + Send) -> bool {
        !self.any(|item| !f(item))
    }

    /// Passes on the values inside the items, until an item is `None`. Then all parts of the loop
    /// end. Some parts may miss items that come before the `None`.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!([Some(1), Some(2)].into_par_iter().while_some().sum::<i32>(), 3);
    /// ```
    fn while_some<T: Send>(self) -> WhileSome<Self>
    where
        Self: ParallelIterator<Item = Option<T>>,
    {
        WhileSome { base: self }
    }

    /// Ends the loop soon after a panic. Without `panic_fuse`, other parts run to their end before
    /// the panic continues.
    /// ```
    /// # use blitz::prelude::*;
    /// let loud = || (0..9).into_par_iter().panic_fuse().for_each(|n| assert_ne!(n, 5));
    /// assert!(std::panic::catch_unwind(loud).is_err());
    /// ```
    fn panic_fuse(self) -> PanicFuse<Self> {
        PanicFuse::new(self)
    }

    /// Collects the items, in order if the collection has one. For most iterators whose length is
    /// known, the loop writes each item of a vector to its final place at once.
    /// ```
    /// # use blitz::prelude::*;
    /// let squares: Vec<i32> = (0..4).into_par_iter().map(|n| n * n).collect();
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// let all: Option<Vec<u8>> = "12x".par_chars().map(|c| c.to_digit(10).map(|n| n as u8)).collect();
    /// assert_eq!(all, None);
    /// ```
    #[track_caller]
    fn collect<C: FromParallelIterator<Self::Item>>(self) -> C {
        C::from_par_iter(self)
    }

    /// Collects the halves of pairs.
    /// ```
    /// # use blitz::prelude::*;
    /// let (numbers, letters): (Vec<_>, String) = vec![(1, 'a'), (2, 'b')].into_par_iter().unzip();
    /// assert_eq!((numbers, letters.as_str()), (vec![1, 2], "ab"));
    /// ```
    #[track_caller]
    fn unzip<A: Send, B: Send, FromA, FromB>(self) -> (FromA, FromB)
    where
        Self: ParallelIterator<Item = (A, B)>,
        FromA: Default + ParallelExtend<A> + Send,
        FromB: Default + ParallelExtend<B> + Send,
    {
        let mut both = (FromA::default(), FromB::default());
        extend_both(self, Pairs, &mut both.0, &mut both.1);
        both
    }

    /// Collects the items for which `f` returns true, and the others.
    /// ```
    /// # use blitz::prelude::*;
    /// let (even, odd): (Vec<_>, Vec<_>) = (0..5).into_par_iter().partition(|n| n % 2 == 0);
    /// assert_eq!((even, odd), (vec![0, 2, 4], vec![1, 3]));
    /// ```
    #[track_caller]
    fn partition<A, B, F: Fn(&Self::Item) -> bool + Sync + Send>(self, f: F) -> (A, B)
    where
        A: Default + ParallelExtend<Self::Item> + Send,
        B: Default + ParallelExtend<Self::Item> + Send,
    {
        let mut both = (A::default(), B::default());
        extend_both(self, ByTest(f), &mut both.0, &mut both.1);
        both
    }

    /// Collects the results of `f`: left ones and right ones.
    /// ```
    /// # use blitz::prelude::*;
    /// use blitz::par::iter::Either::{Left, Right};
    /// let (a, b): (Vec<_>, Vec<_>) =
    ///     (0..4).into_par_iter().partition_map(|n| if n < 2 { Left(n) } else { Right(n as u8) });
    /// assert_eq!((a, b), (vec![0, 1], vec![2, 3]));
    /// ```
    #[track_caller]
    fn partition_map<A, B, F, L: Send, R: Send>(self, f: F) -> (A, B)
    where
        A: Default + ParallelExtend<L> + Send,
        B: Default + ParallelExtend<R> + Send,
        F: Fn(Self::Item) -> Either<L, R> + Sync + Send,
    {
        let mut both = (A::default(), B::default());
        extend_both(self, BySide(f), &mut both.0, &mut both.1);
        both
    }

    /// Puts a clone of `element` between each two items.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((1..4).into_par_iter().intersperse(0).collect::<Vec<_>>(), [1, 0, 2, 0, 3]);
    /// ```
    fn intersperse(self, element: Self::Item) -> Intersperse<Self>
    where
        Self::Item: Clone,
    {
        Intersperse { base: self, separator: element }
    }

    /// Passes on `n` items from anywhere.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((0..100).into_par_iter().take_any(5).count(), 5);
    /// ```
    fn take_any(self, n: usize) -> TakeAny<Self> {
        TakeAny { base: self, count: n }
    }

    /// Leaves out `n` items from anywhere.
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((0..100).into_par_iter().skip_any(5).count(), 95);
    /// ```
    fn skip_any(self, n: usize) -> SkipAny<Self> {
        SkipAny { base: self, count: n }
    }

    /// Passes on items until `f` returns false for one: then all parts of the loop end.
    /// ```
    /// # use blitz::prelude::*;
    /// assert!((0..100).into_par_iter().take_any_while(|&n| n < 50).all(|n| n < 50));
    /// ```
    fn take_any_while<F>(self, f: F) -> TakeAnyWhile<Self, F>
    where
        F: Fn(&Self::Item) -> bool + Sync + Send,
    {
        TakeAnyWhile { base: self, f }
    }

    /// Leaves out items until `f` returns false for one: then all parts of the loop pass on their
    /// items.
    /// ```
    /// # use blitz::prelude::*;
    /// assert!((0..100).into_par_iter().skip_any_while(|&n| n < 50).count() >= 50);
    /// ```
    fn skip_any_while<F>(self, f: F) -> SkipAnyWhile<Self, F>
    where
        F: Fn(&Self::Item) -> bool + Sync + Send,
    {
        SkipAnyWhile { base: self, f }
    }

    /// Collects the items of each part of the loop into a vector of its own.
    /// ```
    /// # use blitz::prelude::*;
    /// let parts = (0..100).into_par_iter().collect_vec_list();
    /// assert!(parts.into_iter().flatten().eq(0..100));
    /// ```
    #[track_caller]
    fn collect_vec_list(self) -> LinkedList<Vec<Self::Item>> {
        reduce(self, &Parts::new())
    }
}
