//! The pool, and what is done on it.

#![forbid(unsafe_code)]

use super::builder::PoolBuilder;
use super::dump::Dump;
use super::handle::{EnterGuard, Handle};
use super::jobs::{join, yield_local, yield_now};
use super::metrics::PoolMetrics;
use crate::ops::broadcast::{self, BroadcastContext};
use crate::ops::detached;
use crate::ops::install::in_worker;
use crate::ops::scope::{self, Scope};
use crate::ops::scope_fifo::{self, ScopeFifo};
use crate::ops::spawn;
use crate::ops::yield_now::Yield;
use crate::sched::hold::Hold;
use crate::state::Scheduler;
use crate::task::{self, JoinHandle};
use crate::team::Entered;
use crate::team::Team;
use crate::worker::{shut_down, with_worker};
use std::future::Future;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

/// A set of worker threads.
///
/// Dropping it waits for the jobs that were spawned into it and for its threads; dropping it on one
/// of its own workers does not wait, and the jobs run all the same.
///
/// ```
/// # fn main() -> Result<(), blitz::BuildError> {
/// let pool = blitz::Pool::builder().workers(2).build()?;
/// let sum: u64 = pool.install(|| {
///     let (a, b) = blitz::join(|| (0..500u64).sum::<u64>(), || (500..1000u64).sum::<u64>());
///     a + b
/// });
/// assert_eq!(sum, 499_500);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "ThreadPool")]
pub struct Pool {
    team: Arc<Team>,
}

impl Pool {
    /// The largest number of workers that a pool can have: 65,535.
    pub const MAX_WORKERS: usize = blitz_parts::sleep::WORKERS_MAX;

    pub(super) fn new(team: Arc<Team>) -> Pool {
        Pool { team }
    }

    /// Settings for a new pool.
    pub fn builder() -> PoolBuilder {
        PoolBuilder::new()
    }

    /// Runs `op` on a worker of this pool and returns its result. Inside, the free functions use this
    /// pool.
    ///
    /// # Panics
    /// A panic of `op` continues here.
    ///
    /// # Blocking
    /// A thread outside of the pool blocks; a worker of another pool goes on with its pool's work.
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        in_worker(&self.team, |_, _| {
            let _entered = Entered::none();
            op()
        })
    }

    /// How many workers the pool has.
    pub fn num_workers(&self) -> usize {
        self.team.num_workers()
    }

    /// The index of the current thread among this pool's workers, if it is one of them.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build().unwrap();
    /// assert_eq!(pool.current_worker_index(), None);
    /// assert!(pool.install(|| pool.current_worker_index()).unwrap() < 2);
    /// ```
    pub fn current_worker_index(&self) -> Option<usize> {
        with_worker(|worker| worker.is_in(&self.team).then(|| worker.index())).flatten()
    }

    /// How tasks find a worker.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().scheduler(blitz::Scheduler::Stealing).build()?;
    /// assert_eq!(pool.scheduler(), blitz::Scheduler::Stealing);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn scheduler(&self) -> Scheduler {
        self.team.tasks.scheduler()
    }

    /// What the workers have done so far. Counting is always on. To tell how many jobs wait, workers that have forks which
    /// nobody else can see yet are held up for some microseconds.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build().unwrap();
    /// pool.join(|| (), || ());
    /// assert_eq!(pool.metrics().total().pushes, 1);
    /// ```
    pub fn metrics(&self) -> PoolMetrics {
        PoolMetrics::of(&self.team)
    }

    /// The state of every counter, latch, deque and task, as data, text and JSON: what a watchdog prints.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build().unwrap();
    /// assert!(pool.dump().to_string().contains("worker 1"));
    /// ```
    pub fn dump(&self) -> Dump {
        Dump::of(&self.team)
    }

    /// As [`join`](crate::join), on this pool.
    ///
    /// ```
    /// # fn main() -> Result<(), blitz::BuildError> {
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// # Ok(())
    /// # }
    /// ```
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| join(a, b))
    }

    /// As [`scope`](crate::scope), on this pool.
    ///
    /// ```
    /// # fn main() -> Result<(), blitz::BuildError> {
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let mut halves = (0, 0);
    /// pool.scope(|s| {
    ///     s.spawn(|_| halves.0 = 1);
    ///     s.spawn(|_| halves.1 = 2);
    /// });
    /// assert_eq!(halves, (1, 2));
    /// # Ok(())
    /// # }
    /// ```
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        in_worker(&self.team, |_, _| scope::in_place(&self.team, op))
    }

    /// As [`in_place_scope`](crate::in_place_scope), with jobs that run on this pool.
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        scope::in_place(&self.team, op)
    }

    /// As [`scope_fifo`](crate::scope_fifo), on this pool.
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        in_worker(&self.team, |_, _| scope_fifo::in_place(&self.team, op))
    }

    /// As [`in_place_scope_fifo`](crate::in_place_scope_fifo), with jobs that run on this pool.
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        scope_fifo::in_place(&self.team, op)
    }

    /// As [`spawn_cpu`](crate::spawn_cpu), on this pool.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let handle = pool.spawn_cpu(|| (1..=10).sum::<i32>());
    /// assert_eq!(handle.join()?, 55);
    /// # Ok(())
    /// # }
    /// ```
    pub fn spawn_cpu<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        spawn::spawn_in(&self.team, Some(Hold::new(&self.team)), f)
    }

    /// As [`spawn_detached`](crate::spawn_detached), on this pool.
    pub fn spawn_detached<F>(&self, f: F)
    where
        F: FnOnce() + Send + 'static,
    {
        detached::spawn_in(&self.team, Some(Hold::new(&self.team)), f);
    }

    /// As [`spawn_detached_fifo`](crate::spawn_detached_fifo), on this pool.
    pub fn spawn_detached_fifo<F>(&self, f: F)
    where
        F: FnOnce() + Send + 'static,
    {
        detached::spawn_fifo_in(&self.team, Some(Hold::new(&self.team)), f);
    }

    /// As [`broadcast`](crate::broadcast), on this pool.
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast::broadcast_in(&self.team, op)
    }

    /// As [`spawn_broadcast`](crate::spawn_broadcast), on this pool.
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        broadcast::spawn_broadcast_in(&self.team, op);
    }

    /// As [`yield_now`](crate::yield_now); `None` if the current thread is not a worker of this pool.
    pub fn yield_now(&self) -> Option<Yield> {
        self.current_worker_index().and_then(|_| yield_now())
    }

    /// As [`yield_local`](crate::yield_local); `None` if the current thread is not a worker of this
    /// pool.
    pub fn yield_local(&self) -> Option<Yield> {
        self.current_worker_index().and_then(|_| yield_local())
    }

    /// As [`block_on`](crate::block_on); what the future spawns goes to this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build().unwrap();
    /// let seven = pool.block_on(async { blitz::spawn(async { 7 }).await.unwrap() });
    /// assert_eq!(seven, 7);
    /// assert_eq!(pool.metrics().tasks.spawned, 1);
    /// ```
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        task::block_on_in(&self.team, future)
    }

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
        task::spawn_in(&self.team, future)
    }

    /// As [`spawn_blocking`](crate::spawn_blocking), with this pool's threads.
    pub fn spawn_blocking<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        task::spawn_blocking_in(&self.team, Some(Hold::new(&self.team)), f)
    }

    /// A way into the pool that can be cloned and sent anywhere.
    pub fn handle(&self) -> Handle {
        Handle::of(self.team.clone())
    }

    /// Makes this the current pool of this thread until the guard is dropped: see [`Handle::enter`].
    pub fn enter(&self) -> EnterGuard<'_> {
        EnterGuard::new(self.team.clone())
    }

    pub(super) fn team(&self) -> &Team {
        &self.team
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        shut_down(&self.team);
    }
}

// A panic in a job ends no worker and leaves nothing of the pool half done.
impl UnwindSafe for Pool {}
impl RefUnwindSafe for Pool {}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("workers", &self.num_workers()).finish_non_exhaustive()
    }
}
