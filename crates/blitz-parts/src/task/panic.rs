//! What panics carry, and how to get rid of it.

use core::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a panic carries.
pub type Payload = Box<dyn Any + Send>;

/// How often a payload's drop may panic with another such payload before it is leaked.
const PANICS_IN_A_ROW: usize = 8;

/// Calls `f`; a panic is returned.
#[inline]
pub(super) fn caught<R>(f: impl FnOnce() -> R) -> Result<R, Payload> {
    catch_unwind(AssertUnwindSafe(f))
}

/// Drops what a panic carries. Its own drop may panic in turn, and what that carries as well; after a few
/// of them the last is left alone.
#[cold]
pub(super) fn discard(payload: Payload) {
    let mut outcome = caught(|| drop(payload));
    for _ in 0..PANICS_IN_A_ROW {
        match outcome {
            Ok(()) => return,
            Err(again) => outcome = caught(|| drop(again)),
        }
    }
    core::mem::forget(outcome);
}
