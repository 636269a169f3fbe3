//! Where runnable tasks wait that no worker has: a queue, or the signal tree.

#![forbid(unsafe_code)]

use super::Scheduler;
use crate::team::Team;
use blitz_parts::bitmap::{Bitmap, Told};
use blitz_parts::queue::{Chain, Queue};
use blitz_parts::task::Runnable;

/// What all workers take tasks from.
#[expect(
    clippy::large_enum_variant,
    reason = "a team has one, and following a pointer costs each task"
)]
pub(crate) enum TaskQueue {
    /// Of the stealing scheduler.
    Stealing(Queue),
    /// Of the signal scheduler.
    Bitmap(Bitmap),
}

impl TaskQueue {
    pub(crate) fn new(scheduler: Scheduler, workers: usize) -> TaskQueue {
        match scheduler {
            Scheduler::Stealing => TaskQueue::Stealing(Queue::new()),
            Scheduler::Signal => TaskQueue::Bitmap(Bitmap::new(workers)),
        }
    }

    /// How many tasks wait, at some recent moment.
    pub(crate) fn len(&self) -> usize {
        match self {
            TaskQueue::Stealing(queue) => queue.len(),
            TaskQueue::Bitmap(signals) => signals.count(),
        }
    }

    /// Whether a task may wait.
    #[inline]
    pub(crate) fn may_have(&self) -> bool {
        match self {
            TaskQueue::Stealing(queue) => !queue.is_empty(),
            TaskQueue::Bitmap(signals) => signals.has_task(),
        }
    }

    /// Any task, for who ends them all.
    pub(super) fn take_one(&self) -> Option<Runnable> {
        match self {
            TaskQueue::Stealing(queue) => queue.pop_batch(1).next(),
            TaskQueue::Bitmap(signals) => signals.take_left(),
        }
    }

    /// Puts a task where whoever ends the team finds it, and tells nobody.
    pub(super) fn leave_to_the_end(&self, task: Runnable) {
        match self {
            TaskQueue::Stealing(queue) => drop(queue.push(task)),
            TaskQueue::Bitmap(signals) => {
                settle(signals, &task);
                if signals.signal(task, || true).told == Told::Closed {
                    self.cancel_rest();
                }
            }
        }
    }

    /// Takes no more tasks, and cancels those that are there.
    pub(super) fn close(&self) {
        match self {
            TaskQueue::Stealing(queue) => drop(queue.close()),
            TaskQueue::Bitmap(signals) => {
                signals.close();
                self.cancel_rest();
            }
        }
    }

    /// Cancels what is there.
    pub(super) fn cancel_rest(&self) {
        while let Some(task) = self.take_one() {
            drop(task);
        }
    }
}

/// Sees to it that a task has a slot; on any thread.
fn settle(signals: &Bitmap, task: &Runnable) {
    if task.place().is_none() {
        task.set_place(signals.reserve_outside(task.header()));
    }
}

impl Team {
    /// The signal tree, if this team has one.
    #[inline]
    pub(crate) fn signals(&self) -> Option<&Bitmap> {
        match &*self.tasks {
            TaskQueue::Bitmap(signals) => Some(signals),
            TaskQueue::Stealing(_) => None,
        }
    }

    /// How tasks find a worker.
    pub(crate) fn scheduler(&self) -> Scheduler {
        match &*self.tasks {
            TaskQueue::Stealing(_) => Scheduler::Stealing,
            TaskQueue::Bitmap(_) => Scheduler::Signal,
        }
    }

    /// Puts a task where all workers look, from any thread that keeps the team alive.
    pub(super) fn share(&self, task: Runnable) {
        match &*self.tasks {
            TaskQueue::Stealing(queue) => match queue.push(task) {
                Ok(_) => self.tell_of_queued(),
                // The team has ended, and with it the task.
                Err(task) => drop(task),
            },
            TaskQueue::Bitmap(signals) => {
                settle(signals, &task);
                self.signal(signals, task);
            }
        }
    }

    /// The same for many, and for a team that has a queue.
    pub(super) fn queue_all(&self, queue: &Queue, chain: Chain) {
        match queue.push_chain(chain) {
            Ok(_) => self.tell_of_queued(),
            Err(chain) => drop(chain),
        }
    }

    fn tell_of_queued(&self) {
        // One worker is told of however many, and only if nobody looks for work already: whoever takes
        // a part and leaves some wakes the next (SLEEP-3).
        self.sleep().new_jobs(1, true);
        self.tell_guests_of_task();
    }
}
