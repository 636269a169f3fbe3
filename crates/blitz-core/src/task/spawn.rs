//! `spawn`: starts a task, and returns a handle to its result.

#![forbid(unsafe_code)]

use super::JoinHandle;
use crate::sched::{Home, schedule_from_outside};
use crate::team::{Owner, Team, current};
use crate::worker::need_worker;
use blitz_parts::task::{self, Runnable};
use std::fmt;
use std::future::Future;
use std::panic::Location;

/// Where a task was spawned.
pub(crate) type Site = &'static Location<'static>;

/// Starts a task on `team` that was spawned at `site`.
pub(crate) fn spawn_in<F>(team: &Team, site: Site, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let (task, join) = task::new(site, future, Home::of(team));
    start(team, task);
    JoinHandle::of_task(join)
}

/// Starts a task on the team of the current thread's worker.
#[inline]
pub(crate) fn spawn_on<F>(owner: Owner<'_>, site: Site, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let (task, join) = task::new(site, future, Home::of(owner.team()));
    start_on(owner, task);
    JoinHandle::of_task(join)
}

/// Works like [`spawn_in`], but fails if the queue holds as many tasks as the pool allows.
pub(crate) fn try_spawn_in<F>(
    team: &Team,
    site: Site,
    future: F,
) -> Result<JoinHandle<F::Output>, TrySpawnError<F>>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    if team.tasks.len() >= team.config.queue_capacity {
        return Err(TrySpawnError { future });
    }
    Ok(spawn_in(team, site, future))
}

/// Queues a new task.
fn start(team: &Team, task: Runnable) {
    match current() {
        Some(owner) if owner.is_in(team) => start_on(owner, task),
        // The task is cancelled before it began.
        _ if team.tasks_end() => drop(task),
        _ => {
            team.outside.spawned.add_shared(1);
            schedule_from_outside(team, task);
            need_worker(team);
        }
    }
}

/// Works like [`start`], on a worker of the task's team.
///
/// Not generic and not inlined, because `spawn` is compiled once per future.
fn start_on(owner: Owner<'_>, task: Runnable) {
    if owner.team().tasks_end() {
        // The task is cancelled before it began.
        return drop(task);
    }
    owner.queues.counters.spawned.add(1);
    owner.tasks().schedule(task);
}

/// The queue of the pool is full. Contains the future that was not spawned.
pub struct TrySpawnError<F> {
    future: F,
}

impl<F> TrySpawnError<F> {
    /// Returns the future, which the caller may spawn later or drop.
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
