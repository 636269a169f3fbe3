//! The timeline of a pool: what its workers did a moment ago.
//!
//! `take` reads the recorders, `timeline` makes slices and marks of the events of each thread,
//! `flows` leads from wakes to polls; `perfetto` and `chrome` write all of it for other programs.
//! `on` writes files when something happens.

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
