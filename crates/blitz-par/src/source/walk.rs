//! Trees: [`walk_tree`], [`walk_tree_prefix`], [`walk_tree_postfix`]; and data that a function can
//! split: [`split`].

#![forbid(unsafe_code)]

use crate::iter::ParallelIterator;
use crate::piece::Piece;
use crate::plan::Turn;
use crate::reducer::{Reducer, Run};
use crate::run::begin;
use std::fmt;
use std::{option, vec};

/// The nodes of a tree.
macro_rules! walk {
    ($(#[$doc:meta])* $name:ident, $(#[$function_doc:meta])* $function:ident, $children_first:expr) => {
        $(#[$doc])*
        #[must_use = "parallel iterators are lazy and do nothing unless consumed"]
        #[derive(Clone)]
        pub struct $name<S, F> {
            root: S,
            children_of: F,
        }

        impl<S: fmt::Debug, F> fmt::Debug for $name<S, F> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("root", &self.root).finish_non_exhaustive()
            }
        }

        $(#[$function_doc])*
        pub fn $function<S, F, C>(root: S, children_of: F) -> $name<S, F>
        where
            S: Send,
            F: Fn(&S) -> C + Sync + Send,
            C: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
        {
            $name { root, children_of }
        }

        impl<S, F, C> ParallelIterator for $name<S, F>
        where
            S: Send,
            F: Fn(&S) -> C + Sync + Send,
            C: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
        {
            type Item = S;

            drive!(|self, turn, next, acc| {
                let stack = vec![Node::Ahead(self.root)];
                let (children_of, children_first) = (&self.children_of, $children_first);
                begin(turn, next, WalkPiece { stack, children_of, children_first }, acc)
            });
        }
    };
}

walk! {
    /// The nodes of a tree, each before its children: made by [`walk_tree_prefix`].
    WalkTreePrefix,
    /// Makes a parallel iterator over the nodes of a tree, each before its children.
    ///
    /// ```
    /// use blitz::par::iter::walk_tree_prefix;
    /// use blitz::prelude::*;
    /// let children = |&n: &u32| if n < 4 { vec![2 * n, 2 * n + 1] } else { vec![] };
    /// let nodes: Vec<u32> = walk_tree_prefix(1, children).collect();
    /// assert_eq!(nodes, [1, 2, 4, 5, 3, 6, 7]);
    /// ```
    walk_tree_prefix, false
}

walk! {
    /// The nodes of a tree, each after its children: made by [`walk_tree_postfix`].
    WalkTreePostfix,
    /// Makes a parallel iterator over the nodes of a tree, each after its children.
    ///
    /// ```
    /// use blitz::par::iter::walk_tree_postfix;
    /// use blitz::prelude::*;
    /// let children = |&n: &u32| if n < 4 { vec![2 * n, 2 * n + 1] } else { vec![] };
    /// let nodes: Vec<u32> = walk_tree_postfix(1, children).collect();
    /// assert_eq!(nodes, [4, 5, 2, 6, 7, 3, 1]);
    /// ```
    walk_tree_postfix, true
}

walk! {
    /// The nodes of a tree in any order: made by [`walk_tree`].
    WalkTree,
    /// Makes a parallel iterator over the nodes of a tree, in any order.
    ///
    /// ```
    /// use blitz::par::iter::walk_tree;
    /// use blitz::prelude::*;
    /// let children = |&n: &u32| if n < 4 { vec![2 * n, 2 * n + 1] } else { vec![] };
    /// assert_eq!(walk_tree(1, children).sum::<u32>(), 28);
    /// ```
    walk_tree, false
}

/// A node on the stack.
enum Node<S> {
    /// Neither it nor its children were visited.
    Ahead(S),
    /// Its children are above it on the stack, or in a piece that comes earlier, or were visited.
    Opened(S),
}

/// The rest of a tree. The next node is the last one on the stack.
struct WalkPiece<'a, S, F> {
    stack: Vec<Node<S>>,
    children_of: &'a F,
    children_first: bool,
}

/// The assumed number of nodes below each node, to estimate the rest.
const BELOW: usize = 64;

impl<S, F, C> Piece for WalkPiece<'_, S, F>
where
    S: Send,
    F: Fn(&S) -> C + Sync,
    C: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    type Item = S;
    type Block = vec::IntoIter<S>;
    const IS_MEASURED: bool = false;

    fn steps(&self) -> usize {
        self.stack.len().saturating_mul(BELOW)
    }

    fn split_off(&mut self, _at: usize) -> Option<Self> {
        let far = self.stack.len() / 2;
        if far == 0 {
            return None;
        }
        // The nodes at the bottom of the stack come last, so they are the right part.
        let near = self.stack.split_off(far);
        let stack = std::mem::replace(&mut self.stack, near);
        Some(WalkPiece { stack, ..*self })
    }

    fn block(&mut self, steps: usize) -> Self::Block {
        let mut visited = Vec::new();
        while visited.len() < steps {
            match self.stack.pop() {
                None => break,
                Some(Node::Opened(node)) => visited.push(node),
                Some(Node::Ahead(node)) => {
                    let children = (self.children_of)(&node).into_iter();
                    if self.children_first {
                        self.stack.push(Node::Opened(node));
                    } else {
                        visited.push(node);
                    }
                    self.stack.extend(children.rev().map(Node::Ahead));
                }
            }
        }
        visited.into_iter()
    }
}

/// Iterator made by [`split`]: a function splits its data as often as workers need parts.
#[must_use = "parallel iterators are lazy and do nothing unless consumed"]
#[derive(Clone)]
pub struct Split<D, F> {
    data: D,
    splitter: F,
}

impl<D: fmt::Debug, F> fmt::Debug for Split<D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Split").field("data", &self.data).finish_non_exhaustive()
    }
}

/// Makes a parallel iterator over parts of `data`. `splitter` splits a part in two, or returns it
/// with `None` if it cannot be split. How often `splitter` is called depends on the workers.
///
/// ```
/// use blitz::par::iter::split;
/// use blitz::prelude::*;
/// use std::ops::Range;
///
/// fn halves(range: Range<u32>) -> (Range<u32>, Option<Range<u32>>) {
///     let middle = range.start + range.len() as u32 / 2;
///     if range.len() < 2 { (range, None) } else { (range.start..middle, Some(middle..range.end)) }
/// }
///
/// assert_eq!(split(0..100, halves).map(|part| part.sum::<u32>()).sum::<u32>(), 4950);
/// ```
pub fn split<D: Send, F>(data: D, splitter: F) -> Split<D, F>
where
    F: Fn(D) -> (D, Option<D>) + Sync + Send,
{
    Split { data, splitter }
}

impl<D, F> ParallelIterator for Split<D, F>
where
    D: Send,
    F: Fn(D) -> (D, Option<D>) + Sync + Send,
{
    type Item = D;

    drive!(|self, turn, next, acc| {
        let (data, splitter) = (Some(self.data), &self.splitter);
        begin(turn, next, SplitPiece { data, splitter, is_whole: false }, acc)
    });
}

struct SplitPiece<'a, D, F> {
    data: Option<D>,
    splitter: &'a F,
    /// Whether `splitter` was called and could not split the data.
    is_whole: bool,
}

impl<D: Send, F: Fn(D) -> (D, Option<D>) + Sync> Piece for SplitPiece<'_, D, F> {
    type Item = D;
    type Block = option::IntoIter<D>;

    fn steps(&self) -> usize {
        usize::from(self.data.is_some()) * if self.is_whole { 1 } else { 2 }
    }

    fn split_off(&mut self, _at: usize) -> Option<Self> {
        let (left, right) = (self.splitter)(self.data.take()?);
        self.data = Some(left);
        self.is_whole = right.is_none();
        Some(SplitPiece { data: Some(right?), ..*self })
    }

    fn block(&mut self, _steps: usize) -> Self::Block {
        self.data.take().into_iter()
    }
}
