//! The sum over a full binary tree whose nodes live on the heap, one allocation each.

use super::{
    batch::ForkJoin,
    halves::{Half, InHalves},
};
use crate::rival::Rival;

pub(super) struct TreeSum {
    root: Box<Node>,
}

struct Node {
    value: u64,
    /// A full tree: a node has two children or none.
    children: Option<(Box<Node>, Box<Node>)>,
}

impl TreeSum {
    /// Builds a tree of 2^levels - 1 nodes, numbered in the order of a depth-first walk.
    pub(super) fn new(levels: u32) -> Self {
        Self { root: grow(levels, &mut 0) }
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

fn grow(levels: u32, next: &mut u64) -> Box<Node> {
    *next += 1;
    let value = *next;
    let children = (levels > 1).then(|| (grow(levels - 1, next), grow(levels - 1, next)));
    Box::new(Node { value, children })
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
    use crate::rival::Seq;

    #[test]
    fn sums_the_numbers_from_one() {
        let nodes = (1_u64 << 10) - 1;
        let sum = TreeSum::new(10).run::<Seq>(&mut ());
        assert_eq!(sum, nodes * (nodes + 1) / 2);
    }

    #[test]
    fn a_node_is_compact() {
        assert_eq!(size_of::<Node>(), 3 * size_of::<usize>());
    }
}
