//! Unbalanced tree search: a tree whose shape comes out of a hash, so that the size of a subtree is
//! unknown until it is walked. It follows the benchmark of the same name, with binomial trees.

use super::batch::ForkJoin;
use crate::{rival::Rival, rng::mix};

/// The parameters of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Children of the root.
    pub root_children: u32,
    /// Children of any other node that has some.
    pub children: u32,
    /// How many nodes of a million have children. Multiplied by `children` it must stay below a
    /// million, or the tree grows with each level up to `depth_max`.
    pub parents_per_million: u32,
    /// Nodes at this depth have no children, which bounds the stack.
    pub depth_max: u32,
    /// Selects one of the trees of this shape.
    pub seed: u64,
}

impl Shape {
    /// Two thirds of its 474,969 nodes hang below one of the root's 2,000 children; most of the
    /// others have no children at all.
    pub const LOPSIDED: Self = Self {
        root_children: 2_000,
        children: 8,
        parents_per_million: 124_500,
        depth_max: 400,
        seed: 2,
    };
}

/// Counts the nodes.
pub(super) struct Uts(pub(super) Shape);

impl ForkJoin for Uts {
    fn run<R: Rival>(&self, ctx: &mut R::Ctx<'_>) -> u64 {
        let root = mix(self.0.seed);
        1 + siblings::<R>(ctx, &self.0, root, 1, 0..self.0.root_children)
    }
}

/// Counts the subtrees of some children of the node `parent`, halving their range at every fork.
fn siblings<R: Rival>(
    ctx: &mut R::Ctx<'_>,
    shape: &Shape,
    parent: u64,
    depth: u32,
    range: std::ops::Range<u32>,
) -> u64 {
    let count = range.end - range.start;
    if count == 1 {
        return subtree::<R>(ctx, shape, child(parent, range.start), depth);
    }
    let middle = range.start + count / 2;
    let (a, b) = R::join(
        ctx,
        |ctx| siblings::<R>(ctx, shape, parent, depth, range.start..middle),
        |ctx| siblings::<R>(ctx, shape, parent, depth, middle..range.end),
    );
    a + b
}

fn subtree<R: Rival>(ctx: &mut R::Ctx<'_>, shape: &Shape, node: u64, depth: u32) -> u64 {
    let is_parent = node % 1_000_000 < u64::from(shape.parents_per_million);
    if !is_parent || depth == shape.depth_max {
        return 1;
    }
    1 + siblings::<R>(ctx, shape, node, depth + 1, 0..shape.children)
}

/// The hash of a child, in a few rounds: the work of visiting a node.
fn child(parent: u64, index: u32) -> u64 {
    let mut hash = parent ^ u64::from(index);
    for _ in 0..8 {
        hash = mix(hash);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rival::Seq;

    #[test]
    fn the_lopsided_tree_has_the_documented_size() {
        assert_eq!(Uts(Shape::LOPSIDED).run::<Seq>(&mut ()), 474_969);
    }

    #[test]
    fn a_root_without_grandchildren_has_only_its_children() {
        let shape = Shape { parents_per_million: 0, ..Shape::LOPSIDED };
        assert_eq!(Uts(shape).run::<Seq>(&mut ()), 2_001);
    }
}
