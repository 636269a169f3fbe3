//! The items of slices.

#![forbid(unsafe_code)]

use super::piece::Source;
use crate::iter::IntoParallelIterator;
use crate::piece::{Exact, Piece};
use std::mem::take;
use std::slice;

/// References to the items of a slice.
pub type Iter<'a, T> = Source<Items<'a, T>>;

/// Mutable references to the items of a slice.
pub type IterMut<'a, T> = Source<ItemsMut<'a, T>>;

/// A piece of [`Iter`].
#[derive(Debug)]
pub struct Items<'a, T>(pub(crate) &'a [T]);

impl<T> Clone for Items<'_, T> {
    fn clone(&self) -> Self {
        Items(self.0)
    }
}

impl<'a, T: Sync> Piece for Items<'a, T> {
    type Item = &'a T;
    type Block = slice::Iter<'a, T>;

    #[inline]
    fn steps(&self) -> usize {
        self.0.len()
    }

    fn split_off(&mut self, at: usize) -> Option<Self> {
        let (left, right) = self.0.split_at(at);
        self.0 = left;
        Some(Items(right))
    }

    #[inline]
    fn block(&mut self, steps: usize) -> Self::Block {
        let (block, rest) = self.0.split_at(steps);
        self.0 = rest;
        block.iter()
    }

    fn exact_len(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

impl<T: Sync> Exact for Items<'_, T> {}

/// A piece of [`IterMut`].
#[derive(Debug)]
pub struct ItemsMut<'a, T>(pub(crate) &'a mut [T]);

impl<'a, T: Send> Piece for ItemsMut<'a, T> {
    type Item = &'a mut T;
    type Block = slice::IterMut<'a, T>;

    #[inline]
    fn steps(&self) -> usize {
        self.0.len()
    }

    fn split_off(&mut self, at: usize) -> Option<Self> {
        let (left, right) = take(&mut self.0).split_at_mut(at);
        self.0 = left;
        Some(ItemsMut(right))
    }

    #[inline]
    fn block(&mut self, steps: usize) -> Self::Block {
        let (block, rest) = take(&mut self.0).split_at_mut(steps);
        self.0 = rest;
        block.iter_mut()
    }

    fn exact_len(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

impl<T: Send> Exact for ItemsMut<'_, T> {}

impl<'a, T: Sync> IntoParallelIterator for &'a [T] {
    type Item = &'a T;
    type Iter = Iter<'a, T>;

    fn into_par_iter(self) -> Self::Iter {
        Source { piece: Items(self) }
    }
}

impl<'a, T: Send> IntoParallelIterator for &'a mut [T] {
    type Item = &'a mut T;
    type Iter = IterMut<'a, T>;

    fn into_par_iter(self) -> Self::Iter {
        Source { piece: ItemsMut(self) }
    }
}
