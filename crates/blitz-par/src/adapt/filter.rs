//! At most one item for one item: `filter`, `filter_map`. Any number of items for one item, made
//! one after the other: `flat_map_iter`, `flatten_iter`.

use crate::iter::ParallelIterator;
use crate::plan::Turn;
use crate::reducer::{Layer, Reducer, Run};

/// Defines an adaptor that applies a standard iterator adaptor to each block.
macro_rules! through {
    (
        $(#[$doc:meta])* $name:ident $([$f:ident: $F:ident])?, $layer:ident,
        params[$($params:tt)*] $to:ty where [$($bounds:tt)*],
        |$self:ident, $block:ident| $make:expr
    ) => {
        adaptor! { $(#[$doc])* $name<I $(; $F)?> { base } { $($f: $F)? } }

        layer! {
            $layer [$($f: $F)?] [], [T, $($params)*] T => $to where [$($bounds)*],
            |$self, $block| $make
        }

        impl<T, $($params)* I, $($F)?> ParallelIterator for $name<I $(, $F)?>
        where
            I: ParallelIterator<Item = T>,
            $($bounds)*
        {
            type Item = $to;

            drive_layer!(|self, next| $layer { $($f: &self.$f,)? next });
        }
    };
}

through! {
    /// Passes on the items for which a function returns true: made by
    /// [`filter`](ParallelIterator::filter).
    Filter[f: F], FilterLayer,
    params[] T where [T: Send, F: Fn(&T) -> bool + Sync + Send,],
    |self, block| block.filter(self.f)
}

through! {
    /// Passes on the results of a function that are not `None`: made by
    /// [`filter_map`](ParallelIterator::filter_map).
    FilterMap[f: F], FilterMapLayer,
    params[R,] R where [T: Send, R: Send, F: Fn(T) -> Option<R> + Sync + Send,],
    |self, block| block.filter_map(self.f)
}

through! {
    /// Passes on the items of the sequential iterators that a function returns: made by
    /// [`flat_map_iter`](ParallelIterator::flat_map_iter).
    FlatMapIter[f: F], FlatMapIterLayer,
    params[S,] S::Item
    where [T: Send, S: IntoIterator<Item: Send>, F: Fn(T) -> S + Sync + Send,],
    |self, block| block.flat_map(self.f)
}

through! {
    /// Passes on the items of sequential iterators: made by
    /// [`flatten_iter`](ParallelIterator::flatten_iter).
    FlattenIter, FlattenIterLayer,
    params[] T::Item where [T: IntoIterator<Item: Send> + Send,],
    |self, block| block.flatten()
}
