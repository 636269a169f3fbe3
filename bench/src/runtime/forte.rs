//! Forte: a future is a job that its waker pushes again, on the worker that wakes it.
//!
//! Forte's rows in the result tables follow from how this version works. It shares jobs with other
//! workers only at a `join`. So no other worker takes a task from the worker that started or woke
//! it. A thread that is not a worker becomes a worker during a call that starts or wakes a task.
//! Before that call returns, the thread runs the jobs that it pushed.

use std::{future::Future, net::TcpListener, time::Duration};

use tokio_util::compat::FuturesAsyncReadCompatExt as _;

use super::{Outside, Runtime, Tasks, Timers, outside, smol};
use crate::rival::Build as _;
pub use crate::rival::Forte;

impl Runtime for Forte {
    type Tasks = ForteTasks;

    const CALLER_RUNS_TASKS: bool = true;

    fn tasks(&self) -> ForteTasks {
        ForteTasks
    }

    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future<Output: Send> + Send,
    {
        self.pool().block_on(future)
    }
}

/// Uses the sockets and timers of `async-io`.
///
/// The thread of `async-io` wakes the tasks. In Forte the thread that wakes a task polls it.
impl Outside for Forte {
    fn build_for_outside(workers: usize) -> Result<Self, String> {
        Self::build(workers)
    }

    fn echo(&self, listener: TcpListener) -> Result<(), String> {
        self.pool().spawn_future(smol::accept(ForteTasks, listener, smol::echo)?).detach();
        Ok(())
    }

    fn hello(&self, listener: TcpListener) -> Result<(), String> {
        let hello = |stream: smol::Stream| outside::hello(stream.compat());
        self.pool().spawn_future(smol::accept(ForteTasks, listener, hello)?).detach();
        Ok(())
    }
}

impl Timers for ForteTasks {
    fn sleep(self, duration: Duration) -> impl Future<Output = ()> + Send + 'static {
        smol::sleep(duration)
    }
}

/// The pool of the current thread.
#[derive(Debug, Clone, Copy)]
pub struct ForteTasks;

impl Tasks for ForteTasks {
    #[inline]
    fn spawn<F>(self, future: F) -> impl Future<Output = F::Output> + Send + 'static
    where
        F: Future<Output: Send> + Send + 'static,
    {
        ::forte::spawn_future(future)
    }

    #[inline]
    fn detach<F>(self, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        ::forte::spawn_future(future).detach();
    }

    /// Forte has no yield for futures, so its users take one from another crate.
    #[inline]
    fn yield_now(self) -> impl Future<Output = ()> + Send {
        futures_lite::future::yield_now()
    }
}
