//! What keeps a team at work: jobs that no frame waits for, calls from outside, shielded sections.

use super::cancel::cancel_tasks_soon;
use crate::team::Team;
use blitz_parts::job::{HeapJob, Work};
use blitz_parts::prim::{SeqCst, fence};
use std::sync::Arc;

/// Keeps the team at work.
pub(crate) struct Hold(Arc<Team>);

impl Hold {
    /// For callers that know that the team has not ended: its own workers, and owners of the pool.
    pub(crate) fn new(team: &Team) -> Hold {
        team.hold();
        Hold(team.arc())
    }

    /// For workers of the team, and for what other threads than they run. `None` if the workers are
    /// leaving.
    pub(crate) fn while_at_work(team: &Team) -> Option<Hold> {
        team.hold_while_at_work().then(|| Hold(team.arc()))
    }

    /// For every other caller. `None` if the team is ending or has ended: holds of others could keep
    /// the team for ever. A closure of the team itself that blocks may still hold it then.
    pub(crate) fn try_new(team: &Arc<Team>) -> Option<Hold> {
        let late = team.is_closing() && !team.blocking.is_here();
        if late || !team.hold_while_at_work() {
            return None;
        }
        let hold = Hold(team.clone());
        fence(SeqCst);
        if team.tasks_end() {
            // The thread that ended them may not have seen us, and what comes now may wait for one of
            // them.
            cancel_tasks_soon(team);
        }
        Some(hold)
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

/// Gives up a reason to poll tasks, and one to go on. With the last of the first kind tasks are
/// cancelled.
pub(crate) fn release_with_tasks(team: &Team) {
    let tasks_end = team.release_tasks();
    // If there is no other reason to go on the workers stop, and cancel then. One that came between
    // these two steps, a job of a task's last poll, is seen: it may wait for a task.
    if !team.release() && tasks_end && team.hold_while_at_work() {
        cancel_tasks_soon(team);
        team.release();
    }
}

/// As [`end_orphaned_sections`], if the handle is gone.
pub(crate) fn end_orphaned_sections_if_closing(team: &Team) {
    if team.is_closing() {
        end_orphaned_sections(team);
    }
}

/// Gives back what shielded sections hold whose task has ended. Called once the handle is gone: by the
/// thread that drops it, and by each worker that has nothing to do or has a fair turn, so that the one
/// that polled the task last does.
pub(crate) fn end_orphaned_sections(team: &Team) {
    if team.sections.len() > 0 {
        team.sections.take_ended().iter().for_each(|_| release_with_tasks(team));
    }
}

/// A job that outlives the call which makes it. The pool does not end before it has run; a panic goes
/// to the pool's handler.
pub(crate) fn job(hold: Hold, f: impl FnOnce() + Send + 'static) -> Work {
    // SAFETY: the closure borrows nothing, is `Send`, and catches panics.
    unsafe {
        HeapJob::into_work(move || {
            hold.0.catch("a detached job", f);
            drop(hold);
        })
    }
}
