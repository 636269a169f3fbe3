//! What panics carry, and how to get rid of it.

use core::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a panic carries.
pub type Payload = Box<dyn Any + Send>;

/// How often a payload's drop may panic with another such payload before it is leaked.
const PANICS_IN_A_ROW: usize = 8;

/// Calls `f`; a panic is returned.
#[inline]
pub(crate) fn caught<R>(f: impl FnOnce() -> R) -> Result<R, Payload> {
    catch_unwind(AssertUnwindSafe(f))
}

/// Drops a panic's payload, or a value of the user's whose panic shall not be reported. Its drop
/// may panic in turn, and that of what the panic carries as well; after a few of them the last is
/// left alone.
///
/// ```
/// struct Bomb;
/// impl Drop for Bomb {
///     fn drop(&mut self) {
///         panic!("boom");
///     }
/// }
/// blitz_parts::panic::discard(Bomb);
/// ```
#[cold]
pub fn discard<T>(payload: T) {
    let mut outcome = caught(|| drop(payload));
    for _ in 0..PANICS_IN_A_ROW {
        match outcome {
            Ok(()) => return,
            Err(again) => outcome = caught(|| drop(again)),
        }
    }
    core::mem::forget(outcome);
}
