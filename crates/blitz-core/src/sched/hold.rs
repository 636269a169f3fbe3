//! Holds, which keep the workers of a team running, and jobs with a hold.

use crate::team::Team;
use blitz_parts::job::{HeapJob, Work};
use std::sync::Arc;

/// Keeps the workers of a team running until it is dropped.
pub(crate) struct Hold(Arc<Team>);

impl Hold {
    /// Makes a hold for a caller that knows that the team has not ended.
    ///
    /// Such callers are the team's own workers, and owners of the pool.
    pub(crate) fn new(team: &Team) -> Hold {
        team.life.hold();
        Hold(team.arc())
    }

    /// Makes a hold for a worker of the team that leaves work to other threads. Returns `None` if
    /// the workers are leaving.
    pub(crate) fn while_at_work(team: &Team) -> Option<Hold> {
        team.life.hold_at_work().then(|| Hold(team.arc()))
    }

    /// Makes a hold for a caller to which the team's `Life` has granted one.
    pub(super) fn granted(team: &Arc<Team>) -> Hold {
        Hold(team.clone())
    }

    pub(crate) fn team(&self) -> &Arc<Team> {
        &self.0
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// Makes a job that may run after the caller has returned. The pool does not end before the job has
/// run. If the job panics, the panic goes to the pool's handler.
pub(crate) fn job(hold: Hold, f: impl FnOnce() + Send + 'static) -> Work {
    // SAFETY: the closure borrows nothing, is `Send`, and catches panics.
    unsafe {
        HeapJob::into_work(move || {
            hold.0.catch("a detached job", f);
            drop(hold);
        })
    }
}
