//! smol: the executor of `async-executor`, run by as many threads as it is to have workers.

use std::{
    future::Future,
    thread::{self, JoinHandle},
};

use async_executor::Executor;
use futures_lite::future;
use tokio::sync::oneshot;

use super::{Runtime, Tasks};
use crate::rival::Build;

/// An executor and the threads that run it.
///
/// Why leak the executor? smol's users keep theirs in a `static`, and a task that starts another
/// then needs no reference count. It is as small as it is rare.
#[derive(Debug)]
pub struct Smol {
    executor: &'static Executor<'static>,
    workers: Vec<Worker>,
}

#[derive(Debug)]
struct Worker {
    /// The thread ends when this is dropped.
    stay: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Build for Smol {
    fn build(workers: usize) -> Result<Self, String> {
        let executor: &'static Executor<'static> = Box::leak(Box::default());
        let start = |_| {
            let (stay, leave) = oneshot::channel();
            let serve = move || drop(future::block_on(executor.run(leave)));
            let thread = thread::Builder::new().spawn(serve).map_err(|error| error.to_string())?;
            Ok(Worker { stay, thread })
        };
        let workers = (0..workers).map(start).collect::<Result<_, String>>()?;
        Ok(Self { executor, workers })
    }
}

impl Drop for Smol {
    fn drop(&mut self) {
        let threads: Vec<JoinHandle<()>> = self
            .workers
            .drain(..)
            .map(|Worker { stay, thread }| {
                drop(stay);
                thread
            })
            .collect();
        for thread in threads {
            // A task that panicked has already said so on stderr.
            let _ = thread.join();
        }
    }
}

impl Runtime for Smol {
    type Tasks = SmolTasks;

    fn tasks(&self) -> SmolTasks {
        SmolTasks(self.executor)
    }

    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future<Output: Send> + Send,
    {
        future::block_on(future)
    }
}

/// The executor.
#[derive(Debug, Clone, Copy)]
pub struct SmolTasks(&'static Executor<'static>);

impl Tasks for SmolTasks {
    #[inline]
    fn spawn<F>(self, future: F) -> impl Future<Output = F::Output> + Send + 'static
    where
        F: Future<Output: Send> + Send + 'static,
    {
        self.0.spawn(future)
    }

    #[inline]
    fn detach<F>(self, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.0.spawn(future).detach();
    }

    #[inline]
    fn yield_now(self) -> impl Future<Output = ()> + Send {
        future::yield_now()
    }
}
