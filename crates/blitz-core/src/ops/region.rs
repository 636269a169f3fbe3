//! `region`: a name for a part of a computation.

#![forbid(unsafe_code)]

use crate::team::{NotedRegion, Owner, current};

/// Calls `f` and shows the call by this name in the worker's [timeline](crate::Pool::trace).
///
/// [`PoolMetrics::regions`](crate::PoolMetrics::regions) has the number of calls and their times by
/// name. Regions nest. Jobs that `f` forks appear on the workers that run them. A region costs some
/// tens of nanoseconds.
///
/// On a thread that is not a worker nothing is recorded. The thread that calls `block_on` or runs
/// the body of `#[blitz::main]` is usually not a worker (an exception is
/// [`use_current_thread`](crate::PoolBuilder::use_current_thread)): open the region in a task, a
/// job or [`install`](crate::install).
///
/// ```
/// let pool = blitz::Pool::builder().workers(2).build().unwrap();
/// let sum = pool.install(|| blitz::region("sum", || (1..=4).sum::<i32>()));
/// assert_eq!(sum, 10);
/// let trace = pool.trace(std::time::Duration::from_secs(1));
/// let mut slices = trace.tracks.iter().flat_map(|track| &track.slices);
/// assert!(slices.any(|slice| slice.name == "sum"));
/// ```
pub fn region<R>(name: &'static str, f: impl FnOnce() -> R) -> R {
    let _region = current().map(|owner| Region::begin(owner, name));
    f()
}

/// Ends the region even if its closure panics.
struct Region<'a>(Owner<'a>, NotedRegion);

impl<'a> Region<'a> {
    fn begin(owner: Owner<'a>, name: &'static str) -> Region<'a> {
        Region(owner, owner.note_region_begin(name))
    }
}

impl Drop for Region<'_> {
    fn drop(&mut self) {
        self.0.note_region_end(&self.1);
    }
}
