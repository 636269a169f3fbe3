//! What `#[blitz::main]` and `#[blitz::test]` expand to a call of.

use crate::Builder;
use std::future::Future;

/// Runs `future` on a runtime of its own, which then ends.
///
/// # Panics
/// If the runtime cannot be built.
#[track_caller]
pub fn run<F: Future>(builder: Builder, future: F) -> F::Output {
    match builder.build() {
        Ok(runtime) => runtime.block_on(future),
        Err(error) => panic!("the runtime could not be built: {error}"),
    }
}
