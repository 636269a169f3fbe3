//! At most one item: `Option`, `Result`, [`once`], [`empty`].

#![forbid(unsafe_code)]

use super::piece::Source;
use crate::iter::IntoParallelIterator;
use crate::piece::{Exact, Piece};
use std::option;

/// Iterator over the value inside an `Option` or a `Result`, if there is one.
pub type IntoIter<T> = Source<Single<T>>;
/// Iterator over a reference to the value, if there is one.
pub type Iter<'a, T> = IntoIter<&'a T>;
/// Iterator over a mutable reference to the value, if there is one.
pub type IterMut<'a, T> = IntoIter<&'a mut T>;
/// Iterator over one item: made by [`once`].
pub type Once<T> = IntoIter<T>;
/// Iterator over no items: made by [`empty`].
pub type Empty<T> = IntoIter<T>;

/// A piece of at most one item.
#[derive(Debug, Clone)]
pub struct Single<T>(Option<T>);

impl<T: Send> Piece for Single<T> {
    type Item = T;
    type Block = option::IntoIter<T>;

    fn steps(&self) -> usize {
        usize::from(self.0.is_some())
    }

    fn split_off(&mut self, at: usize) -> Option<Self> {
        Some(Single(if at == 0 { self.0.take() } else { None }))
    }

    fn block(&mut self, steps: usize) -> Self::Block {
        if steps == 0 { None.into_iter() } else { self.0.take().into_iter() }
    }

    fn exact_len(&self) -> Option<usize> {
        Some(self.steps())
    }
}

impl<T: Send> Exact for Single<T> {}

/// Makes a parallel iterator of one item.
///
/// ```
/// use blitz::par::iter::once;
/// use blitz::prelude::*;
/// assert_eq!(once(1).chain(vec![2, 3]).sum::<i32>(), 6);
/// ```
pub fn once<T: Send>(item: T) -> Once<T> {
    Source { piece: Single(Some(item)) }
}

/// Makes a parallel iterator of no items.
///
/// ```
/// use blitz::par::iter::empty;
/// use blitz::prelude::*;
/// assert_eq!(empty::<i32>().count(), 0);
/// ```
pub fn empty<T: Send>() -> Empty<T> {
    Source { piece: Single(None) }
}

macro_rules! single {
    ([$($params:tt)*] $type:ty, $item:ty, [$($bounds:tt)*], |$self:ident| $inside:expr) => {
        impl<$($params)*> IntoParallelIterator for $type
        where
            $($bounds)*
        {
            type Item = $item;
            type Iter = IntoIter<$item>;

            fn into_par_iter($self) -> Self::Iter {
                Source { piece: Single($inside) }
            }
        }
    };
}

single!([T] Option<T>, T, [T: Send], |self| self);
single!(['a, T] &'a Option<T>, &'a T, [T: Sync], |self| self.as_ref());
single!(['a, T] &'a mut Option<T>, &'a mut T, [T: Send], |self| self.as_mut());
single!([T, E] Result<T, E>, T, [T: Send], |self| self.ok());
single!(['a, T, E] &'a Result<T, E>, &'a T, [T: Sync], |self| self.as_ref().ok());
single!(['a, T, E] &'a mut Result<T, E>, &'a mut T, [T: Send], |self| self.as_mut().ok());
