//! Jobs that no frame waits for: they keep the pool at work until they have run.

use crate::sched::hold::{Hold, job};
use crate::state::Fifo;
use crate::team::{Owner, Team, current};
use crate::worker::{inject, push_or_inject};
use blitz_parts::job::{HeapJob, Work};

/// Runs `f` on `team` at some later time. Without a hold, drops `f`.
pub(crate) fn spawn_in(team: &Team, hold: Option<Hold>, f: impl FnOnce() + Send + 'static) {
    match hold {
        Some(hold) => push_or_inject(team, job(hold, f), || None),
        None => refuse(team, f),
    }
}

/// Works like [`spawn_in`]; jobs that one worker spawns start in the order of these calls.
pub(crate) fn spawn_fifo_in(team: &Team, hold: Option<Hold>, f: impl FnOnce() + Send + 'static) {
    let Some(hold) = hold else { return refuse(team, f) };
    let work = job(hold, f);
    let own = match current() {
        Some(owner) if owner.is_in(team) => Some(owner),
        Some(owner) if owner.stands_for(team) => return push_fifo_counted(owner, work),
        _ => None,
    };
    let Some((owner, fifo)) = own.and_then(|own| Some((own, team.fifos.get(own.index())?))) else {
        return inject(team, work);
    };
    push_fifo(owner, fifo, work);
}

/// Works like `push_fifo`, on the worker of an analysis, which runs all jobs itself.
#[cold]
fn push_fifo_counted(owner: Owner<'_>, work: Work) {
    let work = owner.jobs().counted(work, None);
    if let Some(fifo) = owner.team().fifos.get(owner.index()) {
        push_fifo(owner, fifo, work);
    }
    if let Some(strands) = owner.strands() {
        strands.resume();
    }
}

/// Puts a job into this worker's queue, and pushes a token that runs the oldest job of the queue.
fn push_fifo(owner: Owner<'_>, fifo: &Fifo, work: Work) {
    fifo.push(work);
    let (team, index) = (owner.team().arc(), owner.index());
    let token = move || {
        if let Some(fifo) = team.fifos.get(index) {
            fifo.run_oldest();
        }
    };
    // SAFETY: the closure borrows nothing and is `Send`; the jobs that it runs catch panics.
    owner.jobs().push(unsafe { HeapJob::into_work(token) });
}

/// Drops a job that was spawned after the team's end. Its drop is user code.
pub(super) fn refuse<F>(team: &Team, f: F) {
    team.catch("the drop of a job that came too late", || drop(f));
}
