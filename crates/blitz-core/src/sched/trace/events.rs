//! The trace events of the bitmap scheduler.

#![forbid(unsafe_code)]

use blitz_parts::bitmap::Position;
use blitz_parts::task::Place;
use tracing::trace;

/// A task's bit was set. `activated` says that the bit of its leaf in the root word was set, too.
pub(in crate::sched) fn signal_set(place: Option<Place>, activated: bool) {
    let Some(Position { leaf, word, bit }) = place.map(Position::of) else { return };
    trace!(target: "blitz::signal", leaf, word, bit, "signal set");
    if activated {
        trace!(target: "blitz::signal", leaf, "leaf activated");
    }
}

/// A worker took a task out of the tree.
pub(in crate::sched) fn task_acquired(place: Option<Place>, worker: usize) {
    let Some(Position { leaf, word, bit }) = place.map(Position::of) else { return };
    trace!(target: "blitz::signal", worker, leaf, word, bit, "task acquired");
}

/// A worker took a permit.
pub(in crate::sched) fn permit_taken(worker: usize) {
    trace!(target: "blitz::signal", worker, "permit taken");
}
