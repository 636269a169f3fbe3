//! The handle of a pool, under Rayon's names.

#![forbid(unsafe_code)]

use crate::broadcast::BroadcastContext;
#[allow(deprecated)]
use crate::builder::Configuration;
use crate::global::Yield;
use crate::proof;
use crate::scope::{Scope, ScopeFifo};
use blitz_core::Pool;
use std::error::Error;
use std::fmt;

/// A set of threads. Dropping it does not wait for them; they end when the jobs that were spawned
/// into the pool are done.
pub struct ThreadPool {
    pool: Pool,
}

impl ThreadPool {
    pub(crate) fn of(pool: Pool) -> ThreadPool {
        proof::pool_started();
        ThreadPool { pool }
    }

    /// Builds a pool.
    ///
    /// # Errors
    /// Returns the same errors as [`ThreadPoolBuilder::build`](crate::ThreadPoolBuilder::build).
    #[deprecated(note = "use `ThreadPoolBuilder::build`")]
    #[allow(deprecated)]
    pub fn new(configuration: Configuration) -> Result<ThreadPool, Box<dyn Error>> {
        configuration.into_builder().build().map_err(Box::from)
    }

    /// Runs `op` on a thread of this pool; inside, the free functions use this pool.
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.pool.install(op)
    }

    /// Works like [`broadcast`](crate::broadcast), on this pool.
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        self.pool.broadcast(|context| op(BroadcastContext::of(context)))
    }

    /// How many threads the pool has.
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.pool.num_workers()
    }

    /// The index of the current thread, if it is one of this pool's.
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        self.pool.current_worker_index()
    }

    /// Works like [`current_thread_has_pending_tasks`](crate::current_thread_has_pending_tasks).
    /// Returns `None` if the current thread is not one of this pool's.
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.current_thread_index().and_then(|_| blitz_core::current_worker_has_jobs())
    }

    /// Works like [`join`](crate::join), on this pool.
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.pool.join(oper_a, oper_b)
    }

    /// Works like [`scope`](crate::scope()), on this pool.
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.pool.scope(|scope| op(Scope::of(scope)))
    }

    /// Works like [`scope_fifo`](crate::scope_fifo), on this pool.
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.pool.scope_fifo(|scope| op(ScopeFifo::of(scope)))
    }

    /// Works like [`in_place_scope`](crate::in_place_scope), with jobs that run on this pool.
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        self.pool.in_place_scope(|scope| op(Scope::of(scope)))
    }

    /// Works like [`in_place_scope_fifo`](crate::in_place_scope_fifo), with jobs that run on this
    /// pool.
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        self.pool.in_place_scope_fifo(|scope| op(ScopeFifo::of(scope)))
    }

    /// Works like [`spawn`](crate::spawn), on this pool.
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.pool.spawn_detached(op);
    }

    /// Works like [`spawn_fifo`](crate::spawn_fifo), on this pool.
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.pool.spawn_detached_fifo(op);
    }

    /// Works like [`spawn_broadcast`](crate::spawn_broadcast), on this pool.
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        self.pool.spawn_broadcast(move |context| op(BroadcastContext::of(context)));
    }

    /// Works like [`yield_now`](crate::yield_now). Returns `None` if the current thread is not one
    /// of this pool's.
    pub fn yield_now(&self) -> Option<Yield> {
        self.pool.yield_job().map(Yield::of)
    }

    /// Works like [`yield_local`](crate::yield_local). Returns `None` if the current thread is not
    /// one of this pool's.
    pub fn yield_local(&self) -> Option<Yield> {
        self.pool.yield_local().map(Yield::of)
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        proof::pool_ends(&self.pool);
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.current_num_threads())
            .finish_non_exhaustive()
    }
}
