//! One part after the other, each in parallel: `by_exponential_blocks`, `by_uniform_blocks`.

use crate::iter::{IndexedParallelIterator, ParallelIterator};
use crate::piece::{Exact, Piece};
use crate::plan::{Limits, Turn};
use crate::reducer::{Reducer, Run};
use crate::run::begin;

adaptor! {
    /// Parts that double in length: made by
    /// [`by_exponential_blocks`](IndexedParallelIterator::by_exponential_blocks).
    ExponentialBlocks<I> { base } {}
}

adaptor! {
    /// Parts of the same length: made by
    /// [`by_uniform_blocks`](IndexedParallelIterator::by_uniform_blocks).
    UniformBlocks<I> { base } { size: usize }
}

impl<I: IndexedParallelIterator> ParallelIterator for ExponentialBlocks<I> {
    type Item = I::Item;

    drive!(|self, turn, next, acc| one_by_one(self.base, turn, next, acc, turn.here.workers(), 2));

    fn opt_len(&self) -> Option<usize> {
        Some(self.base.len())
    }
}

impl<I: IndexedParallelIterator> ParallelIterator for UniformBlocks<I> {
    type Item = I::Item;

    drive!(|self, turn, next, acc| one_by_one(self.base, turn, next, acc, self.size, 1));

    fn opt_len(&self) -> Option<usize> {
        Some(self.base.len())
    }
}

fn one_by_one<I, N>(
    mut base: I,
    turn: Turn<'_>,
    next: &N,
    mut acc: Option<N::Acc>,
    mut size: usize,
    growth: usize,
) -> Run<N::Acc, N::Out>
where
    I: IndexedParallelIterator,
    N: Reducer<I::Item>,
{
    let mut limits = Limits::NONE;
    base.tune(&mut limits);
    let plan = turn.plan.within(limits);
    let mut turn = Turn { plan: &plan, ..turn };
    let mut rest = base.piece();
    let mut before: Option<N::Out> = None;
    while rest.steps() > 0 {
        if before.as_ref().is_some_and(|out| next.is_settled(out))
            || acc.as_ref().is_some_and(|acc| next.is_done(acc, &turn.place))
        {
            break;
        }
        let beyond = rest.cut(size.min(rest.steps()));
        let part = std::mem::replace(&mut rest, beyond);
        turn.place.begin_block(part.steps(), rest.steps());
        let place = turn.place.block();
        turn.place.end_block();
        match begin(Turn { place, ..turn }, next, part, acc.take()) {
            Run::Live(live) => acc = Some(live),
            Run::Done(out) => {
                before = Some(match before {
                    Some(before) => next.merge(before, out),
                    None => out,
                });
            }
        }
        size = size.saturating_mul(growth);
    }
    match (before, acc) {
        (None, Some(acc)) => Run::Live(acc),
        (None, None) => Run::Live(next.start(&turn.place)),
        (Some(before), None) => Run::Done(before),
        (Some(before), Some(acc)) => {
            let out = next.finish(acc, &turn);
            Run::Done(next.merge(before, out))
        }
    }
}
