//! Takes a trace of a team.

#![forbid(unsafe_code)]

use super::clock::Clock;
use super::flows::connect;
use super::model::{Trace, TraceTrack};
use super::timeline::{Spelled, Timeline};
use crate::door::task_refs::references;
use crate::task::Id;
use crate::team::{Team, Worker};
use blitz_parts::recorder::{Event, Kind, Snapshot};
use blitz_parts::thread::ThreadId;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

impl Trace {
    /// Makes a trace of `team` for the period of length `last` that ends now. Stops no worker.
    pub(in crate::door) fn of(team: &Team, last: Duration) -> Trace {
        let lanes: Vec<_> = team.workers().map(Lanes::of).collect();
        let outside = team.lane.read();
        // Read the clock after the events, so that each of them is older.
        let clock = Clock::now(last);
        let names = Spelled(team.labels.all());
        let lost = lanes.iter().map(Lanes::lost).sum::<u64>() + lost(&outside);
        let workers = team.workers().zip(lanes).map(|(worker, lanes)| {
            let mut timeline = Timeline::new(&clock, &names);
            lanes.in_order(&clock).for_each(|event| timeline.add(&event));
            let name = format!("worker {}", worker.index());
            let thread = worker.seat.thread().map(|thread| thread.to_bits());
            timeline.finish(name, thread)
        });
        let mut tracks: Vec<_> = workers.collect();
        let threads = team.blocking.thread_ids();
        tracks.extend(outside_tracks(&outside.events, &clock, &names, &threads));
        connect(&mut tracks);
        locate(team, &mut tracks);
        Trace { tracks, begin: clock.begin(), end: clock.end(), lost, wall: clock.wall() }
    }
}

/// Sets the spawn location of each poll whose task is alive.
fn locate(team: &Team, tracks: &mut [TraceTrack]) {
    let tasks = references(team);
    let sites: HashMap<_, _> =
        tasks.iter().map(|task| (Id::of(task).number(), task.site())).collect();
    for slice in tracks.iter_mut().flat_map(|track| &mut track.slices) {
        slice.site = sites.get(&slice.task).copied();
    }
}

/// The snapshots of a worker's lanes.
struct Lanes {
    busy: Snapshot,
    rare: Snapshot,
}

impl Lanes {
    fn of(worker: &Worker) -> Lanes {
        let recorder = &worker.insight.recorder;
        Lanes { busy: recorder.busy.read(), rare: recorder.rare.read() }
    }

    fn lost(&self) -> u64 {
        lost(&self.busy) + lost(&self.rare)
    }

    /// All events of the worker in order. If two have the same time, the event of the busy lane
    /// comes first, because it counts or ends earlier polls and jobs.
    fn in_order(self, clock: &Clock) -> impl Iterator<Item = Event> {
        let mut events = self.busy.events;
        events.extend(self.rare.events);
        events.sort_by_key(|event| Reverse(clock.age(event.ticks)));
        events.into_iter()
    }
}

/// Returns how many recorded events of a lane are missing in its snapshot.
fn lost(snapshot: &Snapshot) -> u64 {
    snapshot.recorded.saturating_sub(snapshot.events.len() as u64)
}

/// Returns a track for each thread that runs blocking closures, and one for the watch.
///
/// `ids` has the system's ids of those threads that have not ended.
fn outside_tracks(
    events: &[Event],
    clock: &Clock,
    names: &Spelled,
    ids: &BTreeMap<u64, ThreadId>,
) -> Vec<TraceTrack> {
    let mut threads = BTreeMap::<u64, Timeline<'_>>::new();
    let mut watch = Timeline::new(clock, names);
    for event in events {
        if matches!(event.kind, Kind::BLOCKING_BEGIN | Kind::BLOCKING_END) {
            let timeline = threads.entry(event.id);
            timeline.or_insert_with(|| Timeline::new(clock, names)).add(event);
        } else {
            watch.add(event);
        }
    }
    let threads = threads.into_iter();
    let mut tracks: Vec<_> = threads
        .map(|(number, timeline)| {
            let id = ids.get(&number).map(|id| id.to_bits());
            timeline.finish(format!("blocking {number}"), id)
        })
        .collect();
    tracks.push(watch.finish("watch".to_owned(), None));
    tracks.retain(|track| !track.slices.is_empty() || !track.marks.is_empty());
    tracks
}
