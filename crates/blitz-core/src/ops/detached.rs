//! Jobs that no frame waits for: they keep the pool at work until they have run.

use crate::sched::hold::{Hold, job};
use crate::team::{Team, current};
use crate::worker::{inject, push_or_inject};
use blitz_parts::job::HeapJob;

/// Runs `f` on `team` at some later time. Without a hold, drops it.
pub(crate) fn spawn_in(team: &Team, hold: Option<Hold>, f: impl FnOnce() + Send + 'static) {
    match hold {
        Some(hold) => push_or_inject(team, job(hold, f)),
        None => refuse(team, f),
    }
}

/// As [`spawn_in`]; jobs of the same worker start in the order of these calls.
pub(crate) fn spawn_fifo_in(team: &Team, hold: Option<Hold>, f: impl FnOnce() + Send + 'static) {
    let Some(hold) = hold else { return refuse(team, f) };
    let work = job(hold, f);
    let own = current().filter(|owner| owner.is_in(team));
    let Some((owner, fifo)) = own.and_then(|own| Some((own, team.fifos.get(own.index())?))) else {
        return inject(team, work);
    };
    fifo.push(work);
    let (team, index) = (team.arc(), owner.index());
    let token = move || {
        if let Some(fifo) = team.fifos.get(index) {
            fifo.run_oldest();
        }
    };
    // SAFETY: the closure borrows nothing and is `Send`; what it runs catches panics.
    owner.jobs().push(unsafe { HeapJob::into_work(token) });
}

/// Drops a job that comes after the team's end. Its drop is user code.
pub(super) fn refuse<F>(team: &Team, f: F) {
    team.catch("the drop of a job that came too late", || drop(f));
}
