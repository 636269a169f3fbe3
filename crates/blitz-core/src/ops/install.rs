//! Running a closure on a worker of a pool, from wherever the caller is.

use super::latch::AnyLatch;
use crate::panic;
use crate::team::Team;
use crate::worker::{Worker, current};
use blitz_parts::job::StackJob;
use blitz_parts::prim::AtomicBool;

impl Team {
    /// Runs `op` on a worker of this team: right here if the current thread is one. `op` is told
    /// whether it changed threads.
    #[inline]
    pub(crate) fn in_worker<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Worker, bool) -> R + Send,
        R: Send,
    {
        match current::current() {
            Some(worker) if worker.is_in(self) => op(worker, false),
            _ => self.in_worker_cold(op),
        }
    }

    /// The caller is a foreign thread, which blocks, or a worker of another pool, which keeps
    /// working for its own pool: that may be where the other one's job needs it.
    #[cold]
    fn in_worker_cold<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Worker, bool) -> R + Send,
        R: Send,
    {
        // A thread that a pool has adopted works for it while it waits; if the pool is this one, it is
        // one of its workers.
        let _visit = current::visit();
        if let Some(worker) = current::current().filter(|worker| worker.is_in(self)) {
            return op(worker, false);
        }
        let job = StackJob::new(AnyLatch::for_current_thread(), |_| match current::current() {
            Some(worker) => op(worker, true),
            None => unreachable!("jobs of a pool run on its workers"),
        });
        // SAFETY: this frame stays until the latch is set; `OP` and `R` are `Send`; one word.
        self.inject(unsafe { job.as_work() });
        job.latch().wait_for_jobs_of(self, AnyLatch::mark(), &AtomicBool::new(true));
        // SAFETY: the latch is set, and the result is taken once.
        panic::resume_if_err(unsafe { job.take_result() })
    }
}
