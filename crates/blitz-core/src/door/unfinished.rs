//! The work that keeps a pool from ending.

#![forbid(unsafe_code)]

use crate::team::Team;
use std::error::Error;
use std::fmt;

/// The work that shutdown of a pool waits for, at some recent moment.
///
/// ```
/// let pool = blitz::Pool::builder().workers(2).build().unwrap();
/// let (go, wait) = std::sync::mpsc::channel::<()>();
/// let closure = pool.spawn_blocking(move || wait.recv());
/// assert_eq!(pool.handle().unfinished().blocking, 1);
/// go.send(()).unwrap();
/// closure.join().unwrap().unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unfinished {
    /// Closures of `spawn_blocking` that run or wait for a thread, including file operations.
    pub blocking: usize,
    /// Jobs that were spawned and have not ended, and calls of other threads that wait for jobs.
    pub jobs: usize,
    /// [Shielded](crate::task::shield) sections of tasks.
    pub shielded: usize,
    /// Workers that have not left. They leave when none of the above is left. A worker that stays
    /// is in a poll that does not return, or is the last worker, which cancels tasks or waits for
    /// file writes.
    pub workers: usize,
    /// Tasks of the Tokio guest that have not returned from a poll, once the guest is ending. At
    /// least 1 while a blocking closure or a thread of the guest is left.
    pub guest: usize,
}

impl Unfinished {
    pub(super) fn of(team: &Team) -> Unfinished {
        let reasons = team.life.holds();
        let (blocking, shielded) = (team.blocking.unfinished(), team.sections.len());
        let handle = usize::from(!team.is_closing());
        let jobs = reasons.saturating_sub(blocking + shielded + handle);
        let leaving = team.life.leaving().saturating_sub(handle);
        // The last worker has counted itself out, and now ends tasks and the driver, which may take
        // a while.
        let is_ending = handle == 0 && !team.ended().probe();
        let workers = leaving.max(usize::from(is_ending));
        let guest = team.ambient().map_or(0, |ambient| ambient.unfinished());
        Unfinished { blocking, jobs, shielded, workers, guest }
    }

    /// Whether nothing is left: the pool has ended.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocking + self.jobs + self.shielded + self.workers + self.guest == 0
    }
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("the pool has ended");
        }
        let kinds = [
            (self.blocking, "closure of spawn_blocking", "closures of spawn_blocking"),
            (self.jobs, "job", "jobs"),
            (self.shielded, "shielded section", "shielded sections"),
            (self.workers, "worker", "workers"),
            (self.guest, "task of the Tokio guest", "tasks of the Tokio guest"),
        ];
        let mut before = "the pool has not ended: it waits for ";
        for (count, one, many) in kinds.into_iter().filter(|(count, ..)| *count > 0) {
            write!(f, "{before}{count} {}", if count == 1 { one } else { many })?;
            before = ", ";
        }
        Ok(())
    }
}

impl Error for Unfinished {}
