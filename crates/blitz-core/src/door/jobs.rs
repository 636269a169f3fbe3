//! The free functions for jobs: on the current pool, or on the global one.

#![forbid(unsafe_code)]

use super::current::{with_held_team, with_working_team};
use crate::ops::broadcast::{self, BroadcastContext};
use crate::ops::detached;
use crate::ops::here::Here;
use crate::ops::install::install_in;
use crate::ops::join::{FnContext, join_in, join_on};
use crate::ops::scope::{self, Scope};
use crate::ops::scope_fifo::{self, ScopeFifo};
use crate::ops::spawn;
use crate::ops::yield_job::{self, Yield};
use crate::task::JoinHandle;
use crate::team::current;
use crate::worker::visit;

/// Runs both closures, potentially at the same time, and returns both results.
///
/// If the caller is a worker, the closures run on its pool, even if the thread has entered another
/// pool. Any other thread uses the current or the global pool.
///
/// Forking is cheap: a `join` whose second closure is not stolen costs a few nanoseconds. So a
/// sequential cut-off is rarely needed, unless a leaf is only a few instructions.
///
/// ```
/// fn fib(n: u64) -> u64 {
///     if n < 2 {
///         return n;
///     }
///     let (a, b) = blitz::join(|| fib(n - 1), || fib(n - 2));
///     a + b
/// }
/// assert_eq!(fib(20), 6765);
/// ```
///
/// # Panics
/// If a closure panics, the other closure still runs to its end, and then the panic continues here.
/// If both panic, the panic of `a` continues.
#[inline]
#[track_caller]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_here(|_| a(), |_| b())
}

/// Works like [`join`], with closures that get a context, which says whether they changed threads.
///
/// ```
/// let (a, b) = blitz::join_context(|_| 1, |context| if context.migrated() { 2 } else { 3 });
/// assert_eq!(a, 1);
/// assert!(b == 2 || b == 3);
/// ```
#[inline]
#[track_caller]
pub fn join_context<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_here(|migrated| a(FnContext::new(migrated)), |migrated| b(FnContext::new(migrated)))
}

#[inline]
#[track_caller]
fn join_here<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    match current() {
        Some(worker) => join_on(worker, false, a, b),
        None => join_outside(a, b),
    }
}

/// Runs a `join` for a thread that is not a worker, or that a pool has adopted.
#[cold]
#[inline(never)]
#[track_caller]
fn join_outside<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let _visit = visit();
    match current() {
        Some(worker) => join_on(worker, false, a, b),
        None => with_working_team(|team, hold| join_in(team, hold, a, b)),
    }
}

/// Runs `op` on the current worker, or else on a worker of the current or the global pool.
/// `blitz-par` begins parallel loops with it.
#[doc(hidden)]
#[inline]
#[track_caller]
pub fn enter<OP, R>(op: OP) -> R
where
    OP: FnOnce(Here<'_>) -> R + Send,
    R: Send,
{
    match current() {
        Some(worker) => op(Here::new(worker)),
        None => enter_outside(op),
    }
}

/// Works like [`enter`] on a worker. Any other thread gets `op` back.
///
/// # Errors
/// Returns `op` if the current thread is no worker.
#[doc(hidden)]
#[inline]
pub fn enter_here<OP, R>(op: OP) -> Result<R, OP>
where
    OP: FnOnce(Here<'_>) -> R,
{
    match current() {
        Some(worker) => Ok(op(Here::new(worker))),
        None => Err(op),
    }
}

/// Does what [`enter`] does, for a thread that is not a worker, or that a pool has adopted.
#[cold]
#[inline(never)]
#[track_caller]
fn enter_outside<OP, R>(op: OP) -> R
where
    OP: FnOnce(Here<'_>) -> R + Send,
    R: Send,
{
    let _visit = visit();
    match current() {
        Some(worker) => op(Here::new(worker)),
        None => {
            with_working_team(|team, hold| install_in(team, hold, |owner, _| op(Here::new(owner))))
        }
    }
}

/// Runs `op` on a worker of the current or the global pool and returns its result.
///
/// If the caller is a worker of that pool, it runs `op` itself. Inside `op`, the free functions use
/// that pool.
///
/// ```
/// let index = blitz::install(blitz::current_worker_index);
/// assert!(index.is_some());
/// ```
///
/// # Panics
/// A panic of `op` continues here.
///
/// # Blocking
/// A thread outside the pool blocks; a worker of another pool goes on with its pool's work.
#[track_caller]
pub fn install<OP, R>(op: OP) -> R
where
    OP: FnOnce() -> R + Send,
    R: Send,
{
    with_working_team(|team, hold| install_in(team, hold, |_, _| op()))
}

/// Runs `op` on a worker, and waits for every job that it spawned into the scope.
///
/// The worker is one of the current or the global pool. The call also waits for jobs that those
/// jobs spawn in turn.
///
/// ```
/// let mut numbers = [1, 2, 3];
/// blitz::scope(|s| {
///     for number in &mut numbers {
///         s.spawn(move |_| *number *= 2);
///     }
/// });
/// assert_eq!(numbers, [2, 4, 6]);
/// ```
///
/// # Panics
/// If `op` panics, its panic continues here after all jobs are done. Otherwise the first panic of a
/// job continues here.
#[track_caller]
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    with_working_team(|team, hold| scope::scope_in(team, hold, op))
}

/// Works like [`scope`], but `op` itself runs on the current thread and need not be `Send`.
///
/// ```
/// let mut total = 0;
/// blitz::in_place_scope(|s| s.spawn(|_| total += 1));
/// assert_eq!(total, 1);
/// ```
#[track_caller]
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    with_working_team(|team, hold| scope::in_place(team, hold, op))
}

/// Works like [`scope`](crate::scope); jobs that one worker spawns start in the order of their
/// spawning.
///
/// ```
/// let order = std::sync::Mutex::new(Vec::new());
/// blitz::scope_fifo(|s| {
///     for i in 0..3 {
///         let order = &order;
///         s.spawn_fifo(move |_| order.lock().unwrap().push(i));
///     }
/// });
/// assert_eq!(order.lock().unwrap().len(), 3);
/// ```
#[track_caller]
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    with_working_team(|team, hold| scope_fifo::scope_in(team, hold, op))
}

/// Works like [`in_place_scope`](crate::in_place_scope); jobs that one worker spawns start in the
/// order of their spawning.
///
/// ```
/// let mut total = 0;
/// blitz::in_place_scope_fifo(|s| s.spawn_fifo(|_| total += 1));
/// assert_eq!(total, 1);
/// ```
#[track_caller]
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    with_working_team(|team, hold| scope_fifo::in_place(team, hold, op))
}

/// Runs `f` on the current pool, or on the global one, and returns at once.
///
/// Await the handle in async code, or join it elsewhere. Dropping it detaches the job, which still
/// runs. Of the jobs that jobs spawn on one worker, that worker runs the newest first. Of the jobs
/// that tasks spawn, it runs the oldest first.
///
/// ```
/// let handle = blitz::spawn_cpu(|| 6 * 7);
/// assert_eq!(handle.join().unwrap(), 42);
/// ```
#[track_caller]
pub fn spawn_cpu<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    with_held_team(|team, hold| spawn::spawn_in(team, hold, f))
}

/// Runs `f` on the current or the global pool at some later time; returns at once.
///
/// It is like [`spawn_cpu`](crate::spawn_cpu) without a handle, and so a little cheaper. A panic of
/// `f` goes to the pool's panic handler. If the current pool was entered and has been dropped
/// since, `f` is dropped, too.
///
/// ```
/// let (send, receive) = std::sync::mpsc::channel();
/// blitz::spawn_detached(move || send.send(7).unwrap());
/// assert_eq!(receive.recv(), Ok(7));
/// ```
#[track_caller]
pub fn spawn_detached<F>(f: F)
where
    F: FnOnce() + Send + 'static,
{
    with_held_team(|team, hold| detached::spawn_in(team, hold, f));
}

/// Works like [`spawn_detached`]; jobs that one worker spawns this way start in order, whichever
/// workers run them.
///
/// ```
/// let pool = blitz::Pool::builder().workers(1).build().unwrap();
/// let (send, receive) = std::sync::mpsc::channel();
/// pool.install(move || {
///     for i in 0..3 {
///         let send = send.clone();
///         blitz::spawn_detached_fifo(move || send.send(i).unwrap());
///     }
/// });
/// assert_eq!(receive.iter().collect::<Vec<_>>(), [0, 1, 2]);
/// ```
#[track_caller]
pub fn spawn_detached_fifo<F>(f: F)
where
    F: FnOnce() + Send + 'static,
{
    with_held_team(|team, hold| detached::spawn_fifo_in(team, hold, f));
}

/// Runs `op` once on every worker, and returns the results in the order of the workers' indices.
///
/// The workers are those of the current or the global pool. Each worker runs `op` when it next
/// looks for work.
///
/// ```
/// let indices = blitz::broadcast(|context| context.index());
/// assert_eq!(indices, (0..blitz::current_num_workers()).collect::<Vec<_>>());
/// ```
///
/// # Panics
/// If `op` panics on a worker. After all workers are done, the panic on the worker with the lowest
/// index continues here.
#[track_caller]
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    with_working_team(|team, hold| broadcast::broadcast_in(team, hold, op))
}

/// Starts `op` once on every worker of the current or the global pool; returns at once.
///
/// A panic of `op` goes to the pool's panic handler.
///
/// ```
/// let (send, receive) = std::sync::mpsc::channel();
/// blitz::spawn_broadcast(move |context| send.send(context.index()).unwrap());
/// assert_eq!(receive.iter().count(), blitz::current_num_workers());
/// ```
#[track_caller]
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    with_held_team(|team, hold| broadcast::spawn_broadcast_in(team, hold, op));
}

/// Runs one job of the current worker's pool, if there is one.
///
/// Returns `None` on a thread that is not a worker, even if it has entered a pool. The job is this
/// worker's oldest own job, a job that only this worker may run, a job from outside the pool, or a
/// job of another worker.
///
/// ```
/// assert_eq!(blitz::yield_job(), None);
/// let pool = blitz::Pool::builder().workers(1).build()?;
/// pool.scope(|s| {
///     s.spawn(|_| ());
///     assert_eq!(blitz::yield_job(), Some(blitz::Yield::Executed));
/// });
/// # Ok::<(), blitz::BuildError>(())
/// ```
///
/// # In async code
/// This is for jobs. A task lets other tasks go first with
/// [`task::yield_now().await`](crate::task::yield_now).
#[doc(alias = "yield_now")]
#[expect(clippy::must_use_candidate, reason = "callers want a job run")]
pub fn yield_job() -> Option<Yield> {
    yield_job::yield_job()
}

/// Runs one of the current worker's own jobs, if there is one.
///
/// Returns `None` on a thread that is not a worker, even if it has entered a pool. The job is this
/// worker's oldest own job, or a job that only this worker may run.
///
/// ```
/// assert_eq!(blitz::yield_local(), None);
/// ```
#[expect(clippy::must_use_candidate, reason = "callers want a job run")]
pub fn yield_local() -> Option<Yield> {
    yield_job::yield_local()
}
