//! Runs a closure on a worker of a pool, from any thread.

use crate::base::panic;
use crate::sched::hold::Hold;
use crate::sched::inject;
use crate::team::{AnyLatch, Owner, Team, current};
use crate::worker::{mark, visit};
use blitz_parts::guests::Injected;
use blitz_parts::job::StackJob;

/// Runs `op` on a worker of `team`: on the current thread if it is such a worker. The second
/// argument of `op` says whether `op` runs on another thread than the caller's.
#[inline]
pub(crate) fn in_worker<OP, R>(team: &Team, op: OP) -> R
where
    OP: FnOnce(Owner<'_>, bool) -> R + Send,
    R: Send,
{
    match current() {
        Some(owner) if owner.is_in(team) => op(owner, false),
        _ => in_worker_cold(team, op),
    }
}

/// Works like [`in_worker`], but `op` does not see pools that the thread has entered: see
/// [`alone`].
#[inline]
pub(crate) fn install_in<OP, R>(team: &Team, hold: Option<Hold>, op: OP) -> R
where
    OP: FnOnce(Owner<'_>, bool) -> R + Send,
    R: Send,
{
    in_worker_holding(team, hold, |owner, migrated| alone(owner, || op(owner, migrated)))
}

/// Works like [`in_worker`]. `hold` keeps a team at work only until `op` has returned, and not
/// until the caller's wait has ended. While the caller waits, it may run other work on top of its
/// frame, and that work may drop the pool. If the caller still had the hold, this drop would wait
/// for ever.
#[inline]
pub(crate) fn in_worker_holding<OP, R>(team: &Team, hold: Option<Hold>, op: OP) -> R
where
    OP: FnOnce(Owner<'_>, bool) -> R + Send,
    R: Send,
{
    in_worker(team, move |owner, migrated| {
        let _hold = hold;
        op(owner, migrated)
    })
}

/// Calls `op` as if the current thread had entered no pool. There is one exception: on a worker
/// that measures an analysis, `op` sees that the thread has entered the worker's origin.
#[inline]
pub(crate) fn alone<R>(owner: Owner<'_>, op: impl FnOnce() -> R) -> R {
    let _entered = owner.enter_own();
    op()
}

/// Works like [`in_worker`], for a thread that is not a worker of `team`. A foreign thread blocks.
/// A worker of another pool keeps working for its own pool while it waits, because `op` may depend
/// on work of that pool.
#[cold]
fn in_worker_cold<OP, R>(team: &Team, op: OP) -> R
where
    OP: FnOnce(Owner<'_>, bool) -> R + Send,
    R: Send,
{
    // During the visit an adopted thread is a worker of the pool that adopted it. If that pool is
    // `team`, `op` runs right here.
    let _visit = visit();
    let runs_it = |owner: &Owner<'_>| owner.is_in(team) || owner.stands_for(team);
    if let Some(owner) = current().filter(runs_it) {
        return op(owner, false);
    }
    let job = StackJob::new(AnyLatch::for_current_thread(), |_| match current() {
        Some(owner) => op(owner, true),
        None => unreachable!("jobs of a pool run on its workers"),
    });
    // SAFETY: this frame stays until the latch is set; `OP` and `R` are `Send`; the word is used
    // for one run.
    inject(team, unsafe { job.as_work() });
    job.latch().wait_for_jobs_of(team, mark(), &Injected::new(true), || None);
    // SAFETY: the latch is set, and the result is taken once.
    panic::resume_if_err(unsafe { job.take_result() })
}
