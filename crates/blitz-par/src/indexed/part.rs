//! A part of the items: `skip`, `take`.

use crate::end::reduce::ForEach;
use crate::iter::{IndexedParallelIterator, ParallelIterator, from_piece};
use crate::piece::{Exact, Piece};
use crate::plan::{Limits, Turn};
use crate::reducer::{Reducer, Run};
use crate::run::{begin, reduce};

adaptor! {
    /// All items but the first `n`: made by [`skip`](IndexedParallelIterator::skip).
    Skip<I> { base } { count: usize }
}

adaptor! {
    /// The first `n` items: made by [`take`](IndexedParallelIterator::take).
    Take<I> { base } { count: usize }
}

macro_rules! part {
    ($name:ident, |$self:ident| $len:expr, |$count:ident, $piece:ident| $cut:expr) => {
        impl<I: IndexedParallelIterator> ParallelIterator for $name<I> {
            type Item = I::Item;

            drive_piece!();
        }

        impl<I: IndexedParallelIterator> IndexedParallelIterator for $name<I> {
            type Piece<'p>
                = I::Piece<'p>
            where
                Self: 'p;

            fn len(&$self) -> usize {
                $len
            }

            fn piece(&mut self) -> Self::Piece<'_> {
                let mut $piece = self.base.piece();
                let $count = self.count.min($piece.steps());
                $cut
            }

            fn tune(&self, limits: &mut Limits) {
                self.base.tune(limits);
            }
        }
    };
}

part!(Skip, |self| self.base.len().saturating_sub(self.count), |count, piece| {
    let rest = piece.cut(count);
    // Skipped items are computed, too: earlier adaptors may have side effects.
    reduce(from_piece(piece), &ForEach(drop));
    rest
});
part!(Take, |self| self.base.len().min(self.count), |count, piece| {
    drop(piece.cut(count));
    piece
});
