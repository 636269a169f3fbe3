//! How tasks end with their team: each is complete before the team is gone.
//!
//! 1. The team is told to stop once its handle is gone and no job, and no shielded section of a task,
//!    is left that holds it (see `shutdown`).
//! 2. From then on nothing new is spawned, and a worker that finds a task cancels it instead of polling
//!    it. So all queues run dry.
//! 3. The last to leave, a worker or the handle, cancels the tasks that wait to be woken. A task that a
//!    foreign thread has just woken is on its way into the queue: the last one waits for it there.
//! 4. The queue closes. Who comes later keeps what it brings, and cancels it.
//!
//! Dropping a future runs user code: it may wake other tasks (they go into the queues and are cancelled
//! in their turn, never on top of each other) and spawn new ones (which are cancelled at once).

use crate::team::Team;
use blitz_parts::prim::{AcqRel, Acquire, yield_now};
use blitz_parts::task::Runnable;

impl Team {
    /// A worker that will never work, or the handle, is at its end.
    pub(crate) fn leave(&self) {
        self.cancel_if_last();
        self.count_out();
    }

    /// One participant less; the last one cancels every task that is left.
    pub(crate) fn cancel_if_last(&self) {
        if self.leaving.fetch_sub(1, AcqRel) == 1 {
            self.cancel_all();
        }
    }

    /// Cancels every task. Only when no thread is a worker any more, but for the caller.
    pub(crate) fn cancel_all(&self) {
        while self.cancel_round() > 0 || self.late.load(Acquire) > 0 {
            yield_now();
        }
        // What came between the last look and now.
        drop(self.tasks.close());
    }

    /// Cancels a task that was woken while the team is being dropped. Whoever drops the team waits: first
    /// because the task is not complete, then because of the count.
    pub(super) fn cancel_late(&self, task: Runnable) {
        self.late.fetch_add(1, AcqRel);
        drop(task);
        self.late.fetch_sub(1, AcqRel);
    }

    /// Cancels the tasks that wait to be woken, for a worker that waits for one of them while the team
    /// ends. Returns how many could not be cancelled, because somebody is about to put them into a queue
    /// or polls them.
    pub(crate) fn cancel_waiting_tasks(&self) -> usize {
        self.workers().map(|worker| worker.tasks().owned.close_and_cancel()).sum()
    }

    /// Returns how many tasks may be left.
    fn cancel_round(&self) -> usize {
        let waiting = self.cancel_waiting_tasks();
        let queued: usize = self.workers().map(|worker| worker.cancel_queued()).sum();
        let batch = self.tasks.pop_batch(usize::MAX);
        let taken = batch.len();
        drop(batch);
        waiting + queued + taken
    }
}
