//! Jobs that nobody's frame waits for: they keep the pool working until they have run.

use crate::team::Team;
use crate::worker::current;
use blitz_parts::job::{HeapJob, Work};
use std::sync::Arc;

/// Runs `f` on `team`, some time; drops it without a hold.
pub(crate) fn spawn_in(team: &Team, hold: Option<Hold>, f: impl FnOnce() + Send + 'static) {
    match hold {
        Some(hold) => team.push_or_inject(job(hold, f)),
        None => team.refuse(f),
    }
}

/// As [`spawn_in`]; jobs of the same worker start in the order of these calls.
pub(crate) fn spawn_fifo_in(team: &Team, hold: Option<Hold>, f: impl FnOnce() + Send + 'static) {
    let Some(hold) = hold else { return team.refuse(f) };
    let work = job(hold, f);
    let own = current::current().filter(|worker| worker.is_in(team));
    let Some((worker, fifo)) = own.and_then(|own| Some((own, team.fifos.get(own.index())?))) else {
        return team.inject(work);
    };
    fifo.push(work);
    let (team, index) = (team.arc(), worker.index());
    let token = move || {
        if let Some(fifo) = team.fifos.get(index) {
            fifo.run_oldest();
        }
    };
    // SAFETY: the closure borrows nothing and is `Send`; what it runs catches panics.
    worker.push(unsafe { HeapJob::into_work(token) });
}

/// A job that outlives the call which makes it. The pool does not end before it has run; a panic
/// goes to the pool's handler.
pub(crate) fn job(hold: Hold, f: impl FnOnce() + Send + 'static) -> Work {
    // SAFETY: the closure borrows nothing, is `Send`, and catches panics.
    unsafe {
        HeapJob::into_work(move || {
            hold.0.catch("a detached job", f);
            drop(hold);
        })
    }
}

impl Team {
    /// Drops a job that comes after the team's end; its drop is user code.
    fn refuse(&self, f: impl FnOnce()) {
        self.catch("the drop of a job that came too late", || drop(f));
    }
}

/// Keeps the team at work.
pub(crate) struct Hold(Arc<Team>);

impl Hold {
    /// For who knows that the team has not ended: its own workers, and those who have the pool.
    pub(crate) fn new(team: &Team) -> Hold {
        team.hold();
        Hold(team.arc())
    }

    /// For its own workers, and for what others than they run: none if the workers are leaving.
    pub(crate) fn while_at_work(team: &Team) -> Option<Hold> {
        team.hold_while_at_work().then(|| Hold(team.arc()))
    }

    /// For everybody else. None if the team is ending or has ended.
    pub(crate) fn try_new(team: &Arc<Team>) -> Option<Hold> {
        team.try_hold().then(|| Hold(team.clone()))
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
