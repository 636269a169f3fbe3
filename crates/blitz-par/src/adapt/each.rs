//! One item for one item: `map`, `cloned`, `copied`, `inspect`, `update`.

use crate::iter::{IndexedParallelIterator, ParallelIterator};
use crate::piece::{Exact, Piece};
use crate::plan::{Limits, Turn};
use crate::reducer::{Layer, Reducer, Run};
use std::iter;

/// Defines an adaptor that makes one item of each, as a layer and as a piece.
macro_rules! each {
    (
        $(#[$doc:meta])* $name:ident $([$f:ident: $F:ident])?, $layer:ident, $piece:ident,
        params[$($params:tt)*] $from:ty => $to:ty where [$($bounds:tt)*],
        $block:ty, |$self:ident, $b:ident| $make:expr
    ) => {
        adaptor! { $(#[$doc])* $name<I $(; $F)?> { base } { $($f: $F)? } }

        layer! {
            $layer [$($f: $F)?] [], [$($params)*] $from => $to where [$($bounds)*],
            |$self, $b| $make
        }

        impl<$($params)* I, $($F)?> ParallelIterator for $name<I $(, $F)?>
        where
            I: ParallelIterator<Item = $from>,
            $($bounds)*
        {
            type Item = $to;

            drive_layer!(|self, next| $layer { $($f: &self.$f,)? next });

            as_many!();
        }

        impl<$($params)* I, $($F)?> IndexedParallelIterator for $name<I $(, $F)?>
        where
            I: IndexedParallelIterator<Item = $from>,
            $($bounds)*
        {
            as_indexed!($piece<'p, I::Piece<'p> $(, $F)?>, |self| $piece { base: self.base.piece(), $($f: &self.$f,)? lent: std::marker::PhantomData });
        }

        #[doc = concat!("A piece of [`", stringify!($name), "`].")]
        #[derive(Debug)]
        pub struct $piece<'p, P $(, $F)?> {
            base: P,
            $($f: &'p $F,)?
            lent: std::marker::PhantomData<&'p ()>,
        }

        impl<'p, $($params)* P $(, $F)?> Piece for $piece<'p, P $(, $F)?>
        where
            P: Piece<Item = $from>,
            $($bounds)*
        {
            type Item = $to;
            type Block = $block;

            fn steps(&self) -> usize {
                self.base.steps()
            }

            fn split_off(&mut self, at: usize) -> Option<Self> {
                let base = self.base.split_off(at)?;
                Some($piece { base, $($f: self.$f,)? lent: self.lent })
            }

            #[inline]
            fn block(&mut $self, steps: usize) -> Self::Block {
                let $b = $self.base.block(steps);
                $make
            }

            fn exact_len(&self) -> Option<usize> {
                self.base.exact_len()
            }
        }

        impl<'p, $($params)* P $(, $F)?> Exact for $piece<'p, P $(, $F)?>
        where
            P: Exact<Item = $from>,
            $($bounds)*
        {
        }
    };
}

each! {
    /// Calls a function with each item: made by [`map`](ParallelIterator::map).
    Map[f: F], MapLayer, MapPiece,
    params[T, R,] T => R where [T: Send, R: Send, F: Fn(T) -> R + Sync + Send,],
    iter::Map<P::Block, &'p F>, |self, block| block.map(self.f)
}

each! {
    /// Clones each item: made by [`cloned`](ParallelIterator::cloned).
    Cloned, ClonedLayer, ClonedPiece,
    params['t, T,] &'t T => T where [T: Clone + Send + Sync + 't,],
    iter::Cloned<P::Block>, |self, block| block.cloned()
}

each! {
    /// Copies each item: made by [`copied`](ParallelIterator::copied).
    Copied, CopiedLayer, CopiedPiece,
    params['t, T,] &'t T => T where [T: Copy + Send + Sync + 't,],
    iter::Copied<P::Block>, |self, block| block.copied()
}

each! {
    /// Calls a function with a reference to each item: made by
    /// [`inspect`](ParallelIterator::inspect).
    Inspect[f: F], InspectLayer, InspectPiece,
    params[T,] T => T where [T: Send, F: Fn(&T) + Sync + Send,],
    iter::Inspect<P::Block, &'p F>, |self, block| block.inspect(self.f)
}

each! {
    /// Lets a function change each item: made by [`update`](ParallelIterator::update).
    Update[f: F], UpdateLayer, UpdatePiece,
    params[T,] T => T where [T: Send, F: Fn(&mut T) + Sync + Send,],
    Updates<'p, P::Block, F>, |self, block| Updates { block, f: self.f }
}

/// A block whose items are changed on the way.
#[derive(Debug)]
pub struct Updates<'p, B, F> {
    block: B,
    f: &'p F,
}

impl<B: Iterator, F: Fn(&mut B::Item)> Updates<'_, B, F> {
    #[inline]
    fn updated(&self, mut item: B::Item) -> B::Item {
        (self.f)(&mut item);
        item
    }
}

impl<B: Iterator, F: Fn(&mut B::Item)> Iterator for Updates<'_, B, F> {
    type Item = B::Item;

    #[inline]
    fn next(&mut self) -> Option<B::Item> {
        let item = self.block.next()?;
        Some(self.updated(item))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.block.size_hint()
    }

    #[inline]
    fn fold<A, G: FnMut(A, B::Item) -> A>(self, init: A, mut g: G) -> A {
        let f = self.f;
        self.block.fold(init, |acc, mut item| {
            f(&mut item);
            g(acc, item)
        })
    }
}

impl<B: DoubleEndedIterator, F: Fn(&mut B::Item)> DoubleEndedIterator for Updates<'_, B, F> {
    #[inline]
    fn next_back(&mut self) -> Option<B::Item> {
        let item = self.block.next_back()?;
        Some(self.updated(item))
    }
}

impl<B: ExactSizeIterator, F: Fn(&mut B::Item)> ExactSizeIterator for Updates<'_, B, F> {}
