//! The handle of a pool.

#![forbid(unsafe_code)]

use crate::builder::PoolBuilder;
use crate::dump::Dump;
use crate::handle::Entered;
use crate::metrics::PoolMetrics;
use crate::sched::Scheduler;
use crate::team::Team;
use crate::worker::current;
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

    pub(crate) fn new(team: Arc<Team>) -> Pool {
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
        self.team.in_worker(|_, _| {
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
        current::with_worker(|worker| worker.is_in(&self.team).then(|| worker.index())).flatten()
    }

    /// How tasks find a worker.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().scheduler(blitz::Scheduler::Stealing).build()?;
    /// assert_eq!(pool.scheduler(), blitz::Scheduler::Stealing);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn scheduler(&self) -> Scheduler {
        self.team.scheduler()
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

    pub(crate) fn team(&self) -> &Team {
        &self.team
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.team.shut_down();
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
