//! The timeline of a pool: what its workers did recently.
//!
//! `take` reads the recorders. `timeline` turns the events of each thread into slices and marks.
//! `flows` connects wakes to polls. `perfetto` and `chrome` write the result in two file formats.
//! `on` writes files when a trigger fires.

mod chrome;
mod clock;
mod flows;
mod model;
pub(super) mod on;
mod perfetto;
mod protobuf;
mod take;
mod timeline;

pub use model::{MarkKind, SliceKind, Trace, TraceMark, TraceSlice, TraceTrack};
