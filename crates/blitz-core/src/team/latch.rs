//! A latch for any thread: a worker of any pool, or a foreign thread.

use super::{Owner, Team, current};
use blitz_parts::latch::{JobLatch, Latch, OnceLatch};
use std::sync::Arc;

/// A latch for the thread that made it, whether or not that thread is a worker.
pub(crate) enum AnyLatch {
    /// A worker. Its team is kept alive, because the setter may belong to another team.
    Worker(JobLatch, Arc<Team>),
    /// A thread outside every pool.
    Foreign(OnceLatch),
}

impl AnyLatch {
    /// A latch for the current thread.
    pub(crate) fn for_current_thread() -> AnyLatch {
        match current() {
            Some(worker) => AnyLatch::for_worker(worker),
            None => AnyLatch::Foreign(OnceLatch::new()),
        }
    }

    /// A latch for the current thread's worker.
    pub(crate) fn for_worker(worker: Owner<'_>) -> AnyLatch {
        AnyLatch::Worker(JobLatch::new(worker.bed_ptr()), worker.team().arc())
    }

    /// Sets a shared latch. The reference keeps it alive during the call.
    pub(crate) fn set_shared(this: &Arc<AnyLatch>) {
        // SAFETY: the caller's count keeps the latch alive.
        unsafe { AnyLatch::set(Arc::as_ptr(this)) };
    }
}

// SAFETY: the pointer to the bed is only followed while the `Arc` beside it keeps the team, which
// holds the bed, alive; everything else is atomics.
unsafe impl Send for AnyLatch {}
// SAFETY: as above.
unsafe impl Sync for AnyLatch {}

impl Latch for AnyLatch {
    unsafe fn set(this: *const Self) {
        // SAFETY: `this` is live until the inner latch is set (obligation 1).
        match unsafe { &*this } {
            AnyLatch::Worker(latch, team) => {
                let latch = std::ptr::from_ref(latch);
                // Once the latch is set, the waiter may free it together with its reference to the
                // team. `JobLatch::set` still touches the bed, which the team holds.
                let team = team.clone();
                // SAFETY: the inner latch is live until it is set.
                unsafe { JobLatch::set(latch) };
                drop(team);
            }
            AnyLatch::Foreign(latch) => {
                let latch = std::ptr::from_ref(latch);
                // SAFETY: as above.
                unsafe { OnceLatch::set(latch) };
            }
        }
    }
}
