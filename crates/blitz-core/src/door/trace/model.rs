//! The data of a trace.

#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::panic::Location;
use std::time::Duration;

/// The timeline of a pool: see [`Pool::trace`](crate::Pool::trace).
///
/// Times are measured from a fixed moment of the process, the same for all traces.
///
/// ```
/// let pool = blitz::Pool::builder().workers(1).build().unwrap();
/// pool.install(|| blitz::region("load", || ()));
/// let trace = pool.trace(std::time::Duration::from_secs(5));
/// assert!(trace.tracks[0].slices.iter().any(|slice| slice.name == "load"));
/// assert!(trace.to_chrome_json().contains("load"));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Trace {
    /// The workers by index, then threads that may block, then the watch.
    pub tracks: Vec<TraceTrack>,
    /// The earliest time that the trace covers.
    pub begin: Duration,
    /// When the trace was taken.
    pub end: Duration,
    /// Events that were overwritten before the trace was taken, or lost because two threads wrote
    /// to the same place.
    pub lost: u64,
    /// The wall-clock time of `end`, since the Unix epoch.
    pub(super) wall: Duration,
}

/// One thread in a [`Trace`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TraceTrack {
    /// A name for the thread, such as `worker 0`.
    pub name: String,
    /// The system's id of the thread, if it is known.
    pub thread: Option<u32>,
    /// Intervals, ordered by when they began; an outer one comes before an inner one.
    pub slices: Vec<TraceSlice>,
    /// Events at one moment, in order.
    pub marks: Vec<TraceMark>,
}

/// An interval of time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceSlice {
    /// Its kind.
    pub kind: SliceKind,
    /// The type of the task or closure, the name of the region, or another description.
    pub name: Cow<'static, str>,
    /// When it began, or the beginning of the trace if it began earlier.
    pub begin: Duration,
    /// When it ended, or the end of the trace if it has not ended.
    pub end: Duration,
    /// Whether it had not ended when the trace was taken.
    pub is_open: bool,
    /// Where its task was spawned. Known for polls of tasks that have waited before and had not
    /// ended when the trace was taken.
    pub site: Option<&'static Location<'static>>,
    pub(super) task: u64,
    pub(super) flow: Option<u64>,
}

/// An event at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceMark {
    /// Its kind.
    pub kind: MarkKind,
    /// A description.
    pub name: Cow<'static, str>,
    /// When it happened.
    pub at: Duration,
    pub(super) task: u64,
    pub(super) flow: Option<u64>,
}

/// The kinds of [`TraceSlice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SliceKind {
    /// One poll of a task.
    Poll,
    /// A job, except private forks.
    Job,
    /// Polls and jobs that are too short to be recorded one by one.
    Batch,
    /// A region: see [`region`](crate::region).
    Region,
    /// Sleep of a worker.
    Park,
    /// A spare at work.
    Spare,
    /// A closure of [`spawn_blocking`](crate::spawn_blocking).
    Blocking,
}

/// The kinds of [`TraceMark`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MarkKind {
    /// A task became runnable.
    Wake,
    /// A worker stole from another worker.
    Steal,
    /// The watch found a worker that is stuck in a poll or job.
    Stall,
    /// The watch took a task from a stuck worker.
    Rescue,
}

impl Trace {
    /// How many workers sleep, at the beginning of the trace and after each change. Empty if none
    /// has slept.
    pub(super) fn sleepers(&self) -> Vec<(Duration, u64)> {
        let parks = self.tracks.iter().flat_map(|track| &track.slices);
        let parks = parks.filter(|slice| slice.kind == SliceKind::Park);
        let mut changes = BTreeMap::<Duration, i64>::new();
        for slice in parks {
            *changes.entry(slice.begin).or_default() += 1;
            // An open slice ends with the trace, but its worker sleeps on.
            if !slice.is_open {
                *changes.entry(slice.end).or_default() -= 1;
            }
        }
        if !changes.is_empty() {
            changes.entry(self.begin).or_default();
        }
        let sums = changes.into_iter().scan(0_i64, |sum, (at, change)| {
            *sum += change;
            Some((at, u64::try_from(*sum).unwrap_or(0)))
        });
        sums.collect()
    }
}

impl TraceSlice {
    /// A slice for tests, which has ended.
    #[cfg(all(test, feature = "inspect"))]
    pub(in crate::door) fn of(kind: SliceKind, begin: Duration, end: Duration) -> TraceSlice {
        let name = kind.name().into();
        TraceSlice { kind, name, begin, end, is_open: false, site: None, task: 0, flow: None }
    }

    /// Further details for tools.
    pub(super) fn details(&self) -> Vec<(&'static str, String)> {
        let task = (self.task != 0).then(|| ("task", format!("{:#x}", self.task)));
        let site = self.site.map(|site| ("site", site.to_string()));
        task.into_iter().chain(site).collect()
    }
}

impl SliceKind {
    /// Returns the kind in one word.
    pub(in crate::door) fn name(self) -> &'static str {
        match self {
            SliceKind::Poll => "poll",
            SliceKind::Job => "job",
            SliceKind::Batch => "batch",
            SliceKind::Region => "region",
            SliceKind::Park => "park",
            SliceKind::Spare => "spare",
            SliceKind::Blocking => "blocking",
        }
    }
}

impl MarkKind {
    /// Returns the kind in one word.
    pub(in crate::door) fn name(self) -> &'static str {
        match self {
            MarkKind::Wake => "wake",
            MarkKind::Steal => "steal",
            MarkKind::Stall => "stall",
            MarkKind::Rescue => "rescue",
        }
    }
}
