//! The sum over a full binary tree whose nodes live on the heap, one allocation each.
//!
//! # The layout of the nodes
//! An allocator places nodes one after the other, so the order of allocation decides whether a walk
//! goes forwards, backwards or across memory. If a tree of 16M nodes is allocated depth-first, left
//! before right and parents last, a walk that sums it right-first is nearly three times as fast as
//! one that goes left-first. A pool that happens to run right halves first would win by that alone.
//! So a coin decides at every node which subtree is allocated first, and another coin decides
//! whether the node itself comes before or after its subtrees. Then the tree, its mirror image and
//! the reversed layout are equally likely, and no order of the two halves has an advantage. The row
//! of the rival `seq-right`, which walks right-first, checks this.

use super::{
    batch::ForkJoin,
    halves::{Half, InHalves},
};
use crate::{rival::Rival, rng::Rng};

pub(super) struct TreeSum {
    root: Box<Node>,
}

struct Node {
    value: u64,
    /// A full tree: a node has two children or none.
    children: Option<(Box<Node>, Box<Node>)>,
}

impl TreeSum {
    /// Builds a tree of 2^levels - 1 nodes, numbered from one.
    pub(super) fn new(levels: u32) -> Self {
        let mut grower = Grower { number: 0, coins: Rng::new(SEED) };
        Self { root: grower.grow(levels) }
    }
}

impl ForkJoin for TreeSum {
    fn run<R: Rival>(&self, ctx: &mut R::Ctx<'_>) -> u64 {
        sum::<R>(ctx, &self.root)
    }
}

impl InHalves for TreeSum {
    fn half<R: Rival>(&self, ctx: &mut R::Ctx<'_>, half: Half) -> u64 {
        match (&self.root.children, half) {
            (None, _) => 0,
            (Some((left, _)), Half::First) => sum::<R>(ctx, left),
            (Some((_, right)), Half::Second) => sum::<R>(ctx, right),
        }
    }

    fn whole(&self, [first, second]: [u64; 2]) -> u64 {
        self.root.value + first + second
    }
}

/// The same tree for every contestant.
const SEED: u64 = 24;

struct Grower {
    number: u64,
    coins: Rng,
}

impl Grower {
    fn grow(&mut self, levels: u32) -> Box<Node> {
        self.number += 1;
        let value = self.number;
        let node = || Box::new(Node { value, children: None });
        if levels == 1 {
            return node();
        }
        let early = self.coins.coin().then(node);
        let one = self.grow(levels - 1);
        let other = self.grow(levels - 1);
        let mut node = early.unwrap_or_else(node);
        node.children = Some(if self.coins.coin() { (one, other) } else { (other, one) });
        node
    }
}

fn sum<R: Rival>(ctx: &mut R::Ctx<'_>, node: &Node) -> u64 {
    let Some((left, right)) = &node.children else {
        return node.value;
    };
    let (a, b) = R::join(ctx, |ctx| sum::<R>(ctx, left), |ctx| sum::<R>(ctx, right));
    node.value + a + b
}

/// A common allocator spends 32 bytes on a node of 24.
pub(super) fn memory_bytes(levels: u32) -> u64 {
    32 << levels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rival::{Seq, SeqRight};

    #[test]
    fn sums_the_numbers_from_one() {
        let nodes = (1_u64 << 10) - 1;
        let tree = TreeSum::new(10);
        assert_eq!(tree.run::<Seq>(&mut ()), nodes * (nodes + 1) / 2);
        assert_eq!(tree.run::<SeqRight>(&mut ()), nodes * (nodes + 1) / 2);
    }

    #[test]
    fn neither_child_is_allocated_first_more_often() {
        fn count(node: &Node, left_first: &mut [u32; 2]) {
            let Some((left, right)) = &node.children else { return };
            // Subtrees are numbered in the order in which they are allocated.
            left_first[usize::from(left.value < right.value)] += 1;
            count(left, left_first);
            count(right, left_first);
        }
        let mut left_first = [0, 0];
        count(&TreeSum::new(14).root, &mut left_first);
        // 8,191 coins: six standard deviations are 272.
        assert!(left_first[0].abs_diff(left_first[1]) < 2 * 272, "{left_first:?}");
    }

    #[test]
    fn a_node_is_compact() {
        assert_eq!(size_of::<Node>(), 3 * size_of::<usize>());
    }
}
