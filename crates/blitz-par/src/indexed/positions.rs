//! The indexes of some items: `positions`.

use crate::iter::{IndexedParallelIterator, ParallelIterator};
use crate::plan::Turn;
use crate::reducer::{Reducer, Run};

adaptor! {
    /// The indexes of the items for which a function returns true: made by
    /// [`positions`](IndexedParallelIterator::positions).
    Positions<I; F> { base } { f: F }
}

impl<I, F> ParallelIterator for Positions<I, F>
where
    I: IndexedParallelIterator,
    F: Fn(I::Item) -> bool + Sync + Send,
{
    type Item = usize;

    drive!(|self, turn, next, acc| {
        let f = self.f;
        let found = self.base.enumerate().filter_map(|(index, item)| f(item).then_some(index));
        found.drive(turn, next, acc)
    });
}
