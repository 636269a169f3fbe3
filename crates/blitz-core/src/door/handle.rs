//! A way into a pool that does not keep it at work.

#![forbid(unsafe_code)]

use super::dump::Dump;
use super::metrics::PoolMetrics;
use super::pool::Pool;
use super::unfinished::Unfinished;
use crate::ops::spawn;
use crate::sched::end::try_hold;
use crate::task::{self, JoinHandle, TrySpawnError};
use crate::team::Entered;
use crate::team::PoolView;
use crate::team::Team;
use crate::worker::current_team;
use blitz_parts::sleep::Driver;
use std::fmt;
use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::sync::Arc;

/// A way into a pool that can be cloned and sent anywhere. It does not keep the pool working: what is
/// spawned through it after the pool was dropped is cancelled at once.
///
/// ```
/// let pool = blitz::Pool::builder().workers(2).build().unwrap();
/// let handle = pool.handle();
/// let seven = std::thread::spawn(move || handle.spawn(async { 7 }).join()).join().unwrap();
/// assert_eq!(seven.unwrap(), 7);
/// ```
#[derive(Clone)]
pub struct Handle {
    team: Arc<Team>,
}

impl Handle {
    /// The current pool: the one that was entered, else that of the worker that calls.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build().unwrap();
    /// pool.block_on(async { blitz::Handle::current().spawn(async {}).await.unwrap() });
    /// ```
    ///
    /// # Panics
    /// Outside of every pool; [`try_current`](Handle::try_current) returns `None` there.
    #[track_caller]
    pub fn current() -> Handle {
        match Handle::try_current() {
            Some(handle) => handle,
            None => panic!(
                "Handle::current was called outside of every pool: call it inside block_on or a task, or \
                 after Handle::enter"
            ),
        }
    }

    /// The current pool, if there is one.
    ///
    /// ```
    /// assert!(blitz::Handle::try_current().is_none());
    /// ```
    pub fn try_current() -> Option<Handle> {
        current_team().map(|team| Handle { team })
    }

    /// Makes this the current pool of this thread until the guard is dropped.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build().unwrap();
    /// let handle = pool.handle();
    /// let guard = handle.enter();
    /// assert_eq!(blitz::spawn(async { 7 }).join().unwrap(), 7);
    /// drop(guard);
    /// assert_eq!(pool.metrics().tasks.spawned, 1);
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        EnterGuard::new(self.team.clone())
    }

    /// As [`spawn`](crate::spawn), on this pool. If it has ended the task is cancelled.
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        task::spawn_in(&self.team, future)
    }

    /// As [`spawn`](Handle::spawn), unless `global_queue_capacity` tasks wait already: for callers that
    /// had rather wait, or refuse work, than queue without end.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build().unwrap();
    /// let handle = pool.handle().try_spawn(async { 7 }).unwrap();
    /// assert_eq!(handle.join().unwrap(), 7);
    /// ```
    ///
    /// # Errors
    /// If the queue is full; the error has the future.
    pub fn try_spawn<F>(&self, future: F) -> Result<JoinHandle<F::Output>, TrySpawnError<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        task::try_spawn_in(&self.team, future)
    }

    /// As [`block_on`](crate::block_on); what the future spawns goes to this pool.
    ///
    /// # Blocking
    /// A thread outside of every pool blocks.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        task::block_on_in(&self.team, future)
    }

    /// What the workers have done so far.
    pub fn metrics(&self) -> PoolMetrics {
        PoolMetrics::of(&self.team)
    }

    /// As [`Pool::dump`](crate::Pool::dump).
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build().unwrap();
    /// assert!(pool.handle().dump().to_string().contains("worker 1"));
    /// ```
    pub fn dump(&self) -> Dump {
        Dump::of(&self.team)
    }

    /// As [`spawn_cpu`](crate::spawn_cpu), on this pool. If it has ended the job is cancelled.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build().unwrap();
    /// let handle = pool.handle();
    /// assert_eq!(handle.spawn_cpu(|| 6 * 7).join().unwrap(), 42);
    /// drop(pool);
    /// assert!(handle.spawn_cpu(|| 6 * 7).join().unwrap_err().is_cancelled());
    /// ```
    pub fn spawn_cpu<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        spawn::spawn_in(&self.team, try_hold(&self.team), f)
    }

    /// As [`spawn_blocking`](crate::spawn_blocking), with this pool's threads. If it has ended the job is
    /// cancelled.
    pub fn spawn_blocking<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        task::spawn_blocking_in(&self.team, try_hold(&self.team), f)
    }

    /// What the end of the pool waits for, or would.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build().unwrap();
    /// let handle = pool.handle();
    /// assert_eq!(handle.unfinished().workers, 2);
    /// drop(pool);
    /// assert!(handle.unfinished().is_empty());
    /// ```
    pub fn unfinished(&self) -> Unfinished {
        Unfinished::of(&self.team)
    }

    /// This pool's driver; `make` makes it if there is none yet.
    ///
    /// # Errors
    /// If the driver cannot be made, or if the pool has ended.
    pub fn driver<D: Driver>(
        &self,
        make: impl FnOnce(PoolView) -> io::Result<Arc<D>>,
    ) -> io::Result<Arc<D>> {
        self.team.driver_arc(make)
    }

    pub(super) fn of(team: Arc<Team>) -> Handle {
        Handle { team }
    }
}

impl From<&Handle> for Handle {
    fn from(handle: &Handle) -> Handle {
        handle.clone()
    }
}

impl From<&Pool> for Handle {
    fn from(pool: &Pool) -> Handle {
        pool.handle()
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("workers", &self.team.num_workers()).finish_non_exhaustive()
    }
}

/// The entered pool is the current one until this is dropped. Guards may be dropped in any order: the
/// newest that is left counts.
#[derive(Debug)]
#[must_use = "dropped at once, it has no effect"]
pub struct EnterGuard<'a> {
    _entered: Entered,
    handle: PhantomData<&'a Handle>,
}

impl EnterGuard<'_> {
    pub(super) fn new(team: Arc<Team>) -> Self {
        EnterGuard { _entered: Entered::new(team), handle: PhantomData }
    }
}
