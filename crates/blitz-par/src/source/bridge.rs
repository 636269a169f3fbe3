//! Turns any sequential iterator into a parallel one: `par_bridge`.
//!
//! One worker at a time takes the iterator, pulls a batch of items and puts the iterator back. A
//! worker that finds it taken does not wait: its part of the loop ends. The worker that has the
//! iterator forks again when another worker is idle.

#![forbid(unsafe_code)]

use crate::iter::ParallelIterator;
use crate::piece::Piece;
use crate::plan::{Clock, Turn};
use crate::reducer::{Reducer, Run};
use crate::run::begin;
use crate::tuning;
use blitz_parts::prim::{AtomicBool, Mutex, Relaxed};
use std::vec;

/// Makes a parallel iterator of a sequential one.
pub trait ParallelBridge: Sized {
    /// Makes a parallel iterator of this iterator. Its items come in any order.
    ///
    /// One worker at a time pulls items, in batches. So this pays off if the loop's work per item
    /// is larger than the work of the iterator itself. No worker waits for the batch of another.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let lines = std::io::Cursor::new("one\ntwo\nthree");
    /// let letters: usize =
    ///     std::io::BufRead::lines(lines).par_bridge().map(|line| line.unwrap().len()).sum();
    /// assert_eq!(letters, 11);
    /// ```
    fn par_bridge(self) -> IterBridge<Self>;
}

impl<I: Iterator<Item: Send> + Send> ParallelBridge for I {
    fn par_bridge(self) -> IterBridge<I> {
        IterBridge { iter: self }
    }
}

/// The items of a sequential iterator: made by [`par_bridge`](ParallelBridge::par_bridge).
#[must_use = "parallel iterators are lazy and do nothing unless consumed"]
#[derive(Debug, Clone)]
pub struct IterBridge<I> {
    iter: I,
}

impl<I: Iterator<Item: Send> + Send> ParallelIterator for IterBridge<I> {
    type Item = I::Item;

    drive!(|self, turn, next, acc| {
        let bridge = Bridge::new(self.iter);
        // The result of the rounds up to the last one that forked.
        let (mut before, mut acc): (Option<N::Out>, _) = (None, acc);
        loop {
            bridge.pauses.store(false, Relaxed);
            let piece = BridgePiece { bridge: &bridge, is_over: false, depth: 0 };
            match begin(turn, next, piece, acc.take()) {
                Run::Live(live) => acc = Some(live),
                Run::Done(out) => {
                    before = Some(match before {
                        Some(before) => next.merge(before, out),
                        None => out,
                    });
                }
            }
            if !bridge.pauses.load(Relaxed) {
                return match (before, acc) {
                    (None, Some(acc)) => Run::Live(acc),
                    (Some(before), None) => Run::Done(before),
                    // The last round did not fork.
                    (Some(before), Some(acc)) => {
                        let out = next.finish(acc, &turn);
                        Run::Done(next.merge(before, out))
                    }
                    (None, None) => unreachable!("a round ends in one of two ways"),
                };
            }
        }
    });
}

/// Holds the iterator while no worker pulls items.
struct Bridge<I> {
    iter: Mutex<Option<I>>,
    is_over: AtomicBool,
    /// Makes all parts end, so that a new round begins: each fork deepens the stack of the worker
    /// that forks.
    pauses: AtomicBool,
}

impl<I> Bridge<I> {
    fn new(iter: I) -> Bridge<I> {
        let (is_over, pauses) = (AtomicBool::new(false), AtomicBool::new(false));
        Bridge { iter: Mutex::new(Some(iter)), is_over, pauses }
    }

    fn ends(&self) -> bool {
        self.is_over.load(Relaxed) || self.pauses.load(Relaxed)
    }

    /// Takes the iterator, if no other worker has it.
    fn take(&self) -> Option<I> {
        self.iter.try_lock().ok()?.take()
    }

    fn put_back(&self, iter: I) {
        // No other worker puts an iterator back. Workers that try to take it hold the lock only for
        // a moment.
        let mut place = self.iter.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *place = Some(iter);
    }
}

/// The right to pull items.
struct BridgePiece<'a, I> {
    bridge: &'a Bridge<I>,
    is_over: bool,
    depth: u32,
}

impl<I: Iterator<Item: Send> + Send> Piece for BridgePiece<'_, I> {
    type Item = I::Item;
    type Block = vec::IntoIter<I::Item>;
    const IS_MEASURED: bool = false;

    fn steps(&self) -> usize {
        if self.is_over || self.bridge.ends() { 0 } else { usize::MAX }
    }

    fn split_off(&mut self, _at: usize) -> Option<Self> {
        if self.depth == tuning::BRIDGE_DEPTH_MAX {
            self.bridge.pauses.store(true, Relaxed);
            return None;
        }
        self.depth += 1;
        Some(BridgePiece { bridge: self.bridge, is_over: false, depth: self.depth })
    }

    fn block(&mut self, steps: usize) -> Self::Block {
        let Some(mut iter) = self.bridge.take() else {
            self.is_over = true;
            return Vec::new().into_iter();
        };
        let (batch, is_over) = pull(&mut iter, steps);
        if is_over {
            self.bridge.is_over.store(true, Relaxed);
        } else {
            self.bridge.put_back(iter);
        }
        batch.into_iter()
    }
}

/// Pulls a batch of at most `steps` items. Returns the batch, and whether the iterator is over.
///
/// The items before this batch came quickly, or `steps` would be small. If these come slowly, the
/// batch ends early: no worker can have its items before it ends.
fn pull<I: Iterator>(iter: &mut I, steps: usize) -> (Vec<I::Item>, bool) {
    let few = tuning::BATCH_UNTIMED;
    let max = (tuning::BATCH_BYTES / size_of::<I::Item>().max(1)).clamp(few, tuning::BATCH_MAX);
    let count = steps.min(max);
    let mut batch = Vec::with_capacity(count);
    let mut clock = (count > few).then(Clock::start);
    let mut ticks = 0;
    loop {
        let target = count.min(batch.len() + few);
        batch.extend(iter.by_ref().take(target - batch.len()));
        if batch.len() < target {
            return (batch, true);
        }
        ticks += clock.as_mut().map_or(0, Clock::lap);
        if batch.len() == count || ticks > tuning::BLOCK_TICKS {
            return (batch, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::pull;
    use crate::tuning::{BATCH_MAX, BATCH_UNTIMED};

    #[test]
    fn a_batch_has_a_maximum_length_and_ends_with_the_iterator() {
        for steps in [1, 10, BATCH_UNTIMED, BATCH_MAX, usize::MAX] {
            let mut numbers = 0..100_000;
            let (batch, is_over) = pull(&mut numbers, steps);
            let (least, most) = (steps.min(BATCH_UNTIMED), steps.min(BATCH_MAX));
            assert!((least..=most).contains(&batch.len()) && !is_over, "{steps}");
            assert!(batch.iter().copied().eq(0..numbers.start));
            assert_eq!(pull(&mut (0..0), steps), (vec![], true));
        }
        let (batch, is_over) = pull(&mut (0..BATCH_UNTIMED + 1), usize::MAX);
        assert!(batch.len() == BATCH_UNTIMED || is_over && batch.len() == BATCH_UNTIMED + 1);
        let large = pull(&mut std::iter::repeat([0u8; 1024]), usize::MAX).0;
        assert_eq!(large.len(), BATCH_UNTIMED);
        let none = pull(&mut std::iter::repeat(()), usize::MAX).0;
        assert!((BATCH_UNTIMED..=BATCH_MAX).contains(&none.len()));
    }
}
