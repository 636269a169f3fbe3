//! A reference to a pool that does not keep it running.

#![forbid(unsafe_code)]

use super::dump::Dump;
use super::explain::Explanation;
use super::holds::{hold, hold_at_work, is_inside};
use super::metrics::PoolMetrics;
use super::task_info::TaskList;
use super::trace::Trace;
use super::unfinished::Unfinished;
use crate::base::TryCurrentError;
use crate::ops::broadcast::{self, BroadcastContext};
use crate::ops::detached;
use crate::ops::install::install_in;
use crate::ops::join::{self, FnContext};
use crate::ops::scope::{self, Scope};
use crate::ops::scope_fifo::{self, ScopeFifo};
use crate::ops::spawn;
use crate::ops::yield_job::{Yield, yield_job, yield_local};
use crate::sched::end::try_hold;
use crate::sched::hold::Hold;
use crate::state::{Scheduler, StallReport};
use crate::task::{self, JoinHandle, TrySpawnError};
use crate::team::{Entered, Team, is_entering_over};
use crate::worker::{self, current_team, index_in};
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// A reference to a pool that can be cloned and sent anywhere.
///
/// It does not keep the pool running. After the pool was dropped, tasks and jobs that are spawned
/// through the handle are cancelled at once, and detached jobs are dropped. Only jobs, closures and
/// [shielded](crate::task::shield) tasks of the pool that still run may spawn more. Operations that
/// must return a value ([`install`](Handle::install), [`join`](Handle::join),
/// [`scope`](Handle::scope), [`broadcast`](Handle::broadcast) and similar ones) then panic. While
/// such an operation runs, a drop of the pool waits for it.
///
/// ```
/// let pool = blitz::Pool::builder().workers(2).build()?;
/// let handle = pool.handle();
/// let seven = std::thread::spawn(move || handle.spawn(async { 7 }).join()).join().unwrap();
/// assert_eq!(seven.unwrap(), 7);
/// # Ok::<(), blitz::BuildError>(())
/// ```
#[derive(Clone)]
pub struct Handle {
    team: Arc<Team>,
}

/// Access to the pool.
impl Handle {
    /// Returns the current pool: the entered one, else the pool of the calling worker.
    ///
    /// On a thread outside every pool, free functions such as [`spawn`](crate::spawn) use the
    /// global pool, but this function panics. Call [`global`](crate::global) for that pool. The
    /// free function [`block_on`](crate::block_on) enters no pool; the method
    /// [`Pool::block_on`](crate::Pool::block_on) does.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build()?;
    /// pool.block_on(async { blitz::Handle::current().spawn(async {}).await.unwrap() });
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If called outside every pool; [`try_current`](Handle::try_current) returns an error there.
    #[must_use]
    #[track_caller]
    pub fn current() -> Handle {
        match Handle::try_current() {
            Ok(handle) => handle,
            Err(error) => panic!("Handle::current has no pool to return: {error}"),
        }
    }

    /// Returns the current pool, if there is one.
    ///
    /// ```
    /// assert!(blitz::Handle::try_current().unwrap_err().is_missing_context());
    /// ```
    ///
    /// # Errors
    /// If called outside every pool, or while the thread's locals are being destroyed.
    pub fn try_current() -> Result<Handle, TryCurrentError> {
        match current_team() {
            Some(team) => Ok(Handle { team }),
            None if is_entering_over() => Err(TryCurrentError::thread_local_destroyed()),
            None => Err(TryCurrentError::missing_context()),
        }
    }

    pub(super) fn of(team: Arc<Team>) -> Handle {
        Handle { team }
    }

    /// Makes this the current pool of this thread until the guard is dropped.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build()?;
    /// let handle = pool.handle();
    /// let guard = handle.enter();
    /// assert_eq!(blitz::spawn(async { 7 }).join().unwrap(), 7);
    /// drop(guard);
    /// assert_eq!(pool.metrics().tasks.spawned, 1);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        EnterGuard::new(self.team.clone())
    }

    /// Keeps the pool at work. Returns `None` on one of its workers, since the pool does not end
    /// while that worker is in a call.
    ///
    /// # Panics
    /// If the pool has ended.
    #[track_caller]
    fn hold_from_outside(&self) -> Option<Hold> {
        if is_inside(&self.team) {
            return None;
        }
        let hold = try_hold(&self.team);
        assert!(
            hold.is_some(),
            "the pool of this Handle has ended, and cannot run a closure that returns a value: keep its \
             Pool (or Runtime) until then, or call spawn_cpu, whose JoinHandle returns an error instead"
        );
        hold
    }

    pub(crate) fn team(&self) -> &Team {
        &self.team
    }
}

/// Jobs.
impl Handle {
    /// Works like [`install`](crate::install), on this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// assert_eq!(pool.handle().install(blitz::current_num_workers), 2);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If the pool has ended. A panic of `op` continues here.
    #[track_caller]
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        install_in(&self.team, self.hold_from_outside(), |_, _| op())
    }

    /// Works like [`join`](crate::join), on this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// assert_eq!(pool.handle().join(|| 1, || 2), (1, 2));
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If the pool has ended. Also panics where [`join`](crate::join) does.
    #[track_caller]
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        join::join_in(&self.team, self.hold_from_outside(), |_| a(), |_| b())
    }

    /// Works like [`join_context`](crate::join_context), on this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let moved = pool.handle().join_context(|_| (), |context| context.migrated()).1;
    /// assert!(moved);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If the pool has ended. Also panics where [`join`](crate::join) does.
    #[track_caller]
    pub fn join_context<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(FnContext) -> RA + Send,
        B: FnOnce(FnContext) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        let (a, b) = (|moved| a(FnContext::new(moved)), |moved| b(FnContext::new(moved)));
        join::join_in(&self.team, self.hold_from_outside(), a, b)
    }

    /// Works like [`scope`](crate::scope), on this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let mut one = 0;
    /// pool.handle().scope(|s| s.spawn(|_| one = 1));
    /// assert_eq!(one, 1);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If the pool has ended. Also panics where [`scope`](crate::scope) does.
    #[track_caller]
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        scope::scope_in(&self.team, self.hold_from_outside(), op)
    }

    /// Works like [`scope_fifo`](crate::scope_fifo), on this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let mut one = 0;
    /// pool.handle().scope_fifo(|s| s.spawn_fifo(|_| one = 1));
    /// assert_eq!(one, 1);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If the pool has ended. Also panics where [`scope`](crate::scope) does.
    #[track_caller]
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        scope_fifo::scope_in(&self.team, self.hold_from_outside(), op)
    }

    /// Works like [`in_place_scope`](crate::in_place_scope), with jobs that run on this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let mut one = 0;
    /// pool.handle().in_place_scope(|s| s.spawn(|_| one = 1));
    /// assert_eq!(one, 1);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If the pool has ended. Also panics where [`scope`](crate::scope) does.
    #[track_caller]
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        scope::in_place(&self.team, self.hold_from_outside(), op)
    }

    /// Works like [`in_place_scope_fifo`](crate::in_place_scope_fifo), with jobs that run on this
    /// pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let mut one = 0;
    /// pool.handle().in_place_scope_fifo(|s| s.spawn_fifo(|_| one = 1));
    /// assert_eq!(one, 1);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If the pool has ended. Also panics where [`scope`](crate::scope) does.
    #[track_caller]
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        scope_fifo::in_place(&self.team, self.hold_from_outside(), op)
    }

    /// Works like [`broadcast`](crate::broadcast), on this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// assert_eq!(pool.handle().broadcast(|context| context.index()), [0, 1]);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If the pool has ended. Also panics where [`broadcast`](crate::broadcast) does.
    #[track_caller]
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast::broadcast_in(&self.team, self.hold_from_outside(), op)
    }

    /// Works like [`spawn_broadcast`](crate::spawn_broadcast), on this pool. If it has ended, `op`
    /// is dropped.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let (send, receive) = std::sync::mpsc::channel();
    /// pool.handle().spawn_broadcast(move |context| send.send(context.index()).unwrap());
    /// assert_eq!(receive.iter().count(), 2);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        broadcast::spawn_broadcast_in(&self.team, hold(&self.team), op);
    }

    /// Works like [`spawn_cpu`](crate::spawn_cpu), on this pool. If it has ended, the job is
    /// cancelled.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build()?;
    /// let handle = pool.handle();
    /// assert_eq!(handle.spawn_cpu(|| 6 * 7).join().unwrap(), 42);
    /// drop(pool);
    /// assert!(handle.spawn_cpu(|| 6 * 7).join().unwrap_err().is_cancelled());
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn spawn_cpu<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        spawn::spawn_in(&self.team, hold(&self.team), f)
    }

    /// Works like [`spawn_detached`](crate::spawn_detached), on this pool. If it has ended, `f` is
    /// dropped.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let (send, receive) = std::sync::mpsc::channel();
    /// pool.handle().spawn_detached(move || send.send(7).unwrap());
    /// assert_eq!(receive.recv(), Ok(7));
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn spawn_detached<F>(&self, f: F)
    where
        F: FnOnce() + Send + 'static,
    {
        detached::spawn_in(&self.team, hold(&self.team), f);
    }

    /// Works like [`spawn_detached_fifo`](crate::spawn_detached_fifo), on this pool. If it has
    /// ended, `f` is dropped.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let (send, receive) = std::sync::mpsc::channel();
    /// pool.handle().spawn_detached_fifo(move || send.send(7).unwrap());
    /// assert_eq!(receive.recv(), Ok(7));
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn spawn_detached_fifo<F>(&self, f: F)
    where
        F: FnOnce() + Send + 'static,
    {
        detached::spawn_fifo_in(&self.team, hold(&self.team), f);
    }

    /// Works like [`yield_job`](crate::yield_job); returns `None` if the current thread is not a
    /// worker of this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build()?;
    /// assert_eq!(pool.handle().yield_job(), None);
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
    /// assert_eq!(pool.handle().yield_local(), None);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    #[expect(clippy::must_use_candidate, reason = "callers want a job run")]
    pub fn yield_local(&self) -> Option<Yield> {
        self.current_worker_index().and_then(|_| yield_local())
    }
}

/// Tasks.
impl Handle {
    /// Works like [`spawn`](crate::spawn), on this pool. If it has ended, the task is cancelled.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build()?;
    /// assert_eq!(pool.handle().spawn(async { 7 }).join().unwrap(), 7);
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

    /// Works like [`try_spawn`](crate::try_spawn), on this pool. If it has ended, the task is
    /// cancelled.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build()?;
    /// let handle = pool.handle().try_spawn(async { 7 }).unwrap();
    /// assert_eq!(handle.join().unwrap(), 7);
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

    /// Works like [`spawn_blocking`](crate::spawn_blocking), with this pool's threads. If it has
    /// ended, the closure is cancelled.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build()?;
    /// assert_eq!(pool.handle().spawn_blocking(|| 7).join().unwrap(), 7);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn spawn_blocking<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        task::spawn_blocking_in(&self.team, hold_at_work(&self.team), f)
    }

    /// Works like [`block_on`](crate::block_on). Tasks that the future spawns go to this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build()?;
    /// assert_eq!(pool.handle().block_on(async { 7 }), 7);
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
impl Handle {
    /// Returns how many workers the pool has, or had before its end.
    #[must_use]
    pub fn num_workers(&self) -> usize {
        self.team.num_workers()
    }

    /// Returns the index of the current thread among this pool's workers, if it is one of them.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let handle = pool.handle();
    /// assert_eq!(handle.current_worker_index(), None);
    /// assert!(pool.install(|| handle.current_worker_index()).unwrap() < 2);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    #[must_use]
    pub fn current_worker_index(&self) -> Option<usize> {
        index_in(&self.team)
    }

    /// Returns the scheduler of the pool.
    #[must_use]
    pub fn scheduler(&self) -> Scheduler {
        self.team.tasks.scheduler()
    }

    /// Works like [`metrics`](crate::metrics()), for this pool.
    #[must_use]
    pub fn metrics(&self) -> PoolMetrics {
        PoolMetrics::of(&self.team)
    }

    /// Works like [`dump`](crate::dump()), for this pool.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// assert!(pool.handle().dump().to_string().contains("worker 1"));
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    #[must_use]
    pub fn dump(&self) -> Dump {
        Dump::of(&self.team)
    }

    /// Works like [`Pool::trace`](crate::Pool::trace).
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let trace = pool.handle().trace(std::time::Duration::from_secs(1));
    /// assert!(trace.begin < trace.end);
    /// # Ok::<(), blitz::BuildError>(())
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
    /// while pool.handle().tasks().get(task.id()).is_none() {
    ///     std::thread::yield_now();
    /// }
    /// let tasks = pool.handle().tasks();
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
    /// assert!(pool.handle().stalls().is_empty());
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
    /// assert!(!pool.handle().explain().has_findings());
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
    /// assert!(pool.handle().probe().tasks().is_empty());
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
    /// let handle = pool.handle();
    /// assert_eq!(handle.unfinished().workers, 2);
    /// drop(pool);
    /// assert!(handle.unfinished().is_empty());
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    #[must_use]
    pub fn unfinished(&self) -> Unfinished {
        Unfinished::of(&self.team)
    }
}

impl From<&Handle> for Handle {
    fn from(handle: &Handle) -> Handle {
        handle.clone()
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("workers", &self.num_workers()).finish_non_exhaustive()
    }
}

/// Keeps the entered pool current until this is dropped. Guards may be dropped in any order: the
/// newest guard that is left decides which pool is current.
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
