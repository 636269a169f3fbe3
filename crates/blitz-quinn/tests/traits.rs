//! Checks that the public type is `Send`, `Sync` and `Debug`. `cargo xtask tidy` finds public types
//! that are missing.

use blitz_quinn::BlitzRuntime;
use std::fmt::Debug;

fn shared<T: Send + Sync + Debug>() {}

#[test]
fn the_runtime_for_quinn() {
    shared::<BlitzRuntime>();
}
