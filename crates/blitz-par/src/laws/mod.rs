//! Laws that hold however a loop is cut, tested with scripts and on pools.

mod calls;
mod drops;
mod early;
mod numbers;
mod own;
mod pieces;
mod product;
mod same;
mod sorts;
mod surface;
mod units;

use crate::script::play;
use blitz_core::Pool;
use std::sync::OnceLock;

/// How many scripts test each law.
const SEEDS: u64 = 24;

/// Tests `law` with scripts, from a thread outside every pool, and on pools of 1, 2, 8 and 64
/// workers. Tests share the pool of 64, so that its threads start once.
fn everywhere(law: impl Fn() + Sync) {
    static LARGE: OnceLock<Pool> = OnceLock::new();
    scripted(&law);
    // Not inside of `install`: this loop runs on the global pool.
    law();
    LARGE.get_or_init(|| Pool::builder().workers(64).build().unwrap()).install(&law);
    for workers in [1, 2, 8] {
        let pool = Pool::builder().workers(workers).build().unwrap();
        (0..4).for_each(|_| pool.install(&law));
    }
}

/// Tests `law` with scripts.
fn scripted(law: impl Fn()) {
    (0..SEEDS).for_each(|seed| play(seed, &law));
}

/// Ignores a result.
fn ignore<T>(_result: T) {}
