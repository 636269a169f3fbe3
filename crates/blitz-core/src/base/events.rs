//! Events of the crate `tracing` that are rare: with the feature `tracing`, else nothing.

#![forbid(unsafe_code)]

/// A worker has not come back from one poll or job for many looks of the watch.
#[cfg(feature = "tracing")]
pub(crate) fn stalled(worker: usize, is_poll: bool, looks: u32) {
    let inside = if is_poll { "poll" } else { "job" };
    tracing::warn!(target: "blitz::stall", worker, inside, looks, "a worker does not come back");
}

/// The same without a listener.
#[cfg(not(feature = "tracing"))]
pub(crate) fn stalled(_: usize, _: bool, _: u32) {}
