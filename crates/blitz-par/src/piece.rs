//! Pieces: work that can be cut, handed out in blocks that are ordinary iterators.

#![forbid(unsafe_code)]

/// Work that can be cut, handed out in blocks that are ordinary iterators.
///
/// This is the trait to implement for a parallel iterator of your own: [`from_piece`] turns a piece
/// into a parallel iterator. A loop takes block after block from a piece and cuts it in two where
/// another worker could use a part.
///
/// ```
/// use blitz::par::iter::{Piece, from_piece};
/// use blitz::prelude::*;
///
/// /// The powers of two below a limit, by their exponents.
/// struct Powers(std::ops::Range<u32>);
///
/// impl Piece for Powers {
///     type Item = u64;
///     type Block = std::vec::IntoIter<u64>;
///
///     fn steps(&self) -> usize {
///         self.0.len()
///     }
///
///     fn split_off(&mut self, at: usize) -> Option<Powers> {
///         let middle = self.0.start + at as u32;
///         let right = middle..self.0.end;
///         self.0.end = middle;
///         Some(Powers(right))
///     }
///
///     fn block(&mut self, steps: usize) -> Self::Block {
///         let powers = self.0.by_ref().take(steps).map(|exponent| 1 << exponent);
///         powers.collect::<Vec<_>>().into_iter()
///     }
/// }
///
/// assert_eq!(from_piece(Powers(0..10)).sum::<u64>(), 1023);
/// ```
///
/// [`from_piece`]: crate::iter::from_piece
pub trait Piece: Sized + Send {
    /// The items of the blocks.
    type Item;
    /// Some of the work, as an iterator. It drops the items that it has not yielded.
    type Block: Iterator<Item = Self::Item>;
    /// Whether steps measure the work: cuts are made about where they are requested, and each step
    /// stands for at most a few items. This matters for loops that deliver results in order, window
    /// by window: if this is `true`, windows are cut off the piece. If this is `false`, as for a
    /// tree, one worker pulls the items of each window. It also matters for other loops: only if
    /// this is `true` may a loop first cut off a few steps to learn how long they take.
    const IS_MEASURED: bool = true;

    /// Returns about how many steps are left: 0 if nothing is left, `usize::MAX` if their number is
    /// unknown. A step is an item for most pieces.
    fn steps(&self) -> usize;

    /// Cuts the piece: keeps about the first `at` steps and returns the rest. Returns `None` if the
    /// piece cannot be cut now.
    fn split_off(&mut self, at: usize) -> Option<Self>;

    /// Takes out about the first `steps` steps, at least one if any is left.
    fn block(&mut self, steps: usize) -> Self::Block;

    /// How many items there are, if each step is one item and cuts are exact. Then `collect` writes
    /// each item to its final place at once. If there are fewer items, `collect` panics; if there
    /// are more, it drops the surplus.
    fn exact_len(&self) -> Option<usize> {
        None
    }
}

/// A piece with one item per step that can be cut exactly everywhere, even at 0 and at the end.
///
/// Iterators over such pieces are [indexed](crate::iter::IndexedParallelIterator). Implement
/// [`Piece::exact_len`], too.
pub trait Exact: Piece<Block: ExactSizeIterator + DoubleEndedIterator> {
    /// Cuts like [`Piece::split_off`]; this piece can always be cut.
    ///
    /// # Panics
    /// If the piece cannot be cut.
    fn cut(&mut self, at: usize) -> Self {
        match self.split_off(at) {
            Some(right) => right,
            None => panic!("an exact piece must be cut at {at}, but cannot be"),
        }
    }

    /// Takes the last `steps` items out.
    ///
    /// # Panics
    /// If the piece cannot be cut.
    fn block_back(&mut self, steps: usize) -> Self::Block {
        let mut last = self.cut(self.steps() - steps);
        let block = last.block(steps);
        // Drops the rest before it returns the block: if the drop panics, the block is dropped,
        // too.
        drop(last);
        block
    }
}

/// Adds a known length to an iterator.
#[derive(Debug, Clone)]
pub struct Counted<I> {
    iter: I,
    left: usize,
}

impl<I> Counted<I> {
    /// `left`: how many items `iter` has.
    pub(crate) fn new(iter: I, left: usize) -> Counted<I> {
        Counted { iter, left }
    }
}

impl<I: Iterator> Iterator for Counted<I> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        let item = self.iter.next();
        self.left -= usize::from(item.is_some());
        item
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }

    #[inline]
    fn fold<B, F: FnMut(B, I::Item) -> B>(self, init: B, f: F) -> B {
        self.iter.fold(init, f)
    }
}

impl<I: DoubleEndedIterator> DoubleEndedIterator for Counted<I> {
    #[inline]
    fn next_back(&mut self) -> Option<I::Item> {
        let item = self.iter.next_back();
        self.left -= usize::from(item.is_some());
        item
    }
}

impl<I: Iterator> ExactSizeIterator for Counted<I> {}
