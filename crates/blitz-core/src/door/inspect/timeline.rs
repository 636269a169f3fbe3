//! A trace for the page: coarse enough for any number of workers.
//!
//! The window is divided into cells. Slices that are shorter than a cell and begin in the same cell
//! are merged into one, with their count. So the size of the answer hardly depends on how much was
//! recorded. Regions are not merged, and all marks of trouble are kept.

#![forbid(unsafe_code)]

use super::summary::{big, nanos};
use crate::door::dump::json::{inner, list, null, object, string};
use crate::door::trace::{MarkKind, SliceKind, Trace, TraceMark, TraceSlice, TraceTrack};
use std::collections::HashMap;
use std::time::Duration;

/// How many cells all tracks have together.
const CELLS: usize = 40_000;
/// How many cells a track has at least and at most.
const CELLS_PER_TRACK: (usize, usize) = (200, 4_000);

/// Names by number: most slices have the same few names.
#[derive(Default)]
struct Names<'a> {
    numbers: HashMap<&'a str, usize>,
    names: Vec<&'a str>,
}

impl<'a> Names<'a> {
    fn number(&mut self, name: &'a str) -> usize {
        let Names { numbers, names } = self;
        *numbers.entry(name).or_insert_with(|| {
            names.push(name);
            names.len() - 1
        })
    }
}

pub(super) fn fields(trace: &Trace) -> String {
    let per_track = CELLS / trace.tracks.len().max(1);
    let cells = per_track.clamp(CELLS_PER_TRACK.0, CELLS_PER_TRACK.1);
    let window = trace.end.saturating_sub(first(trace));
    let cell = (window / u32::try_from(cells).unwrap_or(u32::MAX)).max(Duration::from_nanos(1));
    let mut names = Names::default();
    let tracks: Vec<_> =
        trace.tracks.iter().map(|track| of(track, trace, cell, &mut names)).collect();
    inner([
        ("begin_ns", nanos(first(trace))),
        ("end_ns", nanos(trace.end)),
        ("lost", big(trace.lost)),
        ("cell_us", micros(cell)),
        ("names", list(names.names.iter().map(|name| string(name)))),
        ("tracks", list(tracks)),
    ])
}

/// The time of the first event in the trace.
fn first(trace: &Trace) -> Duration {
    let slices = trace.tracks.iter().filter_map(|track| Some(track.slices.first()?.begin));
    let marks = trace.tracks.iter().filter_map(|track| Some(track.marks.first()?.at));
    slices.chain(marks).min().unwrap_or(trace.begin).max(trace.begin)
}

fn of<'a>(track: &'a TraceTrack, trace: &Trace, cell: Duration, names: &mut Names<'a>) -> String {
    let begin = first(trace);
    let slices = grouped(&track.slices, begin, cell).into_iter().map(|group| {
        let longest = group.longest;
        list([
            string(longest.kind.name()),
            names.number(&longest.name).to_string(),
            micros(group.begin.saturating_sub(begin)),
            micros(group.end.saturating_sub(group.begin)),
            group.count.to_string(),
            u8::from(longest.is_open).to_string(),
        ])
    });
    let slices: Vec<_> = slices.collect();
    let marks = thinned(&track.marks, begin, cell).map(|mark| {
        let at = micros(mark.at.saturating_sub(begin));
        list([string(mark.kind.name()), names.number(&mark.name).to_string(), at])
    });
    let marks: Vec<_> = marks.collect();
    object([
        ("name", string(&track.name)),
        ("tid", track.thread.map_or_else(null, |thread| thread.to_string())),
        ("slices", list(slices)),
        ("marks", list(marks)),
    ])
}

/// Slices that are merged into one.
struct Group<'a> {
    longest: &'a TraceSlice,
    begin: Duration,
    end: Duration,
    count: usize,
}

/// The cell of a moment.
fn cell_of(at: Duration, begin: Duration, cell: Duration) -> u128 {
    at.saturating_sub(begin).as_nanos() / cell.as_nanos().max(1)
}

fn grouped(slices: &[TraceSlice], begin: Duration, cell: Duration) -> Vec<Group<'_>> {
    let length = |slice: &TraceSlice| slice.end.saturating_sub(slice.begin);
    let merges = |slice: &TraceSlice| length(slice) < cell && slice.kind != SliceKind::Region;
    let mut groups = Vec::<Group<'_>>::new();
    for slice in slices {
        let last = groups.last_mut().filter(|last| {
            merges(slice)
                && merges(last.longest)
                && cell_of(last.begin, begin, cell) == cell_of(slice.begin, begin, cell)
        });
        match last {
            Some(last) => {
                last.end = last.end.max(slice.end);
                last.count += 1;
                if length(slice) > length(last.longest) {
                    last.longest = slice;
                }
            }
            None => {
                groups.push(Group { longest: slice, begin: slice.begin, end: slice.end, count: 1 });
            }
        }
    }
    groups
}

/// Keeps all marks of trouble, and one mark of each other kind per cell.
fn thinned(
    marks: &[TraceMark],
    begin: Duration,
    cell: Duration,
) -> impl Iterator<Item = &TraceMark> {
    let mut last = HashMap::new();
    marks.iter().filter(move |mark| {
        let own = cell_of(mark.at, begin, cell);
        let is_trouble = matches!(mark.kind, MarkKind::Stall | MarkKind::Rescue);
        last.insert(mark.kind, own) != Some(own) || is_trouble
    })
}

/// Microseconds with a decimal point.
fn micros(time: Duration) -> String {
    format!("{}.{:03}", time.as_micros(), time.subsec_nanos() % 1_000)
}

#[cfg(test)]
mod tests {
    use super::grouped;
    use crate::door::trace::{SliceKind, TraceSlice};
    use std::time::Duration;

    #[test]
    fn short_slices_are_merged_and_regions_are_not() {
        let micros = Duration::from_micros;
        let slice = |kind, begin, end| TraceSlice::of(kind, micros(begin), micros(end));
        let slices = [
            slice(SliceKind::Poll, 0, 1),
            slice(SliceKind::Job, 1, 3),
            slice(SliceKind::Region, 3, 4),
            slice(SliceKind::Poll, 4, 7),
            slice(SliceKind::Poll, 7, 8),
        ];
        let groups = grouped(&slices, Duration::ZERO, micros(100));
        let groups: Vec<_> = groups.iter().map(|g| (g.longest.kind, g.count)).collect();
        assert_eq!(groups, [(SliceKind::Job, 2), (SliceKind::Region, 1), (SliceKind::Poll, 2)]);
    }
}
