//! `membarrier(2)`, PRIVATE_EXPEDITED.

use rustix::thread::{MembarrierCommand, membarrier, membarrier_query};
use std::sync::OnceLock;

/// Registers the process for expedited barriers, once; false where the kernel refuses.
pub(super) fn available() -> bool {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    *REGISTERED.get_or_init(|| {
        let offered = membarrier_query();
        offered.contains_command(MembarrierCommand::PrivateExpedited)
            && offered.contains_command(MembarrierCommand::RegisterPrivateExpedited)
            && membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
    })
}

/// A full barrier on every running thread of this process.
pub(super) fn heavy() {
    if available() {
        // After a successful registration the kernel has no reason left to refuse.
        membarrier(MembarrierCommand::PrivateExpedited).expect("membarrier was registered");
    }
}
