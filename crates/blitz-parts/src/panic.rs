//! The payloads of panics, and how to drop them.

use core::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The payload of a panic.
pub type Payload = Box<dyn Any + Send>;

/// How many payloads of panics in drops are dropped in turn, before the next one is leaked.
const PANICS_IN_A_ROW: usize = 8;

/// Calls `f`; returns its panic as an error.
#[inline]
pub(crate) fn caught<R>(f: impl FnOnce() -> R) -> Result<R, Payload> {
    catch_unwind(AssertUnwindSafe(f))
}

/// Drops a panic's payload, or a user's value whose panic is not to be reported. Its drop may panic
/// in turn, and the drop of that panic's payload may panic, too. After a few such panics the last
/// payload is leaked.
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
