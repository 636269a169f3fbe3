//! Methods of parallel iterators that Rayon does not have.

use super::{IntoParallelIterator, ParallelExtend, ParallelIterator};
use crate::adapt::tuned::{FixedShape, MaxLen, MaxWorkers, MinLen};
use crate::adapt::watched::{CancelOn, CancelToken, OnProgress};
use crate::end::in_order::InOrder;
use crate::here::enter;
use crate::run::reduce;
use crate::tuning;

/// Controls how a loop runs: limits, progress, cancellation, results in order. Every
/// [`ParallelIterator`] has these methods.
pub trait ParallelIteratorExt: ParallelIterator {
    /// Keeps parts of the loop from getting shorter than `min` items. This is rarely needed: loops
    /// measure how long their items take.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!((0..1_000).into_par_iter().with_min_len(100).sum::<i32>(), 499_500);
    /// ```
    fn with_min_len(self, min: usize) -> MinLen<Self> {
        MinLen { base: self, min }
    }

    /// Cuts the loop into parts of at most `max` items, whether another worker is idle or not. A
    /// part is not cut if a half would be shorter than [`with_min_len`](Self::with_min_len) allows.
    /// With [`max_workers(n)`](Self::max_workers), a part is not cut while `n - 1` other parts run
    /// on other workers or wait for one. With [`fixed_shape`](Self::fixed_shape), `max` has no
    /// effect.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let parts = (0..100).into_par_iter().with_max_len(10).fold(|| 0, |n, _| n + 1);
    /// assert!(parts.collect::<Vec<_>>().iter().all(|&n| n <= 10));
    /// ```
    fn with_max_len(self, max: usize) -> MaxLen<Self> {
        MaxLen { base: self, max }
    }

    /// Lets at most `workers` workers take part. With 1 the loop is sequential.
    ///
    /// The limit holds for this loop and for the inner loops of its `flat_map`s. It does not hold
    /// for other loops and forks that the loop's functions start, or for items that a
    /// [`skip`](super::IndexedParallelIterator::skip) leaves out.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let here = blitz::install(|| {
    ///     let index = blitz::current_worker_index();
    ///     let same = (0..100).into_par_iter().max_workers(1);
    ///     same.all(|_| blitz::current_worker_index() == index)
    /// });
    /// assert!(here);
    /// ```
    fn max_workers(self, workers: usize) -> MaxWorkers<Self> {
        MaxWorkers { base: self, workers }
    }

    /// Makes cuts depend on the length alone. So operations that are not associative, such as
    /// adding floating-point numbers, have the same result for any number of workers.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let numbers: Vec<f32> = (1..10_000).map(|n| 1.0 / n as f32).collect();
    /// let sum = || numbers.par_iter().fixed_shape().sum::<f32>();
    /// let one = blitz::Pool::builder().workers(1).build()?;
    /// let four = blitz::Pool::builder().workers(4).build()?;
    /// assert_eq!(one.install(sum).to_bits(), four.install(sum).to_bits());
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    ///
    /// A source of unknown length, such as [`par_bridge`](super::ParallelBridge::par_bridge) or
    /// [`repeat`](super::repeat()), is not cut: one worker takes all of its items. The parts of
    /// [`scan_inclusive`](super::IndexedParallelIterator::scan_inclusive), the blocks of
    /// [`by_exponential_blocks`](super::IndexedParallelIterator::by_exponential_blocks) and the
    /// default windows of [`for_each_in_order`](Self::for_each_in_order) depend on the number of
    /// workers all the same.
    fn fixed_shape(self) -> FixedShape<Self> {
        FixedShape { base: self }
    }

    /// Ends the loop when `token` is cancelled. Workers finish their current blocks. Later items
    /// are dropped, and the result does not cover them: check the token to see whether the result
    /// is complete.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let token = blitz::par::CancelToken::new();
    /// let seen = (0..10_000_000).into_par_iter().cancel_on(&token).inspect(|_| token.cancel());
    /// assert!(seen.count() < 10_000_000);
    /// ```
    fn cancel_on(self, token: &CancelToken) -> CancelOn<Self> {
        CancelOn { base: self, token: token.clone() }
    }

    /// Calls `f` from time to time, on any worker, with the number of items passed on so far.
    /// Numbers may come out of order.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    /// let most = AtomicUsize::new(0);
    /// let progress = |done| drop(most.fetch_max(done, Relaxed));
    /// (0..1_000).into_par_iter().on_progress(progress).for_each(|_| ());
    /// assert_eq!(most.into_inner(), 1_000);
    /// ```
    fn on_progress<F: Fn(usize) + Sync + Send>(self, f: F) -> OnProgress<Self, F> {
        OnProgress { base: self, f }
    }

    /// Calls `sink` with each item in order, all on one thread, while later items are computed in
    /// parallel.
    ///
    /// At most two windows of items wait, each of about 1,000 steps per worker. For most sources a
    /// step is one item of the source. [`for_each_in_order_within`](Self::for_each_in_order_within)
    /// sets another size.
    ///
    /// Items of [`par_bridge`](super::ParallelBridge::par_bridge), of a tree or of
    /// [`repeat`](super::repeat()) cannot be cut into windows. The calling worker pulls them, a
    /// window at a time; later adaptors run in parallel.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mut squares = Vec::new();
    /// (0..100).into_par_iter().map(|n| n * n).for_each_in_order(|n| squares.push(n));
    /// assert!(squares.is_sorted());
    /// ```
    #[track_caller]
    fn for_each_in_order<F: FnMut(Self::Item) + Send>(self, sink: F) {
        let workers = enter(|here| here.workers());
        self.for_each_in_order_within(workers.saturating_mul(tuning::WINDOW), sink);
    }

    /// Works like [`for_each_in_order`](Self::for_each_in_order), with windows of `window` steps.
    ///
    /// Where the calling worker pulls the items, a window has at most about 1,000 items per worker.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mut text = String::new();
    /// ["a", "b", "c"].par_iter().for_each_in_order_within(1, |part| text += part);
    /// assert_eq!(text, "abc");
    /// ```
    #[track_caller]
    fn for_each_in_order_within<F: FnMut(Self::Item) + Send>(self, window: usize, sink: F) {
        reduce(self, &InOrder::new(sink, window));
    }

    /// Adds the items to a collection and returns it.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mut numbers = vec![0];
    /// assert_eq!((1..4).into_par_iter().collect_into(&mut numbers).len(), 4);
    /// ```
    #[track_caller]
    fn collect_into<C: ParallelExtend<Self::Item>>(self, collection: &mut C) -> &mut C {
        collection.par_extend(self.into_par_iter());
        collection
    }
}

impl<I: ParallelIterator> ParallelIteratorExt for I {}
