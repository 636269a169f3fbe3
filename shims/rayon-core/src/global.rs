//! The free functions except scopes and broadcasts, and the global pool.

#![forbid(unsafe_code)]

use crate::builder::ThreadPoolBuilder;
use blitz_core::{FnContext, Handle};

/// Makes sure that there is a pool for the current thread: its own pool, that of its Blitz runtime,
/// or the global one.
///
/// # Panics
/// If the global pool cannot be built.
#[inline(always)]
pub(crate) fn ready() {
    if blitz_core::current_worker_index().is_none() {
        ready_cold();
    }
}

#[cold]
#[inline(never)]
fn ready_cold() {
    if Handle::try_current().is_ok() {
        return;
    }
    if let Err(error) = ThreadPoolBuilder::new().ensure_global() {
        panic!("the global thread pool could not be built: {error}");
    }
}

/// Runs both closures, potentially at the same time, and returns both results.
///
/// ```
/// assert_eq!(rayon_core::join(|| 1, || 2), (1, 2));
/// ```
///
/// # Panics
/// If a closure panics, the other one still runs to its end; then the panic continues here.
#[inline]
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    ready();
    blitz_core::join(oper_a, oper_b)
}

/// Works like [`join`]. Each closure gets a context, which says whether the closure changed
/// threads.
#[inline]
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    ready();
    blitz_core::join_context(oper_a, oper_b)
}

/// Starts a detached job. The spawning thread runs its newest job first, and now and then the
/// oldest one. If tasks of `blitz-core` have spawned the jobs, the thread runs the oldest first.
///
/// # Panics
/// A panic of `func` goes to the pool's panic handler. Without one the process aborts. A pool that
/// Blitz's own builder has built prints a line on standard error instead.
pub fn spawn<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    ready();
    blitz_core::spawn_detached(func);
}

/// Works like [`spawn`], but the jobs that a thread spawns this way start in the order of their
/// spawning.
pub fn spawn_fifo<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    ready();
    blitz_core::spawn_detached_fifo(func);
}

/// How many threads the current pool has; outside any pool, how many the global pool has.
pub fn current_num_threads() -> usize {
    ready();
    blitz_core::current_num_workers()
}

/// The largest number of threads that a pool can have.
pub fn max_num_threads() -> usize {
    blitz_core::Pool::MAX_WORKERS
}

/// The index of the current thread in its pool, if it is in one.
#[inline]
pub fn current_thread_index() -> Option<usize> {
    blitz_core::current_worker_index()
}

/// Returns whether the current thread's own queue holds jobs that have not begun. Returns `None`
/// outside a pool.
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    blitz_core::current_worker_has_jobs()
}

/// Runs one job of the current pool, if there is one. Returns `None` outside a pool.
pub fn yield_now() -> Option<Yield> {
    blitz_core::yield_job().map(Yield::of)
}

/// Runs one of the current thread's own jobs, if there is one. Returns `None` outside a pool.
pub fn yield_local() -> Option<Yield> {
    blitz_core::yield_local().map(Yield::of)
}

/// The result of a yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// A job was run.
    Executed,
    /// There was nothing to run, or half of the thread's stack is in use.
    Idle,
}

impl Yield {
    pub(crate) fn of(did: blitz_core::Yield) -> Yield {
        match did {
            blitz_core::Yield::Executed => Yield::Executed,
            blitz_core::Yield::Idle => Yield::Idle,
        }
    }
}
