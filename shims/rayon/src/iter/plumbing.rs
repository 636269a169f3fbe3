//! Producers over exact pieces, as far as Rayon's tests call them.

use blitz_par::iter::{Exact, IndexedParallelIterator};

/// Items that can be cut at any index.
pub trait Producer: Send + Sized {
    /// What the iterator yields.
    type Item;
    /// The items of a producer that is not cut any more.
    type IntoIter: Iterator<Item = Self::Item> + DoubleEndedIterator + ExactSizeIterator;

    /// Hands the items out.
    fn into_iter(self) -> Self::IntoIter;

    /// Cuts the producer at `index`.
    fn split_at(self, index: usize) -> (Self, Self);
}

/// A function that takes any producer of items of type `T`.
pub trait ProducerCallback<T> {
    /// The result of the function.
    type Output;

    /// Calls the function with `producer`.
    fn callback<P: Producer<Item = T>>(self, producer: P) -> Self::Output;
}

/// An exact piece as a producer.
#[derive(Debug)]
pub struct Cut<P>(P);

impl<P> Cut<P> {
    /// The items of `iter`.
    pub fn of<'p, I: IndexedParallelIterator<Piece<'p> = P>>(iter: &'p mut I) -> Cut<P> {
        Cut(iter.piece())
    }
}

impl<P: Exact> Producer for Cut<P> {
    type Item = P::Item;
    type IntoIter = P::Block;

    fn into_iter(mut self) -> P::Block {
        self.0.block(self.0.steps())
    }

    fn split_at(mut self, index: usize) -> (Self, Self) {
        let right = self.0.cut(index);
        (self, Cut(right))
    }
}

/// Gives every indexed iterator Rayon's method `with_producer`.
pub trait WithProducer: IndexedParallelIterator {
    /// Calls `callback` with a producer of the items.
    fn with_producer<C: ProducerCallback<Self::Item>>(mut self, callback: C) -> C::Output {
        callback.callback(Cut::of(&mut self))
    }
}

impl<I: IndexedParallelIterator> WithProducer for I {}
