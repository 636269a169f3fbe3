//! `scope_fifo`: a scope whose jobs start in the order in which a worker spawned them.

use super::fifo::Fifo;
use super::scope::{ScopeCore, SendPtr};
use crate::handle;
use crate::pool::Pool;
use crate::team::Team;
use crate::worker::current;
use blitz_parts::job::HeapJob;

/// As [`scope`](crate::scope), with jobs that each worker starts in the order of their spawning.
///
/// ```
/// let order = std::sync::Mutex::new(Vec::new());
/// blitz::scope_fifo(|s| {
///     for i in 0..3 {
///         let order = &order;
///         s.spawn_fifo(move |_| order.lock().unwrap().push(i));
///     }
/// });
/// assert_eq!(order.lock().unwrap().len(), 3);
/// ```
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    handle::with_working_team(|team| team.in_worker(|_, _| in_place(team, op)))
}

/// As [`in_place_scope`](crate::in_place_scope), with jobs in the order of their spawning.
///
/// ```
/// let mut total = 0;
/// blitz::in_place_scope_fifo(|s| s.spawn_fifo(|_| total += 1));
/// assert_eq!(total, 1);
/// ```
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    handle::with_working_team(|team| in_place(team, op))
}

impl Pool {
    /// As [`scope_fifo`](crate::scope_fifo), on this pool.
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.team().in_worker(|_, _| in_place(self.team(), op))
    }

    /// As [`in_place_scope_fifo`](crate::in_place_scope_fifo), with jobs that run on this pool.
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        in_place(self.team(), op)
    }
}

fn in_place<'scope, OP, R>(team: &Team, op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    let _visit = current::visit();
    let fifos = (0..team.num_workers()).map(|_| Fifo::default()).collect();
    let scope = ScopeFifo { core: ScopeCore::new(team), fifos };
    scope.core.complete(|| op(&scope))
}

/// Where jobs are spawned that start in order.
pub struct ScopeFifo<'scope> {
    core: ScopeCore<'scope>,
    /// One queue per worker that the team had when the scope began.
    fifos: Box<[Fifo]>,
}

impl<'scope> ScopeFifo<'scope> {
    /// Spawns a job into the scope. Jobs that the same worker spawned start in that order, wherever
    /// they run; jobs from other threads start in no particular order.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build().unwrap();
    /// let order = std::sync::Mutex::new(Vec::new());
    /// pool.scope_fifo(|s| {
    ///     for i in 0..3 {
    ///         let order = &order;
    ///         s.spawn_fifo(move |_| order.lock().unwrap().push(i));
    ///     }
    /// });
    /// assert_eq!(*order.lock().unwrap(), [0, 1, 2]);
    /// ```
    pub fn spawn_fifo<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        let this = SendPtr(self);
        let work = self.core.job(move || {
            // SAFETY: the scope waits for this job, so it is alive.
            body(unsafe { this.get() });
        });
        let own = current::current().filter(|worker| worker.is_in(self.core.team()));
        match own.and_then(|worker| Some((worker, self.fifos.get(worker.index())?))) {
            Some((worker, fifo)) => {
                fifo.push(work);
                let fifo = SendPtr(fifo);
                let token = move || {
                    // SAFETY: the scope, which holds the queue, waits for as many jobs as there are
                    // tokens, and this token's job has not run.
                    unsafe { fifo.get() }.run_oldest();
                };
                // SAFETY: as above; `run_oldest` runs a scope job, which does not unwind.
                worker.push(unsafe { HeapJob::into_work(token) });
            }
            None => self.core.push(work),
        }
    }

    pub(super) fn core(&self) -> &ScopeCore<'scope> {
        &self.core
    }
}

impl std::fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.core.fmt("ScopeFifo", f)
    }
}
