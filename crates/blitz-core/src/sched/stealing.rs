//! The work-stealing scheduler: rings of tasks, which workers take from each other.

#![forbid(unsafe_code)]

use super::own::Tasks;
use super::share::{enqueue, enqueue_all};
use crate::state::TaskQueue;
use crate::team::Worker;
use blitz_parts::queue::fair_batch;
use blitz_parts::ring::Pushed;
use blitz_parts::task::Runnable;

impl Tasks<'_> {
    /// Puts a task behind all others of this worker. `notify` announces it to other workers.
    #[inline]
    pub(super) fn put_back(self, task: Runnable, notify: bool) {
        match self.own_ring().try_push(task) {
            Ok(_) if notify => self.notify_of_task(),
            Ok(_) => {}
            Err(task) => self.put_beyond(task),
        }
    }

    /// Works like `put_back`, for a ring that is full.
    #[cold]
    pub(super) fn put_beyond(self, task: Runnable) {
        if let Some(part) = self.part() {
            return self.overflow_into_tree(part, task);
        }
        match self.own_ring().push(task) {
            Pushed::Ok => self.notify_of_task(),
            Pushed::Overflow(tasks) => {
                self.queues.counters.overflowed.add(tasks.len() as u64);
                enqueue_all(self.team(), tasks);
            }
            Pushed::Busy(task) => {
                self.queues.counters.overflowed.add(1);
                enqueue(self.team(), task);
            }
        }
    }

    /// Takes a fair part of the queue, at most `most` tasks: returns one task to poll, and puts the
    /// others into the batch buffer.
    pub(super) fn take_batch(self, most: usize) -> Option<Runnable> {
        let team = self.team();
        let TaskQueue::Stealing(queue) = &*team.tasks else { return None };
        let len = queue.len();
        if len == 0 {
            return None;
        }
        let (batch, ring) = (self.own_batch(), self.own_ring());
        // Tasks that do not fit into the buffer go to the ring; take no more than fit into both.
        let room = batch.room() + ring.room();
        // Without stealing no other worker would take tasks that wait here. During shutdown, tasks
        // stay where all threads can take them.
        let shares = team.config.stealing && !team.tasks_end();
        let fair = if shares { fair_batch(len, team.num_workers()) } else { 1 };
        let mut taken = queue.pop_batch(fair.min(most).min(room + 1));
        let count = taken.len();
        let first = taken.next()?;
        // All of these tasks go before own tasks, so own tasks get the next turn.
        self.own().tasks.tick.defer_queue_turn(count);
        self.queues.counters.from_queue.add(1);
        let more = !taken.is_empty();
        self.own().tasks.has_batch.set(true);
        batch.push_from(&mut taken);
        ring.push_from(&mut taken);
        debug_assert!(taken.is_empty(), "thieves only make room");
        if more {
            self.notify_of_task();
            team.watch_left();
        }
        Some(first)
    }

    /// Steals half of `victim`'s tasks: returns one task to poll, and puts the others into this
    /// worker's ring.
    pub(crate) fn steal_from(self, victim: &Worker) -> Option<Runnable> {
        let theirs = &victim.queues;
        if !theirs.has_public() || !self.team().config.stealing {
            return None;
        }
        let into = || self.own_ring();
        let stolen = theirs.ring.steal_into(into()).or_else(|| theirs.batch.steal_into(into()))?;
        self.queues.counters.stolen.add(stolen.count as u64);
        if stolen.count > 1 {
            self.notify_of_task();
            self.team().watch_left();
        }
        Some(stolen.first)
    }
}
