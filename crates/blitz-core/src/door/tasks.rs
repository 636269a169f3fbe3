//! The free functions for tasks: on the current pool, or on the global one.

#![forbid(unsafe_code)]

use super::current::{
    try_with_current_team, with_another_team, with_current_team, with_team_at_work,
};
use crate::base::context;
use crate::task::{self, JoinHandle, TrySpawnError};
use crate::team::{Team, current};
use crate::worker;
use std::future::Future;
use std::panic::Location;

/// Starts a task on the current pool, else on the global one.
///
/// The current pool is the one that was entered, else that of the calling worker or task. The task
/// runs whether or not its handle is awaited; dropping the handle detaches it.
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
/// [`AbortHandle`](crate::task::AbortHandle)s that has not been dropped, one for its `JoinHandle`
/// and up to two for the pool. A program that exceeds this leaks wakers: Blitz prints that to
/// standard error and aborts the process, as [`Arc`](std::sync::Arc) does at its own limit.
///
/// # Panics
/// If the global pool is needed and cannot be built: see [`global`](crate::global).
#[inline]
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let site = Location::caller();
    match current() {
        Some(worker) if !context::is_entered() => task::spawn_on(worker, site, future),
        _ => with_another_team(|team| task::spawn_in(team, site, future)),
    }
}

/// Works like [`spawn`], but fails if `global_queue_capacity` tasks are already queued.
///
/// Use it if you would rather wait or refuse work than let the queue grow without bound.
///
/// ```
/// let handle = blitz::try_spawn(async { 7 }).unwrap();
/// assert_eq!(handle.join().unwrap(), 7);
/// ```
///
/// # Errors
/// If the queue is full; the error contains the future. The limit is
/// [`PoolBuilder::global_queue_capacity`](crate::PoolBuilder::global_queue_capacity).
///
/// # Panics
/// Panics as [`spawn`] does.
#[track_caller]
pub fn try_spawn<F>(future: F) -> Result<JoinHandle<F::Output>, TrySpawnError<F>>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let site = Location::caller();
    with_current_team(|team| task::try_spawn_in(team, site, future))
}

/// Runs `f` on a thread that may block, and returns at once. Await the handle, or join it.
///
/// The pool's workers are for code that does not block; this is for code that does, such as file
/// access or a call into a library. The threads belong to the current pool, else to the global one.
/// There are up to 512, or
/// [`PoolBuilder::max_blocking_threads`](crate::PoolBuilder::max_blocking_threads); beyond that,
/// closures wait for their turn.
///
/// A closure may wait for the pool, by `join` or `block_on`. Then there must be enough threads for
/// all closures that wait for each other. With too few, they deadlock: a closure waits for a job,
/// the job waits for a second closure, and the second closure waits for the first one's thread.
///
/// ```
/// # blitz::block_on(async {
/// let text = blitz::spawn_blocking(|| std::fs::read_to_string("Cargo.toml")).await.unwrap();
/// assert!(text.unwrap().contains("[package]"));
/// # });
/// ```
#[track_caller]
pub fn spawn_blocking<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    with_team_at_work(|team, hold| task::spawn_blocking_in(team, hold, f))
}

/// Runs `future` to completion on the current thread and returns its result.
///
/// It may be called anywhere. A worker, even inside a task, runs its pool's jobs and tasks while
/// the future waits. Any other thread blocks. Inside a [`LocalSet`](crate::LocalSet) the thread
/// also runs the tasks of the set. The future spawns into the current pool, else into the global
/// one.
///
/// ```
/// let seven = blitz::block_on(async { blitz::spawn(async { 7 }).await.unwrap() });
/// assert_eq!(seven, 7);
/// ```
///
/// # Blocking
/// A thread outside every pool blocks. On a worker, other work runs on top of the caller's stack
/// meanwhile. The caller goes on only after that work has returned, even if its own result is ready
/// earlier. Waiting for work that the caller itself has started is always fine. But a call must not
/// wait for something that only another caller, further down on some stack, would do next: that
/// caller cannot go on before the work on top of it has returned. A full channel or a fair lock may
/// lead to such a wait. Async code awaits instead.
///
/// A worker that has used half of its stack runs no more unrelated jobs on top of it. With three
/// quarters in use it runs no more tasks: another worker must run them. If all workers are that
/// deep and wait for tasks, they wait for ever.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let is_inside = current().is_some() && !context::is_entered();
    let enter = || try_with_current_team(Team::enter_ambient).flatten();
    let _ambient = if is_inside { None } else { enter() };
    task::block_on(future)
}

/// Calls `f`, which blocks or computes for long, while another thread replaces this worker.
///
/// On a thread that is not a worker it only calls `f`.
///
/// Without this call the pool notices a blocked worker after two or three milliseconds; with it, at
/// once. Every call wakes or starts a thread, so use it for closures that take longer than a wake.
/// If all [spare threads](crate::PoolBuilder::spares) are in use, no thread replaces the worker.
///
/// ```
/// # blitz::block_on(async {
/// let text = blitz::spawn(async {
///     blitz::block_in_place(|| std::fs::read_to_string("/proc/self/comm"))
/// });
/// # let _ =
/// text.await.unwrap()
/// # ;
/// # });
/// ```
pub fn block_in_place<F, R>(f: F) -> R
where
    F: FnOnce() -> R,
{
    worker::block_in_place(f)
}
