//! `panic_fuse`: soon after a panic, all parts of the loop end.

use crate::iter::{IndexedParallelIterator, ParallelIterator};
use crate::piece::{Exact, Piece};
use crate::place::Place;
use crate::plan::{Limits, Turn};
use crate::reducer::{Layer, Reducer, Run};
use blitz_parts::prim::{AtomicBool, Relaxed};
use std::fmt;
use std::thread::panicking;

/// Ends the loop soon after a panic: made by [`panic_fuse`](ParallelIterator::panic_fuse).
#[must_use = "iterator adaptors are lazy and do nothing unless consumed"]
pub struct PanicFuse<I> {
    base: I,
    blown: AtomicBool,
}

impl<I> PanicFuse<I> {
    pub(crate) fn new(base: I) -> PanicFuse<I> {
        PanicFuse { base, blown: AtomicBool::new(false) }
    }
}

impl<I: Clone> Clone for PanicFuse<I> {
    fn clone(&self) -> Self {
        PanicFuse::new(self.base.clone())
    }
}

impl<I: fmt::Debug> fmt::Debug for PanicFuse<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PanicFuse").field("base", &self.base).finish_non_exhaustive()
    }
}

layer! {
    FuseLayer [] [blown: &'l AtomicBool], [T,] T => T where [],
    |self, block| Fused::new(block, self.blown),
    done |layer| layer.blown.load(Relaxed)
}

impl<I: ParallelIterator> ParallelIterator for PanicFuse<I> {
    type Item = I::Item;

    drive_layer!(|self, next| FuseLayer { blown: &self.blown, next });

    as_many!();
}

impl<I: IndexedParallelIterator> IndexedParallelIterator for PanicFuse<I> {
    as_indexed!(FusePiece<'p, I::Piece<'p>>, |self| FusePiece {
        base: self.base.piece(),
        blown: &self.blown
    });
}

/// A piece of [`PanicFuse`].
#[derive(Debug)]
pub struct FusePiece<'p, P> {
    base: P,
    blown: &'p AtomicBool,
}

impl<'p, P: Piece> Piece for FusePiece<'p, P> {
    type Item = P::Item;
    type Block = Fused<'p, P::Block>;

    fn steps(&self) -> usize {
        self.base.steps()
    }

    fn split_off(&mut self, at: usize) -> Option<Self> {
        Some(FusePiece { base: self.base.split_off(at)?, blown: self.blown })
    }

    fn block(&mut self, steps: usize) -> Self::Block {
        Fused::new(self.base.block(steps), self.blown)
    }

    fn exact_len(&self) -> Option<usize> {
        self.base.exact_len()
    }
}

impl<P: Exact> Exact for FusePiece<'_, P> {}

/// A block that ends when the fuse is blown, and blows it if a panic drops the block.
#[derive(Debug)]
pub struct Fused<'p, B> {
    block: B,
    blown: &'p AtomicBool,
    /// Whether the thread was already unwinding from a panic outside the loop.
    unwinds: bool,
}

impl<'p, B> Fused<'p, B> {
    #[inline]
    fn new(block: B, blown: &'p AtomicBool) -> Fused<'p, B> {
        Fused { block, blown, unwinds: panicking() }
    }
}

impl<B: Iterator> Iterator for Fused<'_, B> {
    type Item = B::Item;

    #[inline]
    fn next(&mut self) -> Option<B::Item> {
        if self.blown.load(Relaxed) { None } else { self.block.next() }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.block.size_hint()
    }
}

impl<B: DoubleEndedIterator> DoubleEndedIterator for Fused<'_, B> {
    #[inline]
    fn next_back(&mut self) -> Option<B::Item> {
        if self.blown.load(Relaxed) { None } else { self.block.next_back() }
    }
}

impl<B: ExactSizeIterator> ExactSizeIterator for Fused<'_, B> {}

impl<B> Drop for Fused<'_, B> {
    fn drop(&mut self) {
        if !self.unwinds && panicking() {
            self.blown.store(true, Relaxed);
        }
    }
}
