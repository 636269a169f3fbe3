//! Items of two iterators by turns: `interleave`, `interleave_shortest`.

use crate::iter::{IndexedParallelIterator, ParallelIterator};
use crate::piece::{Exact, Piece};
use crate::plan::{Limits, Turn};
use crate::reducer::{Reducer, Run};
use crate::run::begin;

adaptor! {
    /// Items of two iterators by turns, then the rest of the longer one: made by
    /// [`interleave`](IndexedParallelIterator::interleave).
    Interleave<A, B> { a, b } {}
}

adaptor! {
    /// Items of two iterators by turns, until one has no more: made by
    /// [`interleave_shortest`](IndexedParallelIterator::interleave_shortest).
    InterleaveShortest<A, B> { a, b } {}
}

macro_rules! interleave {
    ($name:ident, |$a:ident, $b:ident| $lens:expr) => {
        impl<A, B> ParallelIterator for $name<A, B>
        where
            A: IndexedParallelIterator,
            B: IndexedParallelIterator<Item = A::Item>,
        {
            type Item = A::Item;

            drive_piece!();
        }

        impl<A, B> $name<A, B>
        where
            A: IndexedParallelIterator,
            B: IndexedParallelIterator<Item = A::Item>,
        {
            /// How many items there are of each iterator.
            fn lens(&self) -> (usize, usize) {
                let ($a, $b) = (self.a.len(), self.b.len());
                $lens
            }
        }

        impl<A, B> IndexedParallelIterator for $name<A, B>
        where
            A: IndexedParallelIterator,
            B: IndexedParallelIterator<Item = A::Item>,
        {
            type Piece<'p>
                = Interleaved<A::Piece<'p>, B::Piece<'p>>
            where
                Self: 'p;

            fn len(&self) -> usize {
                let (a, b) = self.lens();
                match a.checked_add(b) {
                    Some(len) => len,
                    None => panic!("more than usize::MAX interleaved items have no length"),
                }
            }

            fn piece(&mut self) -> Self::Piece<'_> {
                let lens = self.lens();
                let (mut a, mut b) = (self.a.piece(), self.b.piece());
                drop(a.cut(lens.0));
                drop(b.cut(lens.1));
                Interleaved { a, b, lens, b_next: false }
            }

            fn tune(&self, limits: &mut Limits) {
                self.a.tune(limits);
                self.b.tune(limits);
            }
        }
    };
}

interleave!(Interleave, |a, b| (a, b));
interleave!(InterleaveShortest, |a, b| if a <= b { (a, a) } else { (b + 1, b) });

/// A piece of interleaved iterators, or a block of such a piece.
#[derive(Debug)]
pub struct Interleaved<A, B> {
    a: A,
    b: B,
    /// How many items of `a` and of `b` are left.
    lens: (usize, usize),
    b_next: bool,
}

impl<A, B> Interleaved<A, B> {
    /// How many items of `a` and of `b` are among the next `steps`.
    fn among(&self, steps: usize) -> (usize, usize) {
        let (more, less) = (steps - steps / 2, steps / 2);
        let (a, b) = if self.b_next { (less, more) } else { (more, less) };
        if a > self.lens.0 {
            (self.lens.0, steps - self.lens.0)
        } else if b > self.lens.1 {
            (steps - self.lens.1, self.lens.1)
        } else {
            (a, b)
        }
    }

    fn left(&self) -> usize {
        self.lens.0 + self.lens.1
    }
}

impl<A: Exact, B: Exact<Item = A::Item>> Piece for Interleaved<A, B> {
    type Item = A::Item;
    type Block = Interleaved<A::Block, B::Block>;

    fn steps(&self) -> usize {
        self.left()
    }

    fn split_off(&mut self, at: usize) -> Option<Self> {
        let (a, b) = self.among(at);
        let lens = (self.lens.0 - a, self.lens.1 - b);
        let b_next = self.b_next ^ (at % 2 == 1);
        self.lens = (a, b);
        Some(Interleaved { a: self.a.cut(a), b: self.b.cut(b), lens, b_next })
    }

    fn block(&mut self, steps: usize) -> Self::Block {
        let (a, b) = self.among(steps);
        let b_next = self.b_next;
        self.lens = (self.lens.0 - a, self.lens.1 - b);
        self.b_next ^= steps % 2 == 1;
        Interleaved { a: self.a.block(a), b: self.b.block(b), lens: (a, b), b_next }
    }

    fn exact_len(&self) -> Option<usize> {
        Some(self.left())
    }
}

impl<A: Exact, B: Exact<Item = A::Item>> Exact for Interleaved<A, B> {}

impl<A: Iterator, B: Iterator<Item = A::Item>> Iterator for Interleaved<A, B> {
    type Item = A::Item;

    #[inline]
    fn next(&mut self) -> Option<A::Item> {
        let from_b = if self.b_next { self.lens.1 > 0 } else { self.lens.0 == 0 };
        self.b_next = !self.b_next;
        if from_b {
            self.lens.1 = self.lens.1.checked_sub(1)?;
            self.b.next()
        } else {
            self.lens.0 = self.lens.0.checked_sub(1)?;
            self.a.next()
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left(), Some(self.left()))
    }
}

impl<A, B> DoubleEndedIterator for Interleaved<A, B>
where
    A: DoubleEndedIterator,
    B: DoubleEndedIterator<Item = A::Item>,
{
    fn next_back(&mut self) -> Option<A::Item> {
        let (a, b) = self.lens;
        // The last item is of the iterator that has more items left. If both have as many, it is of
        // the iterator that is not next.
        if a > b || (a == b && self.b_next) {
            self.lens.0 = a.checked_sub(1)?;
            self.a.next_back()
        } else {
            self.lens.1 = b.checked_sub(1)?;
            self.b.next_back()
        }
    }
}

impl<A: Iterator, B: Iterator<Item = A::Item>> ExactSizeIterator for Interleaved<A, B> {}
