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

/// Starts a task on the current pool, else on the global one.
///
/// The current pool is that of the worker or task that calls, or the one that was entered. The task
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
/// and up to two for the pool. A program that exceeds this leaks wakers: Blitz says so on standard
/// error and aborts the process, as [`Arc`](std::sync::Arc) does at its own limit.
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
    match current() {
        Some(worker) if !context::is_entered() => task::spawn_on(worker, future),
        _ => with_another_team(|team| task::spawn_in(team, future)),
    }
}

/// As [`spawn`], unless `global_queue_capacity` tasks wait already.
///
/// For callers that would rather wait, or refuse work, than queue without end.
///
/// ```
/// let handle = blitz::try_spawn(async { 7 }).unwrap();
/// assert_eq!(handle.join().unwrap(), 7);
/// ```
///
/// # Errors
/// If the queue is full; the error has the future. The limit is
/// [`PoolBuilder::global_queue_capacity`](crate::PoolBuilder::global_queue_capacity).
///
/// # Panics
/// As [`spawn`].
#[track_caller]
pub fn try_spawn<F>(future: F) -> Result<JoinHandle<F::Output>, TrySpawnError<F>>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    with_current_team(|team| task::try_spawn_in(team, future))
}

/// Runs `f` on a thread where it may block, and returns at once. Await the handle, or join it.
///
/// The pool's workers are for code that does not block; this is for code that does, such as file
/// access or a call into a library. The threads are the current pool's, else the global one's;
/// there are up to 512 unless
/// [`PoolBuilder::max_blocking_threads`](crate::PoolBuilder::max_blocking_threads) says otherwise,
/// and beyond that closures wait for their turn.
///
/// A closure may wait for the pool, by `join` or `block_on`. Then there must be threads enough for
/// all closures that wait for each other: a closure on the only thread may wait for a job on whose
/// stack another job waits for the next closure, and none of them ends.
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

/// Runs `future` to its end on the current thread and returns its result.
///
/// It may be called anywhere. A worker, inside of a task too, goes on with its pool's jobs and
/// tasks while the future waits; inside of a [`LocalSet`](crate::LocalSet) the set goes on. Any
/// other thread blocks. What the future spawns goes to the current pool, else to the global one.
///
/// ```
/// let seven = blitz::block_on(async { blitz::spawn(async { 7 }).await.unwrap() });
/// assert_eq!(seven, 7);
/// ```
///
/// # Blocking
/// A thread outside of every pool blocks. On a worker, what is run meanwhile lies on top of the
/// caller on the stack: the caller goes on once that has returned, even if what it waits for is
/// there before. Waiting for what the caller itself has started is always fine. But a call must not
/// wait for what only another call, further down on some stack, could do next, as a full channel or
/// a fair lock that is handed from one to the next may demand. Async code awaits instead.
///
/// A worker that has used half of its stack runs no more jobs of others on top of it, and with
/// three quarters in use no more tasks: another worker has to. If all workers are that deep, and
/// wait for tasks, they wait for ever.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let is_inside = current().is_some() && !context::is_entered();
    let enter = || try_with_current_team(Team::enter_ambient).flatten();
    let _ambient = if is_inside { None } else { enter() };
    task::block_on(future)
}

/// Calls `f`, which blocks or computes for long, while another thread replaces this worker.
///
/// Outside of a pool it only calls `f`.
///
/// Without it the pool notices that a worker is blocked after two or three milliseconds; with it,
/// at once. Every call wakes or starts a thread, so it is for what takes longer than that. If all
/// [spare threads](crate::PoolBuilder::spares) are in use, nothing takes the worker's place.
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
