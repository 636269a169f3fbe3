//! Loops inside items: `flat_map`, `flatten`.
//!
//! An inner loop that does not fork continues with the state of the outer part, so small inner
//! loops cost little. Only an inner loop that forks has results to merge.

use crate::iter::{IntoParallelIterator, ParallelIterator};
use crate::place::Place;
use crate::plan::{Pace, Turn};
use crate::reducer::{Layer, Over, Reducer, Run};

adaptor! {
    /// Passes on the items of the parallel iterators that a function returns: made by
    /// [`flat_map`](ParallelIterator::flat_map).
    FlatMap<I; F> { base } { f: F }
}

adaptor! {
    /// Passes on the items of parallel iterators: made by [`flatten`](ParallelIterator::flatten).
    Flatten<I> { base } {}
}

impl<I, F, S> ParallelIterator for FlatMap<I, F>
where
    I: ParallelIterator,
    F: Fn(I::Item) -> S + Sync + Send,
    S: IntoParallelIterator,
{
    type Item = S::Item;

    drive!(|self, turn, next, acc| flatten(self.base, &self.f, turn, next, acc));
}

impl<I> ParallelIterator for Flatten<I>
where
    I: ParallelIterator<Item: IntoParallelIterator>,
{
    type Item = <I::Item as IntoParallelIterator>::Item;

    drive!(|self, turn, next, acc| flatten(self.base, &|inner| inner, turn, next, acc));
}

fn flatten<I, F, S, N>(
    base: I,
    f: &F,
    turn: Turn<'_>,
    next: &N,
    acc: Option<N::Acc>,
) -> Run<N::Acc, N::Out>
where
    I: ParallelIterator,
    F: Fn(I::Item) -> S + Sync,
    S: IntoParallelIterator,
    N: Reducer<S::Item>,
{
    let flat = Flat { f, next: &Over(Inside { next }), pace: &Pace::new() };
    let acc = acc.map(|acc| State { before: None, live: Some(acc) });
    match base.drive(turn, &flat, acc) {
        Run::Live(State { before: None, live: Some(acc) }) => Run::Live(acc),
        Run::Live(state) => Run::Done(flat.finish(state, &turn)),
        Run::Done(out) => Run::Done(out),
    }
}

/// Marks a loop as an inner loop, and changes nothing else.
struct Inside<'l, N> {
    next: &'l N,
}

impl<T, N: Reducer<T>> Layer<T> for Inside<'_, N> {
    type To = T;
    const IS_INNER: bool = true;
    stateless!(T);

    #[inline]
    fn fold<B: Iterator<Item = T>>(&self, acc: N::Acc, turn: &Turn<'_>, block: B) -> N::Acc {
        self.next.fold(acc, turn, block)
    }
}

/// The reducer of the outer loop.
struct Flat<'l, F, N> {
    f: &'l F,
    next: &'l N,
    /// The pace of all inner loops.
    pace: &'l Pace,
}

/// The results of the inner loops so far.
struct State<A, O> {
    /// The result of all inner loops up to the last one that forked.
    before: Option<O>,
    /// The state of the inner loops after that one.
    live: Option<A>,
}

impl<T, S, F, N> Reducer<T> for Flat<'_, F, N>
where
    F: Fn(T) -> S + Sync,
    S: IntoParallelIterator,
    N: Reducer<S::Item>,
{
    type Acc = State<N::Acc, N::Out>;
    type Out = N::Out;
    const IN_WINDOWS: bool = N::IN_WINDOWS;
    const COMPARES_PLACES: bool = N::COMPARES_PLACES;
    const SHORT_BLOCKS: bool = N::SHORT_BLOCKS;
    const IS_INNER: bool = N::IS_INNER;

    fn start(&self, place: &Place) -> Self::Acc {
        State { before: None, live: Some(self.next.start(place)) }
    }

    fn fold<B: Iterator<Item = T>>(
        &self,
        mut state: Self::Acc,
        turn: &Turn<'_>,
        block: B,
    ) -> Self::Acc {
        let mut rest = turn.place.block();
        let share = block.size_hint().1.map(|count| rest.width() / count.max(1));
        let plan = turn.plan.inside(self.pace);
        let mut turn = Turn { here: turn.here, plan: &plan, place: rest };
        for item in block {
            if N::COMPARES_PLACES {
                turn.place = rest.take_inner(share);
            }
            if self.is_done(&state, &turn.place) {
                break;
            }
            match (self.f)(item).into_par_iter().drive(turn, self.next, state.live.take()) {
                Run::Live(acc) => state.live = Some(acc),
                Run::Done(out) => {
                    state.before = Some(match state.before.take() {
                        Some(before) => self.next.merge(before, out),
                        None => out,
                    });
                }
            }
        }
        state
    }

    fn finish(&self, state: Self::Acc, turn: &Turn<'_>) -> Self::Out {
        match (state.before, state.live) {
            (None, Some(acc)) => self.next.finish(acc, turn),
            (Some(before), Some(acc)) => {
                let out = self.next.finish(acc, turn);
                self.next.merge(before, out)
            }
            (Some(before), None) => before,
            (None, None) => self.next.finish(self.next.start(&turn.place), turn),
        }
    }

    fn merge(&self, left: Self::Out, right: Self::Out) -> Self::Out {
        self.next.merge(left, right)
    }

    fn before_fork(&self, state: &mut Self::Acc, place: &Place) {
        let live = state.live.get_or_insert_with(|| self.next.start(place));
        self.next.before_fork(live, place);
    }

    fn is_done(&self, state: &Self::Acc, place: &Place) -> bool {
        state.live.as_ref().is_some_and(|acc| self.next.is_done(acc, place))
            || state.before.as_ref().is_some_and(|out| self.next.is_settled(out))
    }

    fn is_over(&self, place: &Place) -> bool {
        self.next.is_over(place)
    }

    fn is_settled(&self, out: &Self::Out) -> bool {
        self.next.is_settled(out)
    }

    fn window(&self) -> usize {
        self.next.window()
    }

    fn deliver(&self, out: Self::Out) -> Self::Out {
        self.next.deliver(out)
    }
}
