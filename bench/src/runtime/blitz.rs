//! Blitz itself, through the API that its users see.

use std::future::Future;

use super::{Runtime, Tasks};
use crate::rival::Build;

/// A runtime of its own, never the global one.
#[derive(Debug)]
pub struct Blitz(::blitz::Runtime);

impl Build for Blitz {
    fn build(workers: usize) -> Result<Self, String> {
        ::blitz::Runtime::builder()
            .workers(workers)
            .build()
            .map(Self)
            .map_err(|error| error.to_string())
    }
}

impl Runtime for Blitz {
    type Tasks = BlitzTasks;

    fn tasks(&self) -> BlitzTasks {
        BlitzTasks
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
pub struct BlitzTasks;

impl Tasks for BlitzTasks {
    #[inline]
    fn spawn<F>(self, future: F) -> impl Future<Output = F::Output> + Send + 'static
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let handle = ::blitz::spawn(future);
        async move { handle.await.expect("tasks of a workload neither panic nor are aborted") }
    }

    #[inline]
    fn detach<F>(self, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        drop(::blitz::spawn(future));
    }

    #[inline]
    fn yield_now(self) -> impl Future<Output = ()> + Send {
        ::blitz::task::yield_now()
    }
}
