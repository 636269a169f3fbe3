//! Data that is cut at its separators.
//!
//! Searching for a separator calls user functions, so no place is searched in vain twice: a piece
//! remembers an index at or after which it has no separators.

#![forbid(unsafe_code)]

use crate::piece::Piece;
use std::iter::{Chain, Flatten};
use std::ops::Range;
use std::option;

/// Data with separators, at which it can be cut.
pub trait Separated: Sized + Send {
    /// The items of the blocks.
    type Item;
    /// Its items in order.
    type Items: Iterator<Item = Self::Item>;
    /// Whether an empty rest is also an item, for example between a separator and the end.
    const EMPTY_COUNTS: bool;

    /// Its length.
    fn len(&self) -> usize;
    /// Where to cut at the first separator that begins in `range`: the end of the left part.
    fn find(&self, range: Range<usize>) -> Option<usize>;
    /// Where to cut at the last separator that begins before `before`.
    fn find_back(&self, before: usize) -> Option<usize>;
    /// Cuts it at a place that `find` or `find_back` returned.
    fn cut_at(self, end: usize) -> (Self, Self);
    /// All of its items.
    fn items(self) -> Self::Items;
    /// Its only item, if it has one. Called only if there is no separator inside.
    fn whole(self) -> Option<Self::Item>;
}

/// A piece of something with separators.
#[derive(Debug)]
pub struct SplitOn<S> {
    rest: Option<S>,
    /// No separator begins at or after this index.
    clean: usize,
}

impl<S: Separated> SplitOn<S> {
    pub(crate) fn new(whole: S) -> SplitOn<S> {
        SplitOn { clean: whole.len(), rest: Some(whole) }
    }

    /// Cuts at the first separator from `from` on, or takes everything; returns the left part. That
    /// part has no separator from `from` on, except perhaps one that ends it.
    fn take_until(&mut self, from: usize) -> Option<S> {
        let rest = self.rest.take()?;
        let Some(end) = rest.find(from..self.clean) else {
            return Some(rest);
        };
        let len = rest.len();
        let (left, right) = rest.cut_at(end);
        self.clean = self.clean.saturating_sub(len - right.len());
        self.rest = Some(right);
        Some(left)
    }
}

impl<S: Separated> Piece for SplitOn<S> {
    type Item = S::Item;
    type Block = Chain<Flatten<option::IntoIter<S::Items>>, option::IntoIter<S::Item>>;

    fn steps(&self) -> usize {
        match &self.rest {
            Some(rest) => rest.len().max(usize::from(S::EMPTY_COUNTS)),
            None => 0,
        }
    }

    fn split_off(&mut self, at: usize) -> Option<Self> {
        let from = at.min(self.clean);
        let left = self.take_until(from)?;
        if let Some(right) = self.rest.replace(left) {
            let right = SplitOn { rest: Some(right), clean: self.clean };
            self.clean = from;
            return Some(right);
        }
        // There is no later separator: cut at the last one before `from`. If there is none, nothing
        // is left to cut.
        self.clean = 0;
        let end = self.rest.as_ref()?.find_back(from)?;
        let (left, right) = self.rest.take()?.cut_at(end);
        *self = SplitOn::new(left);
        Some(SplitOn { rest: Some(right), clean: 0 })
    }

    fn block(&mut self, steps: usize) -> Self::Block {
        let from = steps.saturating_sub(1).min(self.clean);
        let (mut items, mut last) = (None, None);
        if let Some(part) = self.take_until(from) {
            last = match part.find_back(from) {
                None => part.whole(),
                Some(end) => {
                    let (before, behind) = part.cut_at(end);
                    items = Some(before.items());
                    behind.whole()
                }
            };
        }
        items.into_iter().flatten().chain(last)
    }
}
