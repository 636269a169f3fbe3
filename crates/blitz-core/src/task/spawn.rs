//! `spawn`: a task of its own, with a handle to its result.

#![forbid(unsafe_code)]

use super::JoinHandle;
use crate::handle;
use crate::pool::Pool;
use crate::sched::Home;
use crate::task::context;
use crate::team::Team;
use crate::worker::{Worker, current};
use blitz_parts::task::{self, Runnable};
use std::fmt;
use std::future::Future;

/// Starts a task on the current pool: that of the worker or task that calls, or the one that was entered,
/// else the global one. The task runs whether or not its handle is awaited; dropping the handle detaches
/// it.
///
/// ```
/// # blitz::block_on(async {
/// let handle = blitz::spawn(async { 6 * 7 });
/// assert_eq!(handle.await.unwrap(), 42);
/// # });
/// ```
///
/// # Limits
/// A task has at most 8,388,608 references at a time: one for each of its wakers and
/// [`AbortHandle`](crate::task::AbortHandle)s that has not been dropped, one for its `JoinHandle` and up to two
/// for the pool. A program that exceeds this leaks wakers: Blitz says so on standard error and aborts the
/// process, as [`Arc`](std::sync::Arc) does at its own limit.
///
/// # Panics
/// If the global pool is needed and cannot be built: see [`global`](crate::global).
#[inline]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    match current::current() {
        Some(worker) if !context::is_entered() => {
            let (task, join) = task::new(future, Home::of(worker.team()));
            worker.start(task);
            JoinHandle::of_task(join)
        }
        _ => handle::with_another_team(|team| team.spawn(future)),
    }
}

impl Pool {
    /// As [`spawn`](crate::spawn), on this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build().unwrap();
    /// let handle = pool.spawn(async { 6 * 7 });
    /// assert_eq!(handle.join().unwrap(), 42);
    /// ```
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.team().spawn(future)
    }
}

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
