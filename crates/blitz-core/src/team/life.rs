//! Ends a team: carries out the duties that come with its `Life`.

#![forbid(unsafe_code)]

use super::{AnyLatch, Team, Worker};
use crate::state::Duty;
use blitz_parts::latch::OnceLatch;
use blitz_parts::life::{Released, TasksHeld};
use blitz_parts::prim::{SeqCst, Step, broken, fence};
use std::sync::PoisonError;

impl Team {
    /// Whether the handle is gone.
    pub(crate) fn is_closing(&self) -> bool {
        self.life.is_closing()
    }

    /// Whether tasks are cancelled instead of polled.
    #[inline]
    pub(crate) fn tasks_end(&self) -> bool {
        self.life.tasks_end()
    }

    /// Adds a hold of the tasks and one of the team, for a shielded section. Returns false if tasks
    /// are being cancelled, or if the handle is gone and the caller is not `inside` another
    /// section.
    pub(crate) fn try_hold_tasks(&self, inside: impl FnOnce() -> bool) -> bool {
        match self.life.try_hold_tasks(inside) {
            TasksHeld::Granted => true,
            TasksHeld::Refused(released) => {
                self.stop_if(released);
                false
            }
        }
    }

    /// Releases a hold. The last one stops the workers.
    pub(crate) fn release(&self) {
        self.stop_if(self.life.release());
    }

    fn stop_if(&self, released: Released) {
        if released == Released::Last {
            self.stop_workers();
        }
    }

    /// Stops the workers: no hold is left.
    pub(crate) fn stop_workers(&self) {
        if self.sleep().counters().load().inactive() == 0 && self.has_task() {
            // All workers may be blocked until some task is dropped, and only a leaving worker
            // drops it.
            self.call_spare_for_end();
        }
        // Either this thread sees a task that the watch has rescued, or the watch sees the end of
        // tasks: see `rescued_one`.
        fence(SeqCst);
        if self.has_task() {
            self.start_ending();
        }
        // No spare is added from now on, so the number of workers that leave is final.
        self.spares.end();
        self.sleep().stop();
        self.watch.stop();
        self.blocking.stop();
        self.count_out();
    }

    /// Whether a task waits, or is in a queue.
    fn has_task(&self) -> bool {
        let has_any = |worker: &Worker| worker.queues.has_any() || !worker.queues.owned.is_empty();
        self.tasks.may_have() || self.workers().any(has_any)
    }

    /// About how many tasks are left, at some recent moment: the tasks that have waited, and those
    /// in queues. A task of both kinds counts twice.
    pub(crate) fn tasks_left(&self) -> usize {
        let of = |worker: &Worker| worker.queues.len() + worker.queues.owned.len();
        self.tasks.len() + self.workers().map(of).sum::<usize>()
    }

    /// Whether the handle and every worker have left, except an adopted thread inside an operation.
    pub(crate) fn all_have_left(&self) -> bool {
        self.life.leaving() <= usize::from(self.adoption.is_here())
    }

    /// Notes that the watch has moved a task from a stuck worker to the queue. If tasks end, the
    /// other workers may have left while the watch held the task: then no worker cancels it.
    pub(crate) fn rescued_one(&self) {
        fence(SeqCst);
        if self.tasks_end() {
            self.start_ending();
        }
    }

    /// Starts, once, the thread that supervises the end of tasks. If the system starts no thread,
    /// tasks end without it.
    #[cold]
    fn start_ending(&self) {
        if self.ending.get().is_some() {
            return;
        }
        if let Some(upward) = self.upward.get() {
            if let Ok(thread) = (upward.start_ending)(self) {
                let _ = self.ending.set(thread);
            }
        }
    }

    /// Wakes the thread that supervises the end of tasks, because it may no longer be needed.
    pub(crate) fn notify_ending(&self) {
        if let Some(thread) = self.ending.get() {
            thread.unpark();
        }
    }

    #[cold]
    fn call_spare_for_end(&self) {
        if self.spares.is_any_left() {
            self.call_spare(Duty::Seat);
        }
    }

    /// Counts in a worker thread that has begun, or the builder.
    pub(crate) fn count_in(&self) {
        self.life.count_in();
    }

    /// Counts out a worker thread, the handle or the last hold when it ends.
    pub(crate) fn count_out(&self) {
        if self.life.count_out() && !broken(Step::EndAwaitedTold) {
            // The waiter stores its latch before it probes.
            let latch = self.end_awaited.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(latch) = latch {
                AnyLatch::set_shared(&latch);
            }
        }
    }

    /// Returns when every worker thread has begun.
    pub(crate) fn wait_started(&self) {
        self.life.wait_started();
    }

    /// The latch that is set when every worker thread has ended and the handle is gone.
    pub(crate) fn ended(&self) -> &OnceLatch {
        self.life.ended()
    }
}
