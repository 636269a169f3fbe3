//! A full binary tree of forks without any work in it.

use std::hint::black_box;

use super::{
    batch::ForkJoin,
    halves::{Half, InHalves},
};
use crate::rival::Rival;

/// Counts its leaves, so that a lost subtree shows.
pub(super) struct EmptyTree(pub(super) u32);

impl ForkJoin for EmptyTree {
    fn run<R: Rival>(&self, ctx: &mut R::Ctx<'_>) -> u64 {
        leaves::<R>(ctx, self.0)
    }
}

impl InHalves for EmptyTree {
    fn half<R: Rival>(&self, ctx: &mut R::Ctx<'_>, _half: Half) -> u64 {
        leaves::<R>(ctx, self.0 - 1)
    }

    fn whole(&self, [first, second]: [u64; 2]) -> u64 {
        first + second
    }
}

fn leaves<R: Rival>(ctx: &mut R::Ctx<'_>, depth: u32) -> u64 {
    if depth == 0 {
        // Both halves are the same call. If the leaf were not opaque, the compiler would merge the
        // two calls of the sequential twin (`Seq`) into one.
        return black_box(1);
    }
    let (a, b) = R::join(ctx, |ctx| leaves::<R>(ctx, depth - 1), |ctx| leaves::<R>(ctx, depth - 1));
    a + b
}
