//! Tuples of iterators as an iterator of tuples.

use crate::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use crate::iter::{IntoParallelRefIterator, IntoParallelRefMutIterator};
use crate::piece::{Exact, Piece};
use crate::plan::{Limits, Turn};
use crate::reducer::{Reducer, Run};
use crate::run::begin;

/// Zips several iterators, up to the shortest: made of a tuple by `into_par_iter`.
///
/// ```
/// # use blitz::prelude::*;
/// let (a, b, c) = ([1, 2, 3], [10, 20, 30], [100, 200, 300]);
/// let sums: Vec<i32> = (&a, &b, &c).into_par_iter().map(|(a, b, c)| a + b + c).collect();
/// assert_eq!(sums, [111, 222, 333]);
/// ```
#[must_use = "iterator adaptors are lazy and do nothing unless consumed"]
#[derive(Debug, Clone)]
pub struct MultiZip<T> {
    tuple: T,
}

/// A piece of [`MultiZip`].
#[derive(Debug)]
pub struct MultiZipPiece<T>(T);

/// A block of [`MultiZip`].
#[derive(Debug)]
pub struct MultiZipBlock<T>(T);

macro_rules! multizip {
    ($($T:ident $i:tt),+) => {
        impl<$($T: IntoParallelIterator<Iter: IndexedParallelIterator>),+> IntoParallelIterator
            for ($($T,)+)
        {
            type Item = ($($T::Item,)+);
            type Iter = MultiZip<($($T::Iter,)+)>;

            fn into_par_iter(self) -> Self::Iter {
                MultiZip { tuple: ($(self.$i.into_par_iter(),)+) }
            }
        }

        impl<'a, $($T: IntoParallelRefIterator<'a, Iter: IndexedParallelIterator>),+>
            IntoParallelIterator for &'a ($($T,)+)
        {
            type Item = ($($T::Item,)+);
            type Iter = MultiZip<($($T::Iter,)+)>;

            fn into_par_iter(self) -> Self::Iter {
                MultiZip { tuple: ($(self.$i.par_iter(),)+) }
            }
        }

        impl<'a, $($T: IntoParallelRefMutIterator<'a, Iter: IndexedParallelIterator>),+>
            IntoParallelIterator for &'a mut ($($T,)+)
        {
            type Item = ($($T::Item,)+);
            type Iter = MultiZip<($($T::Iter,)+)>;

            fn into_par_iter(self) -> Self::Iter {
                MultiZip { tuple: ($(self.$i.par_iter_mut(),)+) }
            }
        }

        impl<$($T: IndexedParallelIterator),+> ParallelIterator for MultiZip<($($T,)+)> {
            type Item = ($($T::Item,)+);

            drive_piece!();
        }

        impl<$($T: IndexedParallelIterator),+> IndexedParallelIterator for MultiZip<($($T,)+)> {
            type Piece<'p>
                = MultiZipPiece<($($T::Piece<'p>,)+)>
            where
                Self: 'p;

            fn len(&self) -> usize {
                let lens = [$(self.tuple.$i.len()),+];
                lens.into_iter().min().unwrap_or(0)
            }

            fn piece(&mut self) -> Self::Piece<'_> {
                let len = self.len();
                let mut pieces = ($(self.tuple.$i.piece(),)+);
                $(drop(pieces.$i.cut(len));)+
                MultiZipPiece(pieces)
            }

            fn tune(&self, limits: &mut Limits) {
                $(self.tuple.$i.tune(limits);)+
            }
        }

        impl<$($T: Exact),+> Piece for MultiZipPiece<($($T,)+)> {
            type Item = ($($T::Item,)+);
            type Block = MultiZipBlock<($($T::Block,)+)>;

            fn steps(&self) -> usize {
                self.0.0.steps()
            }

            fn split_off(&mut self, at: usize) -> Option<Self> {
                Some(MultiZipPiece(($(self.0.$i.cut(at),)+)))
            }

            #[inline]
            fn block(&mut self, steps: usize) -> Self::Block {
                MultiZipBlock(($(self.0.$i.block(steps),)+))
            }

            fn exact_len(&self) -> Option<usize> {
                Some(self.steps())
            }
        }

        impl<$($T: Exact),+> Exact for MultiZipPiece<($($T,)+)> {}

        impl<$($T: Iterator),+> Iterator for MultiZipBlock<($($T,)+)> {
            type Item = ($($T::Item,)+);

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                Some(($(self.0.$i.next()?,)+))
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                self.0.0.size_hint()
            }
        }

        impl<$($T: DoubleEndedIterator),+> DoubleEndedIterator for MultiZipBlock<($($T,)+)> {
            #[inline]
            fn next_back(&mut self) -> Option<Self::Item> {
                Some(($(self.0.$i.next_back()?,)+))
            }
        }

        impl<$($T: ExactSizeIterator),+> ExactSizeIterator for MultiZipBlock<($($T,)+)> {}
    };
}

multizip!(A 0);
multizip!(A 0, B 1);
multizip!(A 0, B 1, C 2);
multizip!(A 0, B 1, C 2, D 3);
multizip!(A 0, B 1, C 2, D 3, E 4);
multizip!(A 0, B 1, C 2, D 3, E 4, F 5);
multizip!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
multizip!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
multizip!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
multizip!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
multizip!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
multizip!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
