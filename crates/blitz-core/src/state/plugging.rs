//! Whether a driver can still be plugged in.

#![forbid(unsafe_code)]

use blitz_parts::prim::{Mutex, MutexGuard};
use std::sync::PoisonError;

/// Keeps two drivers from being made at once, and a driver from being plugged in after the pool's
/// end.
#[derive(Default)]
pub(crate) struct Plugging {
    over: Mutex<bool>,
}

impl Plugging {
    /// Returns the right to plug a driver in. The guarded value is true if the pool has ended.
    pub(crate) fn lock(&self) -> MutexGuard<'_, bool> {
        self.over.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
