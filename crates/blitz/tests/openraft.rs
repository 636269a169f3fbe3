//! Runs openraft's test suite for runtimes on Blitz: tasks, timers, channels, cancellation.

#[path = "../../../ecosystem/adapters/src/openraft.rs"]
#[allow(dead_code, missing_docs, unreachable_pub, reason = "a module of another package")]
mod adapter;
mod common;

use adapter::BlitzRuntime;
use common::watched;
use openraft_rt::testing::Suite;

/// Some tests of the suite expect that a sleep ends in time, or that a sleep has not ended yet. On
/// a busy machine these tests pass only with a clock that stands still.
const PAUSED: bool = true;

#[test]
fn the_suite_passes() {
    watched("the_suite_passes", |_| Suite::<BlitzRuntime<PAUSED>>::test_all());
}
