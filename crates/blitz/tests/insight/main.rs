//! Looking inside of a pool: explanations, probes, stalls, tasks, timelines and metrics, and files
//! for other programs.

mod blocked;
#[path = "../common/mod.rs"]
mod common;
mod explain;
mod export;
mod on;
mod probes;
mod scrape;
mod stalls;
mod tasks;
mod timeline;

use blitz::{Trace, TraceSlice, TraceTrack};
use std::time::Duration;

/// The length of a trace that has everything that is still recorded.
const ALL: Duration = Duration::from_secs(3_600);

/// Returns the slices of all tracks whose names contain `name`.
fn slices<'a>(trace: &'a Trace, name: &str) -> Vec<&'a TraceSlice> {
    let slices = trace.tracks.iter().flat_map(|track| &track.slices);
    slices.filter(|slice| slice.name.contains(name)).collect()
}

/// Returns the only slice of a track that has this name.
fn slice<'a>(track: &'a TraceTrack, name: &str) -> &'a TraceSlice {
    let mut found = track.slices.iter().filter(|slice| slice.name == name);
    let first = found.next().unwrap_or_else(|| panic!("no {name} in {track:?}"));
    assert!(found.next().is_none(), "{name} twice in {track:?}");
    first
}
