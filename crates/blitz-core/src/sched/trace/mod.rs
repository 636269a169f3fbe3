//! Trace points of the signal scheduler: events of the crate `tracing`, at level TRACE and with
//! target `blitz::signal`, if the feature `tracing` is on; nothing otherwise.

#[cfg(feature = "tracing")]
mod events;
#[cfg(not(feature = "tracing"))]
mod nothing;

#[cfg(feature = "tracing")]
pub(super) use events::{permit_taken, signal_set, task_acquired};
#[cfg(not(feature = "tracing"))]
pub(super) use nothing::{permit_taken, signal_set, task_acquired};
