//! How a loop is cut: `with_min_len`, `with_max_len`, `max_workers`, `fixed_shape`.

use crate::iter::{IndexedParallelIterator, ParallelIterator};
use crate::plan::{Limits, Turn};
use crate::reducer::{Reducer, Run};

/// An adaptor that changes the plan of the loop and nothing else.
macro_rules! tuned {
    ($(#[$doc:meta])* $name:ident { $($field:ident)? }, |$self:ident, $limits:ident| $tune:expr) => {
        adaptor! { $(#[$doc])* $name<I> { base } { $($field: usize)? } }

        impl<I> $name<I> {
            fn tune_own(&$self, $limits: &mut Limits) {
                $tune
            }
        }

        impl<I: ParallelIterator> ParallelIterator for $name<I> {
            type Item = I::Item;

            drive!(|self, turn, next, acc| {
                let mut limits = Limits::NONE;
                self.tune_own(&mut limits);
                let plan = turn.plan.within(limits);
                self.base.drive(Turn { plan: &plan, ..turn }, next, acc)
            });

            as_many!();
        }

        impl<I: IndexedParallelIterator> IndexedParallelIterator for $name<I> {
            type Piece<'p>
                = I::Piece<'p>
            where
                Self: 'p;

            fn len(&self) -> usize {
                self.base.len()
            }

            fn piece(&mut self) -> Self::Piece<'_> {
                self.base.piece()
            }

            fn tune(&self, limits: &mut Limits) {
                self.tune_own(limits);
                self.base.tune(limits);
            }
        }
    };
}

tuned! {
    /// Keeps parts from getting too short: made by
    /// [`with_min_len`](crate::iter::ParallelIteratorExt::with_min_len).
    MinLen { min }, |self, limits| limits.at_least(self.min)
}

tuned! {
    /// Keeps parts from being too long: made by
    /// [`with_max_len`](crate::iter::ParallelIteratorExt::with_max_len).
    MaxLen { max }, |self, limits| limits.at_most(self.max)
}

tuned! {
    /// Limits how many workers take part: made by
    /// [`max_workers`](crate::iter::ParallelIteratorExt::max_workers).
    MaxWorkers { workers }, |self, limits| limits.workers = limits.workers.min(self.workers)
}

tuned! {
    /// Makes cuts depend on the length alone: made by
    /// [`fixed_shape`](crate::iter::ParallelIteratorExt::fixed_shape).
    FixedShape {}, |self, limits| limits.fixed = true
}
