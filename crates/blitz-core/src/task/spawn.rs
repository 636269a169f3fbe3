//! `spawn`: a task of its own, with a handle to its result.

#![forbid(unsafe_code)]

use super::JoinHandle;
use crate::sched::Home;
use crate::team::Team;
use crate::worker::{Worker, current};
use blitz_parts::task::{self, Runnable};
use std::fmt;
use std::future::Future;

impl Team {
    pub(crate) fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (task, join) = task::new(future, Home::of(self));
        self.start(task);
        JoinHandle::of_task(join)
    }

    /// Lets a new task begin.
    fn start(&self, task: Runnable) {
        match current::current() {
            Some(worker) if worker.is_in(self) => worker.start(task),
            // Cancelled before it began.
            _ if self.tasks_end() => drop(task),
            _ => {
                self.outside.spawned.add_shared(1);
                self.schedule_from_outside(task);
                self.need_worker();
            }
        }
    }

    /// The same, unless more tasks wait in the queue than the pool was built for.
    pub(crate) fn try_spawn<F>(&self, future: F) -> Result<JoinHandle<F::Output>, TrySpawnError<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        if self.tasks.len() >= self.config.queue_capacity {
            return Err(TrySpawnError { future });
        }
        Ok(self.spawn(future))
    }
}

impl Worker {
    /// Starts a task of this worker's team. Own thread only.
    #[inline]
    pub(crate) fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (task, join) = task::new(future, Home::of(self.team()));
        self.start(task);
        JoinHandle::of_task(join)
    }

    /// Lets a new task of this worker's team begin. Own thread only.
    ///
    /// Not generic, and no part of what is: `spawn` is compiled once per future.
    fn start(&self, task: Runnable) {
        if self.team().tasks_end() {
            // Cancelled before it began.
            return drop(task);
        }
        self.tasks().counters.spawned.add(1);
        self.schedule(task);
    }
}

/// The queue of the pool is full; has the future that was to be spawned.
pub struct TrySpawnError<F> {
    future: F,
}

impl<F> TrySpawnError<F> {
    /// The future, to be spawned later or to be dropped.
    pub fn into_future(self) -> F {
        self.future
    }
}

impl<F> fmt::Debug for TrySpawnError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrySpawnError").finish_non_exhaustive()
    }
}

impl<F> fmt::Display for TrySpawnError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "more tasks wait in the pool's queue than global_queue_capacity allows; try again later, \
             or use spawn, which always succeeds",
        )
    }
}

impl<F> std::error::Error for TrySpawnError<F> {}
