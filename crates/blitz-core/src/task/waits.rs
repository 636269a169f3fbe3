//! Lists the waits that block a thread of a pool, for `explain`.

#![forbid(unsafe_code)]

use crate::base::context::{self, Frame};
use crate::state::{Wait, WaitsFor};
use crate::team::{current, entered};

/// Calls `wait`, which blocks the current thread, and lists the wait meanwhile.
///
/// Waits of threads that do not belong to a pool are not listed.
pub(super) fn listed<R>(waits_for: WaitsFor, wait: impl FnOnce() -> R) -> R {
    let (frame, task) = (Frame::here(), context::task());
    match current() {
        Some(owner) => {
            let _listing = owner.team().waits.list(owner.wait_at(frame, task, waits_for));
            wait()
        }
        None => {
            let team = entered().filter(|team| team.blocking.is_here());
            let wait_at = || Wait { frame, task, worker: None, run: None, waits_for };
            let _listing = team.as_ref().map(|team| team.waits.list(wait_at()));
            wait()
        }
    }
}
