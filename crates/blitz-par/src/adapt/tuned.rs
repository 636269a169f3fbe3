//! How a loop is cut: `with_min_len`, `with_max_len`, `max_workers`, `fixed_shape`.

use crate::iter::{IndexedParallelIterator, ParallelIterator};
use crate::plan::{Plan, Turn};
use crate::reducer::{Reducer, Run};

/// An adaptor that changes the plan of the loop and nothing else.
macro_rules! tuned {
    ($(#[$doc:meta])* $name:ident { $($field:ident)? }, |$self:ident, $plan:ident| $tune:expr) => {
        adaptor! { $(#[$doc])* $name<I> { base } { $($field: usize)? } }

        impl<I> $name<I> {
            fn tune_own(&$self, $plan: &mut Plan<'_>) {
                $tune
            }
        }

        impl<I: ParallelIterator> ParallelIterator for $name<I> {
            type Item = I::Item;

            drive!(|self, turn, next, acc| {
                let mut plan = *turn.plan;
                self.tune_own(&mut plan);
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

            fn tune(&self, plan: &mut Plan<'_>) {
                self.tune_own(plan);
                self.base.tune(plan);
            }
        }
    };
}

tuned! {
    /// Keeps parts from getting too short: made by
    /// [`with_min_len`](crate::iter::ParallelIteratorExt::with_min_len).
    MinLen { min }, |self, plan| plan.at_least(self.min)
}

tuned! {
    /// Keeps parts from being too long: made by
    /// [`with_max_len`](crate::iter::ParallelIteratorExt::with_max_len).
    MaxLen { max }, |self, plan| plan.at_most(self.max)
}

tuned! {
    /// Limits how many workers take part: made by
    /// [`max_workers`](crate::iter::ParallelIteratorExt::max_workers).
    MaxWorkers { workers }, |self, plan| plan.workers = plan.workers.min(self.workers)
}

tuned! {
    /// Makes cuts depend on the length alone: made by
    /// [`fixed_shape`](crate::iter::ParallelIteratorExt::fixed_shape).
    FixedShape {}, |self, plan| plan.fixed = true
}
