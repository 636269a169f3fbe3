//! The pool and its operations.

#![forbid(unsafe_code)]

use super::dump::Dump;
use super::explain::Explanation;
use super::handle::{EnterGuard, Handle};
use super::metrics::PoolMetrics;
use super::task_info::TaskList;
use super::trace::Trace;
use super::unfinished::Unfinished;
use crate::base::BuildError;
use crate::ops::broadcast::{self, BroadcastContext};
use crate::ops::detached;
use crate::ops::install::install_in;
use crate::ops::join::{self, FnContext};
use crate::ops::scope::{self, Scope};
use crate::ops::scope_fifo::{self, ScopeFifo};
use crate::ops::spawn;
use crate::ops::yield_job::{Yield, yield_job, yield_local};
use crate::sched::hold::Hold;
use crate::state::{Scheduler, StallReport};
use crate::task::{self, JoinHandle, TrySpawnError};
use crate::team::Team;
use crate::worker::{self, ends_within, index_in, is_own_thread, shut_down, wait_for_end};
use blitz_parts::prim::{Mutex, mpsc, thread};
use std::fmt;
use std::future::Future;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// A set of worker threads, which run jobs and poll tasks.
///
/// [`Runtime`](crate::Runtime) is another name of this type. Most free functions of the crate, such
/// as [`join`](crate::join) and [`spawn`](crate::spawn), are methods here, too.
///
/// # The end
/// Dropping the pool cancels the tasks that are left. It waits for spawned jobs, for
/// [shielded](crate::task::shield) sections, for closures of `spawn_blocking`, for file writes in
/// flight, and for the threads. A drop on one of its own threads does not wait; the jobs still run.
///
/// The drop has no time limit. If some of this work may never end, for example a read of a pipe
/// without a writer, end the pool with [`shutdown_within`](Pool::shutdown_within). File reads are
/// cancelled with io_uring; otherwise the drop waits for the threads that read.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pool = blitz::Pool::builder().workers(2).build()?;
/// let sum: u64 = pool.install(|| {
///     let (a, b) = blitz::join(|| (0..500u64).sum::<u64>(), || (500..1000u64).sum::<u64>());
///     a + b
/// });
/// assert_eq!(sum, 499_500);
/// let answer = pool.block_on(async { blitz::spawn(async { 6 * 7 }).await })?;
/// assert_eq!(answer, 42);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "ThreadPool")]
pub struct Pool {
    team: Arc<Team>,
    /// Whether the drop waits for the end, unless `detach_on_drop` is set.
    waits: bool,
}

/// The name of [`Pool`] in async programs: the same type.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = blitz::Runtime::builder().workers(2).build()?;
/// let answer = runtime.block_on(async { blitz::spawn(async { 6 * 7 }).await })?;
/// assert_eq!(answer, 42);
/// let pool: blitz::Pool = runtime;
/// assert_eq!(pool.join(|| 1, || 2), (1, 2));
/// # Ok(())
/// # }
/// ```
pub type Runtime = Pool;

/// Construction and shutdown.
impl Pool {
    /// The largest number of workers that a pool can have: 65,535.
    pub const MAX_WORKERS: usize = blitz_parts::sleep::WORKERS_MAX;

    /// Builds a pool with all defaults: one worker per core.
    ///
    /// ```
    /// assert_eq!(blitz::Runtime::new()?.block_on(async { 7 }), 7);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the system starts no thread, or if a variable such as `BLITZ_SCHEDULER` is invalid.
    pub fn new() -> Result<Pool, BuildError> {
        Pool::builder().build()
    }

    pub(super) fn of(team: Arc<Team>) -> Pool {
        Pool { team, waits: true }
    }

    /// Returns the pool itself: a runtime and its pool are the same thing.
    ///
    /// ```
    /// let runtime = blitz::Runtime::new()?;
    /// assert_eq!(runtime.pool().join(|| 1, || 2), (1, 2));
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    #[must_use]
    pub fn pool(&self) -> &Pool {
        self
    }

    /// Returns a reference to the pool that can be cloned and sent anywhere.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build()?;
    /// assert_eq!(pool.handle().num_workers(), 1);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle::of(self.team.clone())
    }

    /// Makes this the current pool of this thread until the guard is dropped.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build()?;
    /// let guard = pool.enter();
    /// assert_eq!(blitz::spawn(async { 7 }).join().unwrap(), 7);
    /// drop(guard);
    /// assert_eq!(pool.metrics().tasks.spawned, 1);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        EnterGuard::new(self.team.clone())
    }

    /// Ends the pool as its drop does, but waits at most `patience`.
    ///
    /// Work that is left goes on in the background. [`shutdown_within`](Pool::shutdown_within) also
    /// reports it.
    ///
    /// ```
    /// let runtime = blitz::Runtime::new()?;
    /// drop(runtime.spawn(std::future::pending::<()>()));
    /// runtime.shutdown_timeout(std::time::Duration::from_secs(60));
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn shutdown_timeout(self, patience: Duration) {
        // The caller does not want to know what is left.
        let _ = self.shutdown_within(patience);
    }

    /// Ends the pool as its drop does, but waits at most `patience`, and reports what is left.
    ///
    /// ```
    /// let runtime = blitz::Runtime::new()?;
    /// let (go, wait) = std::sync::mpsc::channel::<()>();
    /// drop(runtime.spawn_blocking(move || wait.recv()));
    /// let left = runtime.shutdown_within(std::time::Duration::from_millis(1)).unwrap_err();
    /// assert_eq!(left.blocking, 1);
    /// drop(go);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If work is left after `patience`. The error lists it, and it goes on in the background. An
    /// empty list means that the pool has ended since. The call also waits for a pool with
    /// [`detach_on_drop`](crate::PoolBuilder::detach_on_drop).
    ///
    /// On one of the pool's own threads it returns the error at once: the pool cannot end before
    /// this call has returned.
    ///
    /// # Blocking
    /// Any other thread blocks. That includes workers of other pools, whose work a spare thread
    /// does meanwhile: see [`block_in_place`](crate::block_in_place).
    pub fn shutdown_within(self, patience: Duration) -> Result<(), Unfinished> {
        let handle = self.handle();
        if is_own_thread(&self.team) {
            drop(self);
            return Err(handle.unfinished());
        }
        let (done, wait) = mpsc::channel();
        // The pool is not in the closure, which is dropped if the thread cannot be started.
        let place = Arc::new(Mutex::new(Some(self)));
        let take = |place: &Mutex<Option<Pool>>| {
            place.lock().unwrap_or_else(PoisonError::into_inner).take()
        };
        let taken = place.clone();
        let name = "blitz-shutdown".to_owned();
        let ending = thread::Builder::new().name(name).spawn(move || {
            if let Some(pool) = take(&taken) {
                let team = pool.team.clone();
                drop(pool);
                wait_for_end(&team);
            }
            // The caller may have stopped waiting.
            let _ = done.send(());
        });
        let has_ended = match ending {
            Ok(_) => wait.recv_timeout(patience).is_ok(),
            Err(_) => {
                let team = take(&place).map(|mut pool| {
                    pool.waits = false;
                    pool.team.clone()
                });
                team.is_none_or(|team| ends_within(&team, patience))
            }
        };
        if has_ended { Ok(()) } else { Err(handle.unfinished()) }
    }

    /// Ends the pool as its drop does, without waiting.
    ///
    /// ```
    /// blitz::Runtime::new()?.shutdown_background();
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn shutdown_background(self) {
        self.shutdown_timeout(Duration::ZERO);
    }

    pub(super) fn team(&self) -> &Team {
        &self.team
    }
}

/// Jobs.
impl Pool {
    /// Works like [`install`](crate::install), on this pool. Inside `op`, the free functions use
    /// this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// assert_eq!(pool.install(blitz::current_num_workers), 2);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// A panic of `op` continues here.
    ///
    /// # Blocking
    /// A thread outside the pool blocks; a worker of another pool goes on with its pool's work.
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        install_in(&self.team, None, |_, _| op())
    }

    /// Works like [`join`](crate::join), on this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        join::join_in(&self.team, None, |_| a(), |_| b())
    }

    /// Works like [`join_context`](crate::join_context), on this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// // This thread is not a worker of the pool.
    /// let moved = pool.join_context(|context| context.migrated(), |context| context.migrated());
    /// assert_eq!(moved, (true, true));
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn join_context<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(FnContext) -> RA + Send,
        B: FnOnce(FnContext) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        join::join_in(
            &self.team,
            None,
            |moved| a(FnContext::new(moved)),
            |moved| b(FnContext::new(moved)),
        )
    }

    /// Works like [`scope`](crate::scope), on this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let mut halves = (0, 0);
    /// pool.scope(|s| {
    ///     s.spawn(|_| halves.0 = 1);
    ///     s.spawn(|_| halves.1 = 2);
    /// });
    /// assert_eq!(halves, (1, 2));
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        scope::scope_in(&self.team, None, op)
    }

    /// Works like [`scope_fifo`](crate::scope_fifo), on this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let mut one = 0;
    /// pool.scope_fifo(|s| s.spawn_fifo(|_| one = 1));
    /// assert_eq!(one, 1);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        scope_fifo::scope_in(&self.team, None, op)
    }

    /// Works like [`in_place_scope`](crate::in_place_scope), with jobs that run on this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let mut one = 0;
    /// pool.in_place_scope(|s| s.spawn(|_| one = 1));
    /// assert_eq!(one, 1);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        scope::in_place(&self.team, None, op)
    }

    /// Works like [`in_place_scope_fifo`](crate::in_place_scope_fifo), with jobs that run on this
    /// pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let mut one = 0;
    /// pool.in_place_scope_fifo(|s| s.spawn_fifo(|_| one = 1));
    /// assert_eq!(one, 1);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        scope_fifo::in_place(&self.team, None, op)
    }

    /// Works like [`broadcast`](crate::broadcast), on this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// assert_eq!(pool.broadcast(|context| context.index()), [0, 1]);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast::broadcast_in(&self.team, None, op)
    }

    /// Works like [`spawn_broadcast`](crate::spawn_broadcast), on this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let (send, receive) = std::sync::mpsc::channel();
    /// pool.spawn_broadcast(move |context| send.send(context.index()).unwrap());
    /// assert_eq!(receive.iter().count(), 2);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        broadcast::spawn_broadcast_in(&self.team, Some(Hold::new(&self.team)), op);
    }

    /// Works like [`spawn_cpu`](crate::spawn_cpu), on this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let handle = pool.spawn_cpu(|| (1..=10).sum::<i32>());
    /// assert_eq!(handle.join().unwrap(), 55);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn spawn_cpu<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        spawn::spawn_in(&self.team, Some(Hold::new(&self.team)), f)
    }

    /// Works like [`spawn_detached`](crate::spawn_detached), on this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let (send, receive) = std::sync::mpsc::channel();
    /// pool.spawn_detached(move || send.send(7).unwrap());
    /// assert_eq!(receive.recv(), Ok(7));
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn spawn_detached<F>(&self, f: F)
    where
        F: FnOnce() + Send + 'static,
    {
        detached::spawn_in(&self.team, Some(Hold::new(&self.team)), f);
    }

    /// Works like [`spawn_detached_fifo`](crate::spawn_detached_fifo), on this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let (send, receive) = std::sync::mpsc::channel();
    /// pool.spawn_detached_fifo(move || send.send(7).unwrap());
    /// assert_eq!(receive.recv(), Ok(7));
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn spawn_detached_fifo<F>(&self, f: F)
    where
        F: FnOnce() + Send + 'static,
    {
        detached::spawn_fifo_in(&self.team, Some(Hold::new(&self.team)), f);
    }

    /// Works like [`yield_job`](crate::yield_job); returns `None` if the current thread is not a
    /// worker of this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build()?;
    /// assert_eq!(pool.yield_job(), None);
    /// assert_eq!(pool.install(|| pool.yield_job()), Some(blitz::Yield::Idle));
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    #[doc(alias = "yield_now")]
    #[expect(clippy::must_use_candidate, reason = "callers want a job run")]
    pub fn yield_job(&self) -> Option<Yield> {
        self.current_worker_index().and_then(|_| yield_job())
    }

    /// Works like [`yield_local`](crate::yield_local); returns `None` if the current thread is not
    /// a worker of this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build()?;
    /// assert_eq!(pool.install(|| pool.yield_local()), Some(blitz::Yield::Idle));
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    #[expect(clippy::must_use_candidate, reason = "callers want a job run")]
    pub fn yield_local(&self) -> Option<Yield> {
        self.current_worker_index().and_then(|_| yield_local())
    }
}

/// Tasks.
impl Pool {
    /// Works like [`spawn`](crate::spawn), on this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// assert_eq!(pool.spawn(async { 6 * 7 }).join().unwrap(), 42);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        task::spawn_in(&self.team, Location::caller(), future)
    }

    /// Works like [`try_spawn`](crate::try_spawn), on this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build()?;
    /// assert_eq!(pool.try_spawn(async { 7 }).unwrap().join().unwrap(), 7);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the queue is full; the error contains the future.
    #[track_caller]
    pub fn try_spawn<F>(&self, future: F) -> Result<JoinHandle<F::Output>, TrySpawnError<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        task::try_spawn_in(&self.team, Location::caller(), future)
    }

    /// Works like [`spawn_blocking`](crate::spawn_blocking), with this pool's threads.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build()?;
    /// let file = pool.spawn_blocking(|| std::fs::metadata("Cargo.toml").unwrap().is_file());
    /// assert!(pool.block_on(file).unwrap());
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn spawn_blocking<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        task::spawn_blocking_in(&self.team, Some(Hold::new(&self.team)), f)
    }

    /// Works like [`block_on`](crate::block_on). Tasks that the future spawns go to this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let seven = pool.block_on(async { blitz::spawn(async { 7 }).await.unwrap() });
    /// assert_eq!(seven, 7);
    /// assert_eq!(pool.metrics().tasks.spawned, 1);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    ///
    /// # Blocking
    /// A thread outside every pool blocks. A worker does what it does in
    /// [`block_on`](crate::block_on).
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        task::block_on_in(&self.team, future)
    }
}

/// Diagnostics.
impl Pool {
    /// Returns how many workers the pool has.
    #[must_use]
    pub fn num_workers(&self) -> usize {
        self.team.num_workers()
    }

    /// Returns the index of the current thread among this pool's workers, if it is one of them.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// assert_eq!(pool.current_worker_index(), None);
    /// assert!(pool.install(|| pool.current_worker_index()).unwrap() < 2);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    #[must_use]
    pub fn current_worker_index(&self) -> Option<usize> {
        index_in(&self.team)
    }

    /// Returns the scheduler of the pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().scheduler(blitz::Scheduler::Stealing).build()?;
    /// assert_eq!(pool.scheduler(), blitz::Scheduler::Stealing);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    #[must_use]
    pub fn scheduler(&self) -> Scheduler {
        self.team.tasks.scheduler()
    }

    /// Works like [`metrics`](crate::metrics()), for this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build()?;
    /// pool.join(|| (), || ());
    /// assert_eq!(pool.metrics().total().pushes, 1);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    #[must_use]
    pub fn metrics(&self) -> PoolMetrics {
        PoolMetrics::of(&self.team)
    }

    /// Works like [`dump`](crate::dump()), for this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// assert!(pool.dump().to_string().contains("worker 1"));
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    #[must_use]
    pub fn dump(&self) -> Dump {
        Dump::of(&self.team)
    }

    /// Returns the timeline of the pool's workers for the time `last` before now.
    ///
    /// Workers always record what they do, each in its [own
    /// ring](crate::PoolBuilder::trace_memory). New events overwrite the oldest ones, so old events
    /// may be gone. No worker stops while the rings are read. Forks that no other worker takes are
    /// not recorded. Of the short polls and jobs, only some are recorded.
    ///
    /// ```
    /// use std::time::Duration;
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// pool.spawn(async {}).join().unwrap();
    /// let trace = pool.trace(Duration::from_secs(5));
    /// assert_eq!(trace.tracks[0].name, "worker 0");
    /// let file = std::env::temp_dir().join(format!("blitz-{}.pftrace", std::process::id()));
    /// std::fs::write(&file, trace.to_perfetto())?; // for https://ui.perfetto.dev
    /// # std::fs::remove_file(file)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn trace(&self, last: Duration) -> Trace {
        Trace::of(&self.team, last)
    }

    /// Works like [`tasks`](crate::tasks()), for this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let named = blitz::task::Builder::new().name("journal");
    /// let task = named.spawn_on(std::future::pending::<()>(), &pool.handle())?;
    /// while pool.tasks().get(task.id()).is_none() {
    ///     std::thread::yield_now();
    /// }
    /// let tasks = pool.tasks();
    /// assert_eq!(tasks.get(task.id()).unwrap().name(), Some("journal"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn tasks(&self) -> TaskList {
        TaskList::of(&self.team)
    }

    /// Works like [`stalls`](crate::stalls()), for this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// assert!(pool.stalls().is_empty());
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    #[must_use]
    pub fn stalls(&self) -> Vec<StallReport> {
        worker::stalls(&self.team)
    }

    /// Works like [`explain`](crate::explain()), for this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// assert!(!pool.explain().has_findings());
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    #[must_use]
    pub fn explain(&self) -> Explanation {
        Explanation::of(&self.team)
    }

    /// Works like [`probe`](crate::probe()), for this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// assert!(pool.probe().tasks().is_empty());
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    #[must_use]
    pub fn probe(&self) -> Explanation {
        Explanation::probed(&self.team)
    }

    /// Works like [`unfinished`](crate::unfinished()), for this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// assert_eq!(pool.unfinished().workers, 2);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    #[must_use]
    pub fn unfinished(&self) -> Unfinished {
        Unfinished::of(&self.team)
    }
}

impl From<&Pool> for Handle {
    fn from(pool: &Pool) -> Handle {
        pool.handle()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        shut_down(&self.team, self.waits);
    }
}

// A panic in a job ends no worker and leaves the pool in a consistent state.
impl UnwindSafe for Pool {}
impl RefUnwindSafe for Pool {}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("workers", &self.num_workers()).finish_non_exhaustive()
    }
}
