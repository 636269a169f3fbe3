//! Readings of the counters by type of task, and of the recorders.

#![forbid(unsafe_code)]

use crate::state::{Histogram, Labels};
use crate::team::Team;
use blitz_parts::ticks;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

/// Polls and times of the tasks of one type. These are estimates: only a sample of short polls is
/// timed.
///
/// ```
/// async fn handler() {
///     blitz::task::yield_now().await;
/// }
/// let pool = blitz::Pool::builder().workers(1).build().unwrap();
/// pool.spawn(handler()).join().unwrap();
/// let types = pool.metrics().types;
/// assert!(types.iter().any(|row| row.name.contains("handler")));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TypeMetrics {
    /// The name of the future's type, as the compiler writes it.
    pub name: &'static str,
    /// How many times tasks of the type were polled.
    pub polls: u64,
    /// The time spent in these polls.
    pub busy: Duration,
    /// 99 of 100 of these polls took less than this, which is a power of two of nanoseconds, or
    /// [`Duration::MAX`] for more than half a minute.
    pub p99: Duration,
}

impl TypeMetrics {
    /// The readings of all types, the busiest first.
    pub(super) fn of(team: &Team) -> Vec<TypeMetrics> {
        let names = team.labels.all();
        let mut sums = HashMap::<&'static str, (u64, u64, Histogram)>::new();
        let rows = team.workers().flat_map(|worker| worker.insight.types.iter());
        for row in rows.filter(|row| row.polls.get() > 0) {
            let is_other = row.name == Labels::OTHER;
            let name = names.get(usize::from(row.name.0)).filter(|_| !is_other);
            let sum = sums.entry(name.copied().unwrap_or("other")).or_default();
            sum.0 += row.polls.get();
            sum.1 += row.ticks.get();
            row.times.add_to(&mut sum.2);
        }
        let sums = sums.into_iter();
        let mut rows: Vec<_> = sums
            .map(|(name, (polls, busy, times))| TypeMetrics {
                name,
                polls,
                busy: ticks::to_duration(busy),
                p99: times.quantile(0.99).unwrap_or_default(),
            })
            .collect();
        rows.sort_by_key(|row| (Reverse(row.busy), row.name));
        rows
    }
}

/// How many events were recorded, including those that were overwritten since.
///
/// ```
/// let pool = blitz::Pool::builder().workers(1).trace_memory(0).build().unwrap();
/// pool.install(|| ());
/// assert_eq!(pool.metrics().trace.busy, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceMetrics {
    /// Polls and jobs of workers.
    pub busy: u64,
    /// Other events of workers.
    pub rare: u64,
    /// Events of other threads.
    pub outside: u64,
    /// Events that were lost because two threads wrote to the same place.
    pub lost: u64,
}

impl TraceMetrics {
    pub(super) fn of(team: &Team) -> TraceMetrics {
        let recorders = || team.workers().map(|worker| &worker.insight.recorder);
        TraceMetrics {
            busy: recorders().map(|recorder| recorder.busy.recorded()).sum(),
            rare: recorders().map(|recorder| recorder.rare.recorded()).sum(),
            outside: team.lane.recorded(),
            lost: team.lane.lost(),
        }
    }
}
