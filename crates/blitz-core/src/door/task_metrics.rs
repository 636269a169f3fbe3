//! Readings of the counters of tasks.

#![forbid(unsafe_code)]

use crate::state::{AGAIN, CANCELLED, COMPLETED, Histogram, TaskCounters};
use crate::team::Team;
use std::fmt;

/// A reading of a pool's counters of tasks. While the pool works, the values are not from a single
/// moment.
///
/// ```
/// let pool = blitz::Pool::builder().workers(2).build().unwrap();
/// assert_eq!(pool.block_on(pool.spawn(async { 7 })).unwrap(), 7);
/// let metrics = pool.metrics().tasks;
/// assert_eq!((metrics.spawned, metrics.polled), (1, 1));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskMetrics {
    /// Tasks spawned, from all threads.
    pub spawned: u64,
    /// Polls of tasks.
    pub polled: u64,
    /// Tasks that returned or panicked.
    pub completed: u64,
    /// Tasks that were cancelled.
    pub cancelled: u64,
    /// Polls that woke their own task, as yielding does.
    pub yielded: u64,
    /// Tasks that workers took from each other.
    pub stolen: u64,
    /// Tasks that went from a full ring to the queue, or to the signal tree.
    pub overflowed: u64,
    /// Polls of tasks that came from their worker's LIFO slot.
    pub lifo_hits: u64,
    /// Tasks that the watch moved from the LIFO slot of a stuck worker to the queue.
    pub rescued: u64,
    /// Batches taken from the queue.
    pub queue_batches: u64,
    /// Times that a task was made to yield because its budget was spent.
    pub budget_yields: u64,
    /// Tasks that have waited at least once and have not ended, even if they are runnable now.
    pub waiting: u64,
    /// Tasks in a poll right now. Of the polls that run on top of each other on one worker, the
    /// innermost counts.
    pub running: u64,
    /// Tasks that wait right now: all that have not ended, except those in queues and those
    /// `running`.
    pub idle: u64,
    /// Tasks in the queue that all workers share, or in the signal tree, right now.
    pub queue_depth: u64,
    /// Tasks in each worker's own queues right now.
    pub worker_queue_depths: Vec<u64>,
    /// Current number of `spawn_blocking` threads.
    pub blocking_threads: u64,
    /// The `spawn_blocking` threads that wait for a closure.
    pub idle_blocking_threads: u64,
    /// Closures that wait for a `spawn_blocking` thread.
    pub blocking_queue_depth: u64,
    /// Counters of the signal tree; `None` in the stealing scheduler.
    pub signal: Option<SignalMetrics>,
    /// How long polls took. A poll that was not timed counts as if it took as long as the next
    /// timed one.
    pub poll_times: Histogram,
    /// How long runnable tasks waited until they were polled. Only some tasks are timed.
    pub schedule_latencies: Histogram,
}

/// A reading of the counters of a pool's signal tree.
///
/// ```
/// let builder = blitz::Pool::builder().workers(2).scheduler(blitz::Scheduler::Signal);
/// let pool = builder.build().unwrap();
/// pool.spawn(async {}).join().unwrap();
/// assert_eq!(pool.metrics().tasks.signal.unwrap().signals, 1);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignalMetrics {
    /// Tasks that were signalled: put into the tree.
    pub signals: u64,
    /// Signals that also set the bit of their leaf in its root word, which was clear.
    pub leaves_activated: u64,
    /// Tasks that workers took from their own part of the tree.
    pub taken_own: u64,
    /// Tasks that workers took from other workers' parts. They also count as stolen.
    pub taken_elsewhere: u64,
    /// Permits given: each asks to wake a sleeper for a task.
    pub permits_given: u64,
    /// Permits taken by workers that woke.
    pub permits_taken: u64,
}

impl SignalMetrics {
    fn of(team: &Team) -> Option<SignalMetrics> {
        let left = team.bitmap()?.count() as u64;
        let totals = &team.bitmap_totals;
        let mut metrics = SignalMetrics {
            leaves_activated: totals.activated.get(),
            permits_given: totals.permits_given.get(),
            ..Self::default()
        };
        for marks in team.workers().filter_map(|worker| worker.queues.bitmap.as_ref()) {
            metrics.taken_own += marks.taken_own.get();
            metrics.taken_elsewhere += marks.taken_elsewhere.get();
            metrics.permits_taken += marks.permits_taken.get();
        }
        // Setters do not count signals. Each signal was taken, or is still in the tree.
        metrics.signals = metrics.taken_own + metrics.taken_elsewhere + left;
        Some(metrics)
    }
}

impl TaskMetrics {
    pub(crate) fn of(team: &Team) -> TaskMetrics {
        let (threads, idle, errands) = team.blocking.counts();
        let mut metrics = TaskMetrics {
            queue_depth: team.tasks.len() as u64,
            blocking_threads: threads as u64,
            idle_blocking_threads: idle as u64,
            blocking_queue_depth: errands as u64,
            signal: SignalMetrics::of(team),
            ..Self::default()
        };
        metrics.add(&team.outside);
        for worker in team.workers() {
            let tasks = &worker.queues;
            metrics.add(&tasks.counters);
            metrics.poll_times.add(&worker.insight.polls.read());
            metrics.schedule_latencies.add(&worker.insight.delays.read());
            metrics.waiting += tasks.owned.len() as u64;
            metrics.running += u64::from(tasks.counters.are_polling());
            metrics.worker_queue_depths.push(tasks.len() as u64);
        }
        metrics.stolen += metrics.signal.map_or(0, |signal| signal.taken_elsewhere);
        metrics.idle = metrics.alive().saturating_sub(metrics.queued() + metrics.running);
        metrics
    }

    /// Tasks that have not ended.
    pub(super) fn alive(&self) -> u64 {
        self.spawned.saturating_sub(self.completed + self.cancelled)
    }

    /// Tasks in any queue.
    pub(super) fn queued(&self) -> u64 {
        self.queue_depth + self.worker_queue_depths.iter().sum::<u64>()
    }

    fn add(&mut self, counters: &TaskCounters) {
        self.spawned += counters.spawned.get();
        self.polled += counters.polled.get();
        self.completed += counters.ran[COMPLETED].get();
        self.cancelled += counters.ran[CANCELLED].get() + counters.cancelled.get();
        self.yielded += counters.ran[AGAIN].get();
        self.stolen += counters.stolen.get();
        self.overflowed += counters.overflowed.get();
        self.lifo_hits += counters.lifo_hits.get();
        self.rescued += counters.rescued.get();
        self.queue_batches += counters.from_queue.get();
        self.budget_yields += counters.budget_spent.get();
    }
}

impl fmt::Display for TaskMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "tasks: {} spawned, {} completed, {} cancelled, {} waiting; {} polls, {} yielded \
             ({} for the budget), {} newest first",
            self.spawned,
            self.completed,
            self.cancelled,
            self.idle,
            self.polled,
            self.yielded,
            self.budget_yields,
            self.lifo_hits,
        )?;
        writeln!(
            f,
            "queues: {} in the shared one, {:?} at the workers; {} stolen, {} overflowed, {} batches, \
             {} rescued",
            self.queue_depth,
            self.worker_queue_depths,
            self.stolen,
            self.overflowed,
            self.queue_batches,
            self.rescued,
        )?;
        writeln!(f, "polls: {}", self.poll_times)?;
        write!(f, "waits until polled: {}", self.schedule_latencies)
    }
}
