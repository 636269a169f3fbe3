//! Tokio's multi-threaded runtime, without its drivers: nothing here needs I/O or timers.

use std::future::Future;

use super::{Runtime, Tasks};
use crate::rival::Build;

/// A runtime of its own.
#[derive(Debug)]
pub struct Tokio(::tokio::runtime::Runtime);

impl Build for Tokio {
    fn build(workers: usize) -> Result<Self, String> {
        ::tokio::runtime::Builder::new_multi_thread()
            .worker_threads(workers)
            .build()
            .map(Self)
            .map_err(|error| error.to_string())
    }
}

impl Runtime for Tokio {
    type Tasks = TokioTasks;

    fn tasks(&self) -> TokioTasks {
        TokioTasks
    }

    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future<Output: Send> + Send,
    {
        self.0.block_on(future)
    }
}

/// The runtime of the current thread.
#[derive(Debug, Clone, Copy)]
pub struct TokioTasks;

impl Tasks for TokioTasks {
    #[inline]
    fn spawn<F>(self, future: F) -> impl Future<Output = F::Output> + Send + 'static
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let handle = ::tokio::spawn(future);
        async move { handle.await.expect("tasks of a workload neither panic nor are aborted") }
    }

    #[inline]
    fn detach<F>(self, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        drop(::tokio::spawn(future));
    }

    #[inline]
    fn yield_now(self) -> impl Future<Output = ()> + Send {
        ::tokio::task::yield_now()
    }
}
