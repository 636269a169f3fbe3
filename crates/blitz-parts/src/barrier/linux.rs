//! `membarrier(2)`, PRIVATE_EXPEDITED.

use crate::prim::{AtomicBool, Relaxed};
use rustix::thread::{MembarrierCommand, membarrier, membarrier_query};
use std::sync::OnceLock;

/// Whether the kernel has refused a barrier to this process after the process was registered.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Whether the process is registered for expedited barriers and none was refused.
pub(super) fn available() -> bool {
    is_registered() && !REFUSED.load(Relaxed)
}

/// Registers the process for expedited barriers, once; false where the kernel refuses.
fn is_registered() -> bool {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    *REGISTERED.get_or_init(|| {
        let offered = membarrier_query();
        offered.contains_command(MembarrierCommand::PrivateExpedited)
            && offered.contains_command(MembarrierCommand::RegisterPrivateExpedited)
            && membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
    })
}

/// Runs a full barrier on every running thread of this process. Returns false if the kernel
/// refuses, or has refused before.
pub(super) fn heavy() -> bool {
    if !available() {
        return false;
    }
    let passed = membarrier(MembarrierCommand::PrivateExpedited).is_ok();
    if !passed {
        // A registered process is refused by a seccomp filter, which is never removed, or because
        // the kernel lacks memory, which hardly ever happens. Treat both as permanent.
        REFUSED.store(true, Relaxed);
    }
    passed
}
