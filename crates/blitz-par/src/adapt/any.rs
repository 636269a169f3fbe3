//! Adaptors that take or skip items in any part of a loop, until all parts together have reached a
//! count or one part has met a condition: `take_any`, `skip_any`, `take_any_while`,
//! `skip_any_while`, `while_some`.

use crate::iter::ParallelIterator;
use crate::place::Place;
use crate::plan::Turn;
use crate::reducer::{Layer, Reducer, Run};
use blitz_parts::prim::{AtomicBool, AtomicUsize, Relaxed};

adaptor! {
    /// Passes on a number of items from anywhere: made by [`take_any`](ParallelIterator::take_any).
    TakeAny<I> { base } { count: usize }
}

adaptor! {
    /// Leaves out a number of items from anywhere: made by
    /// [`skip_any`](ParallelIterator::skip_any).
    SkipAny<I> { base } { count: usize }
}

adaptor! {
    /// Passes on items from anywhere until a function returns false for one: made by
    /// [`take_any_while`](ParallelIterator::take_any_while).
    TakeAnyWhile<I; F> { base } { f: F }
}

adaptor! {
    /// Leaves out items from anywhere until a function returns false for one: made by
    /// [`skip_any_while`](ParallelIterator::skip_any_while).
    SkipAnyWhile<I; F> { base } { f: F }
}

adaptor! {
    /// Passes on the values inside the items until one is `None`: made by
    /// [`while_some`](ParallelIterator::while_some).
    WhileSome<I> { base } {}
}

/// Takes one from the count that is left; returns false if none is left.
fn take_one(left: &AtomicUsize) -> bool {
    left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok()
}

/// A layer with a word that all parts share: how many items are still to be taken or skipped, or
/// whether the taking or skipping is over.
macro_rules! any {
    ($name:ident, $layer:ident [$($f:ident: $F:ident)?], $shared:ident: $Shared:ty = |$it:ident| $new:expr,
     [$($params:tt)*] $from:ty => $to:ty where [$($bounds:tt)*],
     |$self:ident, $block:ident| $make:expr, |$state:ident| $done:expr) => {
        layer! {
            $layer [$($f: $F)?] [$shared: $Shared], [$($params)*] $from => $to where [$($bounds)*],
            |$self, $block| $make,
            done |layer| { let $state = layer.$shared.load(Relaxed); $done }
        }

        impl<$($params)* I, $($F)?> ParallelIterator for $name<I $(, $F)?>
        where
            I: ParallelIterator<Item = $from>,
            $($bounds)*
        {
            type Item = $to;

            drive_layer!(|self, next| {
                let $it = &self;
                $layer { $shared: $new, $($f: &self.$f,)? next }
            });
        }
    };
}

any! {
    TakeAny, TakeAnyLayer [], left: AtomicUsize = |it| AtomicUsize::new(it.count),
    [T,] T => T where [T: Send,],
    |self, block| block.take_while(|_| take_one(&self.left)), |left| left == 0
}

any! {
    SkipAny, SkipAnyLayer [], left: AtomicUsize = |it| AtomicUsize::new(it.count),
    [T,] T => T where [T: Send,],
    |self, block| block.skip_while(|_| take_one(&self.left)), |_left| false
}

any! {
    TakeAnyWhile, TakeAnyWhileLayer [f: F], over: AtomicBool = |_it| AtomicBool::new(false),
    [T,] T => T where [T: Send, F: Fn(&T) -> bool + Sync + Send,],
    |self, block| block.take_while(|item| {
        !self.over.load(Relaxed) && ((self.f)(item) || { self.over.store(true, Relaxed); false })
    }),
    |over| over
}

any! {
    SkipAnyWhile, SkipAnyWhileLayer [f: F], over: AtomicBool = |_it| AtomicBool::new(false),
    [T,] T => T where [T: Send, F: Fn(&T) -> bool + Sync + Send,],
    |self, block| block.skip_while(|item| {
        !self.over.load(Relaxed) && ((self.f)(item) || { self.over.store(true, Relaxed); false })
    }),
    |_over| false
}

any! {
    WhileSome, WhileSomeLayer [], over: AtomicBool = |_it| AtomicBool::new(false),
    [T,] Option<T> => T where [T: Send,],
    |self, block| block.map_while(|item| {
        if item.is_none() {
            self.over.store(true, Relaxed);
        }
        item.filter(|_| !self.over.load(Relaxed))
    }),
    |over| over
}
