//! Readings of the counters by name of region.

#![forbid(unsafe_code)]

use crate::state::Labels;
use crate::team::Team;
use blitz_parts::ticks;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

/// Counts of the [regions](crate::region()) of one name that have ended.
///
/// A region is measured at its start and its end only, so a fork inside it costs no instruction
/// more. For the same reason there is no time of stolen forks, and no parallelism: see
/// [`analyze`](crate::analyze()).
///
/// ```
/// let pool = blitz::Pool::builder().workers(2).build().unwrap();
/// pool.install(|| blitz::region("load", || ()));
/// let regions = pool.metrics().regions;
/// assert_eq!((regions[0].name, regions[0].runs), ("load", 1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegionMetrics {
    /// The name. A worker counts 64 names; further ones are called `other`.
    pub name: &'static str,
    /// How many regions of this name have ended.
    pub runs: u64,
    /// The time from start to end of all these regions together, waits included. A region inside
    /// another one of the same name counts, too.
    pub wall: Duration,
    /// How many jobs other workers took meanwhile from the workers that ran these regions. Zero
    /// means that nothing ran in parallel.
    pub stolen: u64,
}

impl RegionMetrics {
    /// The readings of all names, the longest time first.
    pub(super) fn of(team: &Team) -> Vec<RegionMetrics> {
        let names = team.labels.all();
        let mut sums = HashMap::<&'static str, RegionMetrics>::new();
        for row in team.workers().flat_map(|worker| worker.insight.regions.iter()) {
            let is_other = row.name == Labels::OTHER;
            let name = names.get(usize::from(row.name.0)).filter(|_| !is_other);
            let name = name.copied().unwrap_or("other");
            let zero = RegionMetrics { name, runs: 0, wall: Duration::ZERO, stolen: 0 };
            let sum = sums.entry(name).or_insert(zero);
            sum.runs += row.runs.get();
            sum.wall += ticks::to_duration(row.ticks.get());
            sum.stolen += row.stolen.get();
        }
        let mut rows: Vec<_> = sums.into_values().filter(|row| row.runs > 0).collect();
        rows.sort_by_key(|row| (Reverse(row.wall), row.name));
        rows
    }
}
