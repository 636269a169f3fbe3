//! Rare events for the crate `tracing`. Without the feature `tracing` nothing happens.

#![forbid(unsafe_code)]

/// Reports that a worker was in one poll or job for many rounds of the watch.
#[cfg(feature = "tracing")]
pub(crate) fn stalled(worker: usize, is_poll: bool, looks: u32) {
    let inside = if is_poll { "poll" } else { "job" };
    tracing::warn!(target: "blitz::stall", worker, inside, looks, "a worker does not come back");
}

/// Does nothing without the feature `tracing`.
#[cfg(not(feature = "tracing"))]
pub(crate) fn stalled(_: usize, _: bool, _: u32) {}
