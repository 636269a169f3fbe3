//! The runnable tasks that no worker has: a queue, or the bitmap.

#![forbid(unsafe_code)]

use super::choice::Scheduler;
use blitz_parts::bitmap::{Bitmap, Told};
use blitz_parts::queue::Queue;
use blitz_parts::task::Runnable;

/// The tasks that all workers take from.
#[expect(
    clippy::large_enum_variant,
    reason = "a team has one, and following a pointer costs each task"
)]
pub(crate) enum TaskQueue {
    /// The queue of the stealing scheduler.
    Stealing(Queue),
    /// The tree of the bitmap scheduler.
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
            TaskQueue::Bitmap(bitmap) => bitmap.count(),
        }
    }

    /// Whether a task may wait.
    #[inline]
    pub(crate) fn may_have(&self) -> bool {
        match self {
            TaskQueue::Stealing(queue) => !queue.is_empty(),
            TaskQueue::Bitmap(bitmap) => bitmap.has_task(),
        }
    }

    /// Which scheduler it belongs to.
    pub(crate) fn scheduler(&self) -> Scheduler {
        match self {
            TaskQueue::Stealing(_) => Scheduler::Stealing,
            TaskQueue::Bitmap(_) => Scheduler::Signal,
        }
    }

    /// The bitmap, if it is one.
    #[inline]
    pub(crate) fn bitmap(&self) -> Option<&Bitmap> {
        match self {
            TaskQueue::Bitmap(bitmap) => Some(bitmap),
            TaskQueue::Stealing(_) => None,
        }
    }

    /// Takes any task, for the thread that cancels all tasks.
    pub(crate) fn take_one(&self) -> Option<Runnable> {
        match self {
            TaskQueue::Stealing(queue) => queue.pop_batch(1).next(),
            TaskQueue::Bitmap(bitmap) => bitmap.take_left(),
        }
    }

    /// Puts a task where the thread that ends the team finds it. Notifies no worker.
    pub(crate) fn leave_to_the_end(&self, task: Runnable) {
        match self {
            TaskQueue::Stealing(queue) => drop(queue.push(task)),
            TaskQueue::Bitmap(bitmap) => {
                settle(bitmap, &task);
                if bitmap.signal(task, || true).told == Told::Closed {
                    self.cancel_rest();
                }
            }
        }
    }

    /// Closes the queue and cancels the tasks in it.
    pub(crate) fn close(&self) {
        match self {
            TaskQueue::Stealing(queue) => drop(queue.close()),
            TaskQueue::Bitmap(bitmap) => {
                bitmap.close();
                self.cancel_rest();
            }
        }
    }

    /// Cancels the tasks that are there.
    pub(crate) fn cancel_rest(&self) {
        while let Some(task) = self.take_one() {
            drop(task);
        }
    }
}

/// Gives a task a slot of the bitmap unless it has one. Any thread may call it.
pub(crate) fn settle(bitmap: &Bitmap, task: &Runnable) {
    if task.place().is_none() {
        task.set_place(bitmap.reserve_outside(task.header()));
    }
}
