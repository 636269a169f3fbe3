//! `scope_fifo`: a scope whose jobs start in the order in which a worker spawned them.

use super::install::in_worker_holding;
use super::scope::{ScopeCore, SendPtr};
use crate::sched::hold::Hold;
use crate::state::Fifo;
use crate::team::{Owner, Team, current};
use crate::worker::visit;
use blitz_parts::job::{HeapJob, Work};

/// Runs `op` on a worker of `team`, with a scope whose jobs run there, and waits for them.
pub(crate) fn scope_in<'scope, OP, R>(team: &Team, hold: Option<Hold>, op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    in_worker_holding(team, hold, |_, _| in_place(team, None, op))
}

/// Runs `op` here with a scope whose jobs run on `team`, and waits for them.
pub(crate) fn in_place<'scope, OP, R>(team: &Team, hold: Option<Hold>, op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    let _visit = visit();
    let fifos = (0..team.num_workers()).map(|_| Fifo::default()).collect();
    let scope = ScopeFifo { core: ScopeCore::new(team, hold), fifos };
    scope.core.complete(|| op(&scope))
}

/// Spawns jobs that start in the order in which a worker spawned them.
pub struct ScopeFifo<'scope> {
    core: ScopeCore<'scope>,
    /// One queue per worker that the pool was built with. Spares have none of their own.
    fifos: Box<[Fifo]>,
}

impl<'scope> ScopeFifo<'scope> {
    /// Spawns a job into the scope. Jobs that one worker spawned start in the order of their
    /// spawning, whichever workers run them. Jobs from other threads start in no particular order.
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
        let work = self.core.job_in(self, body);
        let team = self.core.team();
        match current() {
            Some(worker) if worker.is_in(team) => self.push(worker, work),
            Some(worker) if worker.stands_for(team) => {
                self.push(worker, worker.jobs().counted(work, Some(self.core.joint())));
                if let Some(strands) = worker.strands() {
                    strands.resume();
                }
            }
            _ => self.core.push(work),
        }
    }

    /// Puts a job into this worker's queue, and pushes a token that runs the oldest job of the
    /// queue.
    #[inline]
    fn push(&self, worker: Owner<'_>, work: Work) {
        // A spare shares the queue of a worker. So the jobs of both start in one common order.
        let fifo = &self.fifos[worker.index() % self.fifos.len()];
        fifo.push(work);
        let fifo = SendPtr(fifo);
        let token = move || {
            // SAFETY: the scope, which holds the queue, waits for as many jobs as there are tokens,
            // and this token's job has not run.
            unsafe { fifo.get() }.run_oldest();
        };
        // SAFETY: as above; `run_oldest` runs a scope job, which does not unwind.
        worker.jobs().push(unsafe { HeapJob::into_work(token) });
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
