//! How tasks end with their team: each is complete before the team is gone.
//!
//! 1. Tasks end once the team's handle is gone and no shielded section of a task is left (see `shutdown`).
//!    From then on nothing new is spawned, and a worker that finds a task cancels it instead of polling
//!    it. Tasks that wait are aborted, which brings them into a queue: so all of them are found.
//! 2. Jobs may keep the team at work for longer. The last worker to leave looks for tasks once more; one
//!    that a foreign thread has just woken is on its way into the queue, and the last one waits for it.
//! 3. The queue closes. Who comes later keeps what it brings, and cancels it.
//!
//! A worker may be stuck in a poll that blocks until another task ends, perhaps the one in its LIFO slot. So it is
//! not the last one only who cancels: each worker that leaves cancels what it can reach, and no list takes tasks
//! any more.
//!
//! Dropping a future runs user code: it may wake other tasks (they go into the queues and are cancelled
//! in their turn, never on top of each other), spawn new ones (which are cancelled at once), and wait for
//! others, which therefore are never all in the hands of the thread that cancels.

#![forbid(unsafe_code)]

use crate::ops::detached::{self, Hold};
use crate::team::Team;
use crate::worker::Worker;
use blitz_parts::prim::{AcqRel, Acquire, yield_now};
use blitz_parts::task::{Owned, Runnable, TaskRef};

impl Worker {
    /// Cancels the tasks that nobody runs, if they are to end: this worker leaves, and another one that does not
    /// may be stuck until one of them is gone. Own thread only.
    pub(crate) fn cancel_beside_others(&self) {
        let team = self.team();
        if !team.tasks_end() {
            return;
        }
        team.cancel_waiting_tasks();
        for worker in team.workers() {
            let rescued = worker.tasks().rescue();
            self.tasks().counters.cancelled.add(u64::from(rescued.is_some()));
            drop(rescued);
        }
        self.cancel_queued();
        team.cancel_queued();
    }
}

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
            self.shut_driver_down();
        }
    }

    /// Cancels every task. Only when no thread is a worker any more, but for the caller.
    pub(crate) fn cancel_all(&self) {
        while self.cancel_round() > 0 || self.late.load(Acquire) > 0 {
            yield_now();
        }
        // What came between the last look and now.
        self.tasks.close();
    }

    /// Has some worker cancel every task, while the others go on with jobs. The caller has a reason to
    /// go on.
    #[cold]
    pub(crate) fn cancel_tasks_soon(&self) {
        let team = self.arc();
        self.inject(detached::job(Hold::new(self), move || {
            team.cancel_waiting_tasks();
            team.cancel_queued();
        }));
    }

    /// A task was woken while the team is being dropped. Whoever drops the team waits for it, first because
    /// the task is not complete, then because of the count; and cancels it, rather than the waker, which may
    /// itself be called by the drop of a task.
    pub(super) fn cancel_late(&self, task: Runnable) {
        self.late.fetch_add(1, AcqRel);
        self.tasks.leave_to_the_end(task);
        self.late.fetch_sub(1, AcqRel);
    }

    /// Cancels the tasks that wait to be woken. Returns how many could not be cancelled, because somebody is
    /// about to put them into a queue or polls them.
    pub(crate) fn cancel_waiting_tasks(&self) -> usize {
        self.workers().for_each(|worker| abort_all(&worker.tasks().owned));
        self.workers().map(|worker| worker.tasks().owned.close_and_cancel()).sum()
    }

    /// Cancels what is in the queue, one by one, and returns how many there were.
    fn cancel_queued(&self) -> usize {
        let mut cancelled = 0;
        while let Some(task) = self.tasks.take_one() {
            drop(task);
            cancelled += 1;
        }
        self.outside.cancelled.add_shared(cancelled as u64);
        cancelled
    }

    /// Returns how many tasks may be left.
    fn cancel_round(&self) -> usize {
        let waiting = self.cancel_waiting_tasks();
        let queued: usize = self.workers().map(|worker| worker.cancel_queued()).sum();
        waiting + queued + self.cancel_queued()
    }
}

/// Brings every task that waits into a queue. There are no shields any more.
fn abort_all(owned: &Owned) {
    owned.tasks().iter().for_each(TaskRef::abort);
}
