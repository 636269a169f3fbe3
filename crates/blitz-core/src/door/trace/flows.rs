//! Connects each wake to the poll that it caused.

#![forbid(unsafe_code)]

use super::model::{MarkKind, TraceTrack};
use std::collections::HashMap;
use std::time::Duration;

/// A wake or a poll: its track, its place there, whether it is a wake.
type Place = (usize, usize, bool);

/// Gives each wake and the next poll of its task a common number.
pub(super) fn connect(tracks: &mut [TraceTrack]) {
    let mut by_task = HashMap::<u64, Vec<(Duration, Place)>>::new();
    for (track, found) in tracks.iter().enumerate() {
        let wakes = found.marks.iter().enumerate().filter(|(_, m)| m.kind == MarkKind::Wake);
        for (place, mark) in wakes {
            by_task.entry(mark.task).or_default().push((mark.at, (track, place, true)));
        }
        for (place, slice) in found.slices.iter().enumerate().filter(|(_, s)| s.task != 0) {
            by_task.entry(slice.task).or_default().push((slice.begin, (track, place, false)));
        }
    }
    let mut flow = 0;
    for places in by_task.values_mut() {
        // If the times are equal, the wake comes first.
        places.sort_by_key(|&(at, (_, _, is_wake))| (at, !is_wake));
        for pair in places.windows(2) {
            let [(_, (from, mark, true)), (_, (to, slice, false))] = *pair else { continue };
            flow += 1;
            tracks[from].marks[mark].flow = Some(flow);
            tracks[to].slices[slice].flow = Some(flow);
        }
    }
}
