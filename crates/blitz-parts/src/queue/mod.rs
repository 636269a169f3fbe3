//! The global task queue: tasks from outside the pool, and tasks that do not fit into a ring.
//! First in, first out; each task leaves once, or is refused.
//!
//! # Who calls it
//! Any thread: `push`, `push_chain`, `len`. Workers, and a thread that cancels tasks: `pop_batch`.
//! The pool's end: `close`.
//!
//! # State
//! | where | meaning | who writes |
//! |---|---|---|
//! | `tasks.chain` | the tasks, oldest first, in one piece of memory | the holder of the lock |
//! | `tasks.closed` | the queue takes no more | `close`, under the lock |
//! | `len` | length of the chain | the holder of the lock; read without it |
//!
//! # Invariants
//! - **QUEUE-1** Every task that `push` or `push_chain` took leaves once, by `pop_batch` or by
//!   `close`.
//! - **QUEUE-2** Tasks leave oldest first, in batches of at most the size asked for.
//! - **QUEUE-3** After `close` no task enters: a pushed task goes back to its pusher, and `len`
//!   stays 0.
//! - **QUEUE-4** `len` is the number of tasks whenever no thread holds the lock. A push returns
//!   whether the queue was empty before.
//! - **QUEUE-5** What was written before `push` is visible to the taker of the task.
//! - **QUEUE-6** A task in a chain or a queue that is dropped is cancelled.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | the lock | acquire, release | itself | QUEUE-1, QUEUE-3, QUEUE-5 |
//! | O2 | `len` store, under the lock | Relaxed | `len` load | order comes from the fences of the pusher and of the sleeper (`sleep` O1, O2); tasks come through O1 |
//!
//! # What this does not do
//! It wakes no worker, and it has no limit. It never runs, polls or drops a task while it holds the
//! lock. A push may have to move the tasks to an array twice as large.
//!
//! # Lineage
//! The tasks document of `docs/coverage.md`: tasks under a mutex, batches that are fair to the
//! other workers. A lock is cheap here because whole batches enter and leave under it. The document
//! links the tasks through their headers. Here an array of pointers moves tasks without touching
//! them, which matters for thousands of tasks that are not in the cache.

mod chain;
#[cfg(test)]
pub(crate) mod fixture;
#[cfg(all(test, blitz_loom))]
mod model;
#[cfg(all(test, not(blitz_loom)))]
mod test;

pub use chain::Chain;

use crate::prim::{AtomicUsize, Mutex, MutexGuard, Relaxed, Step, broken};
use crate::task::Runnable;
use crate::tuning;
use crossbeam_utils::CachePadded;
use std::sync::PoisonError;

/// The tasks that wait for a worker.
#[derive(Debug)]
pub struct Queue {
    /// Every worker that runs out of tasks reads the length, so it is not in the lock's cache line.
    len: CachePadded<AtomicUsize>,
    tasks: Mutex<Tasks>,
}

#[derive(Debug)]
struct Tasks {
    chain: Chain,
    closed: bool,
}

impl Queue {
    /// Creates an empty queue.
    ///
    /// ```
    /// use blitz_parts::queue::Queue;
    /// let queue = Queue::new();
    /// assert!(queue.is_empty() && queue.pop_batch(8).is_empty());
    /// ```
    pub fn new() -> Queue {
        let tasks = Tasks { chain: Chain::new(), closed: false };
        Queue { len: CachePadded::new(AtomicUsize::new(0)), tasks: Mutex::new(tasks) }
    }

    /// How many tasks there are, at some recent moment.
    #[inline]
    pub fn len(&self) -> usize {
        self.len.load(Relaxed) // O2
    }

    /// Whether there is no task, at some recent moment.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts a task at the end; returns whether the queue was empty before.
    ///
    /// # Errors
    /// The task itself, if the queue is closed.
    pub fn push(&self, task: Runnable) -> Result<bool, Runnable> {
        let Some(mut tasks) = self.lock_open() else { return Err(task) };
        let was_empty = tasks.chain.is_empty();
        tasks.chain.push(task);
        self.count(tasks);
        Ok(was_empty)
    }

    /// Puts all tasks of a chain at the end; returns whether the queue was empty before.
    ///
    /// # Errors
    /// The chain itself, if the queue is closed.
    pub fn push_chain(&self, chain: Chain) -> Result<bool, Chain> {
        let Some(mut tasks) = self.lock_open() else { return Err(chain) };
        let was_empty = tasks.chain.is_empty();
        tasks.chain.append(chain);
        self.count(tasks);
        Ok(was_empty)
    }

    /// Takes up to `max` tasks, oldest first.
    pub fn pop_batch(&self, max: usize) -> Chain {
        if self.is_empty() {
            return Chain::new();
        }
        let mut tasks = self.lock();
        let batch = tasks.chain.split_front(max);
        self.count(tasks);
        batch
    }

    /// Closes the queue to new tasks, and returns those that are there.
    pub fn close(&self) -> Chain {
        let mut tasks = self.lock();
        tasks.closed = true;
        let rest = core::mem::take(&mut tasks.chain);
        self.count(tasks);
        rest
    }

    /// Stores the length and then releases the lock (QUEUE-4).
    fn count(&self, tasks: MutexGuard<'_, Tasks>) {
        let len = tasks.chain.len();
        if broken(Step::QueueCountLocked) {
            drop(tasks);
        }
        self.len.store(len, Relaxed); // O2
    }

    /// Takes the lock. Returns `None` if the queue is closed.
    fn lock_open(&self) -> Option<MutexGuard<'_, Tasks>> {
        let tasks = self.lock();
        if tasks.closed {
            return None;
        }
        if broken(Step::QueueClosedLocked) {
            drop(tasks);
            return Some(self.lock());
        }
        Some(tasks)
    }

    fn lock(&self) -> MutexGuard<'_, Tasks> {
        // A panic cannot leave the queue half changed: only pointers move under the lock.
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner) // O1
    }
}

impl Default for Queue {
    fn default() -> Self {
        Queue::new()
    }
}

/// How many of `len` tasks a worker takes at once: its share among `workers`. The share has a
/// minimum, so that the lock does not cost more than the tasks, and a maximum, so that no task
/// waits long behind the others of its batch.
///
/// ```
/// use blitz_parts::queue::fair_batch;
/// assert_eq!(fair_batch(100, 10), 10);
/// assert_eq!(fair_batch(10_000, 10), 64);
/// assert_eq!(fair_batch(2, 10), 2);
/// ```
pub fn fair_batch(len: usize, workers: usize) -> usize {
    let share = len / workers.max(1);
    share.clamp(tuning::GLOBAL_BATCH_MIN, tuning::GLOBAL_BATCH_MAX).min(len)
}
