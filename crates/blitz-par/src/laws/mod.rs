//! Laws that hold however a loop is cut, tested with scripts and on pools.

mod calls;
mod drops;
mod early;
mod numbers;
mod own;
mod pieces;
mod same;
mod sorts;
mod surface;
mod units;

use crate::script::play;
use blitz_core::Pool;

/// How many scripts test each law.
const SEEDS: u64 = 24;

/// Tests `law` with scripts, and on pools of 1, 2 and 8 workers.
fn everywhere(law: impl Fn() + Sync) {
    scripted(&law);
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
