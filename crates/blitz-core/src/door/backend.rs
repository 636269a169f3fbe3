//! How a builder configures a driver whose type it does not know.

#![forbid(unsafe_code)]

use super::handle::Handle;
use blitz_parts::prim::{AtomicBool, Relaxed};
use std::any::Any;
use std::io;

/// A pool's way to do file and socket operations.
///
/// [`PoolBuilder::backend`](crate::PoolBuilder::backend) takes a value of a type with this trait.
/// `blitz::Backend` is the only implementation.
pub trait IoBackend: Any + Send + Sync {
    /// Called at the end of `build`, with the new pool.
    ///
    /// # Errors
    /// If the system lacks what the backend needs: then the pool is not built.
    fn prepare(&self, pool: &Handle) -> io::Result<()>;
}

/// Whether any pool's clock was ever paused.
static EVER_STOPPED: AtomicBool = AtomicBool::new(false);

/// Whether the clock of any pool was ever paused. Before the first pause there is only one clock,
/// the system's.
#[inline]
#[must_use]
pub fn is_any_clock_stopped() -> bool {
    EVER_STOPPED.load(Relaxed)
}

/// Notes that the clock of some pool is paused from now on.
pub fn note_stopped_clock() {
    EVER_STOPPED.store(true, Relaxed);
}
