//! `intersperse`: a separator between each two items.
//!
//! Whether a part of a loop has items is known only at its end. So each part puts separators
//! between its own items. Where two parts meet, the merge adds one more separator if both have
//! items.

use super::seeds::Seeds;
use crate::here::enter;
use crate::iter::{IndexedParallelIterator, ParallelIterator};
use crate::piece::{Exact, Piece};
use crate::place::Place;
use crate::plan::{Limits, Pace, Plan, Turn};
use crate::reducer::{Reducer, Run};
use std::iter::once;

/// Puts a clone of a separator between each two items: made by
/// [`intersperse`](ParallelIterator::intersperse).
#[must_use = "iterator adaptors are lazy and do nothing unless consumed"]
#[derive(Clone, Debug)]
pub struct Intersperse<I: ParallelIterator> {
    pub(crate) base: I,
    pub(crate) separator: I::Item,
}

impl<I: ParallelIterator<Item: Clone>> ParallelIterator for Intersperse<I> {
    type Item = I::Item;

    drive!(|self, turn, next, acc| {
        let seeds = Seeds::new(self.separator);
        let between = Between { seeds: &seeds, next };
        let acc = acc.map(|acc| between.state(acc));
        let out = match self.base.drive(turn, &between, acc) {
            Run::Live(State { separator, acc, .. }) => {
                drop(separator);
                Run::Live(acc)
            }
            Run::Done(part) => Run::Done(part.out),
        };
        drop(seeds);
        out
    });

    fn opt_len(&self) -> Option<usize> {
        with_separators(self.base.opt_len()?)
    }
}

/// How many items and separators there are, if they can be counted.
fn with_separators(len: usize) -> Option<usize> {
    len.saturating_sub(1).checked_add(len)
}

struct Between<'l, T, N> {
    seeds: &'l Seeds<T>,
    next: &'l N,
}

/// The state of a part: whether it has any items, and its own separator.
struct State<T, A> {
    any: bool,
    separator: T,
    acc: A,
}

/// The result of a part.
struct Part<O> {
    any: bool,
    out: O,
    place: Place,
}

impl<T: Clone, N: Reducer<T>> Between<'_, T, N> {
    fn state(&self, acc: N::Acc) -> State<T, N::Acc> {
        State { any: false, separator: self.seeds.take(), acc }
    }
}

impl<T: Clone + Send, N: Reducer<T>> Reducer<T> for Between<'_, T, N> {
    type Acc = State<T, N::Acc>;
    type Out = Part<N::Out>;
    const IN_WINDOWS: bool = N::IN_WINDOWS;
    const COMPARES_PLACES: bool = N::COMPARES_PLACES;
    const SHORT_BLOCKS: bool = N::SHORT_BLOCKS;
    const IS_INNER: bool = N::IS_INNER;

    fn start(&self, place: &Place) -> Self::Acc {
        self.state(self.next.start(place))
    }

    fn fold<B: Iterator<Item = T>>(
        &self,
        state: Self::Acc,
        turn: &Turn<'_>,
        block: B,
    ) -> Self::Acc {
        let State { mut any, separator, acc } = state;
        let separated = Separated { block, separator: &separator, any: &mut any, held: None };
        let acc = self.next.fold(acc, turn, separated);
        State { any, separator, acc }
    }

    fn finish(&self, state: Self::Acc, turn: &Turn<'_>) -> Self::Out {
        let State { any, separator, acc } = state;
        self.seeds.put(separator);
        Part { any, out: self.next.finish(acc, turn), place: turn.place }
    }

    fn merge(&self, left: Self::Out, right: Self::Out) -> Self::Out {
        let (any, place) = (left.any || right.any, left.place);
        if !(left.any && right.any) {
            return Part { any, out: self.next.merge(left.out, right.out), place };
        }
        // Both parts have ended, so there is at least one seed.
        let seed = self.seeds.take();
        let separator = seed.clone();
        self.seeds.put(seed);
        let separator = enter(|here| {
            let pace = Pace::new();
            let turn = Turn { here, plan: &Plan::new(&pace), place: right.place };
            let acc = self.next.start(&right.place);
            let acc = self.next.fold(acc, &turn, once(separator));
            self.next.finish(acc, &turn)
        });
        let left = self.next.merge(left.out, separator);
        Part { any, out: self.next.merge(left, right.out), place }
    }

    fn before_fork(&self, state: &mut Self::Acc, place: &Place) {
        self.seeds.put(state.separator.clone());
        self.next.before_fork(&mut state.acc, place);
    }

    fn is_done(&self, state: &Self::Acc, place: &Place) -> bool {
        self.next.is_done(&state.acc, place)
    }

    fn is_over(&self, place: &Place) -> bool {
        self.next.is_over(place)
    }

    fn is_settled(&self, part: &Self::Out) -> bool {
        self.next.is_settled(&part.out)
    }

    fn window(&self) -> usize {
        self.next.window()
    }

    fn deliver(&self, part: Self::Out) -> Self::Out {
        Part { out: self.next.deliver(part.out), ..part }
    }
}

/// The items of a block with separators between them. If `any` is set, a separator goes first.
struct Separated<'a, B: Iterator> {
    block: B,
    separator: &'a B::Item,
    any: &'a mut bool,
    held: Option<B::Item>,
}

impl<B: Iterator<Item: Clone>> Iterator for Separated<'_, B> {
    type Item = B::Item;

    fn next(&mut self) -> Option<B::Item> {
        if let Some(item) = self.held.take() {
            return Some(item);
        }
        let item = self.block.next()?;
        if !std::mem::replace(self.any, true) {
            return Some(item);
        }
        self.held = Some(item);
        Some(self.separator.clone())
    }
}

impl<I: IndexedParallelIterator<Item: Clone>> IndexedParallelIterator for Intersperse<I> {
    type Piece<'p>
        = Alternating<I::Piece<'p>, I::Item>
    where
        Self: 'p;

    fn len(&self) -> usize {
        match with_separators(self.base.len()) {
            Some(len) => len,
            None => panic!("more than usize::MAX items and separators have no length"),
        }
    }

    fn piece(&mut self) -> Self::Piece<'_> {
        let left = self.len();
        let separator = self.separator.clone();
        Alternating { base: self.base.piece(), separator, separator_next: false, left }
    }

    fn tune(&self, limits: &mut Limits) {
        self.base.tune(limits);
    }
}

/// A piece of [`Intersperse`], or a block of it: items and separators by turns.
#[derive(Debug)]
pub struct Alternating<P, T> {
    base: P,
    separator: T,
    separator_next: bool,
    left: usize,
}

impl<P, T: Clone> Alternating<P, T> {
    /// How many of the next `steps` are items of the base.
    fn items_in(&self, steps: usize) -> usize {
        steps / 2 + usize::from(!self.separator_next && steps % 2 == 1)
    }

    /// Whether there is a separator at `index`.
    fn is_separator(&self, index: usize) -> bool {
        (index % 2 == 0) == self.separator_next
    }
}

impl<P: Exact<Item: Clone + Send>> Piece for Alternating<P, P::Item> {
    type Item = P::Item;
    type Block = Alternating<P::Block, P::Item>;

    fn steps(&self) -> usize {
        self.left
    }

    fn split_off(&mut self, at: usize) -> Option<Self> {
        let base = self.base.cut(self.items_in(at));
        let (separator, separator_next) = (self.separator.clone(), self.is_separator(at));
        let right = Alternating { base, separator, separator_next, left: self.left - at };
        self.left = at;
        Some(right)
    }

    fn block(&mut self, steps: usize) -> Self::Block {
        let base = self.base.block(self.items_in(steps));
        let (separator, separator_next) = (self.separator.clone(), self.separator_next);
        self.separator_next = self.is_separator(steps);
        self.left -= steps;
        Alternating { base, separator, separator_next, left: steps }
    }

    fn exact_len(&self) -> Option<usize> {
        Some(self.left)
    }
}

impl<P: Exact<Item: Clone + Send>> Exact for Alternating<P, P::Item> {}

impl<B: Iterator<Item: Clone>> Iterator for Alternating<B, B::Item> {
    type Item = B::Item;

    #[inline]
    fn next(&mut self) -> Option<B::Item> {
        self.left = self.left.checked_sub(1)?;
        self.separator_next = !self.separator_next;
        if self.separator_next { self.base.next() } else { Some(self.separator.clone()) }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<B: DoubleEndedIterator<Item: Clone>> DoubleEndedIterator for Alternating<B, B::Item> {
    fn next_back(&mut self) -> Option<B::Item> {
        self.left = self.left.checked_sub(1)?;
        let is_separator = self.is_separator(self.left);
        if is_separator { Some(self.separator.clone()) } else { self.base.next_back() }
    }
}

impl<B: Iterator<Item: Clone>> ExactSizeIterator for Alternating<B, B::Item> {}
