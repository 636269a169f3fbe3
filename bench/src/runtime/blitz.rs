//! Blitz itself, through the API that its users see.

use std::{future::Future, net::TcpListener, time::Duration};

use ::blitz::Scheduler;

use super::{Outside, Runtime, Tasks, Timers, outside};
use crate::{
    insight::{self, Scraper},
    rival::Build,
};

/// A runtime of its own, never the global one, with one of the two schedulers.
#[derive(Debug)]
pub struct BlitzWith<const SIGNAL: bool> {
    /// Ends before the runtime does.
    _scraper: Option<Scraper>,
    runtime: ::blitz::Runtime,
}

/// A runtime with the default scheduler.
pub type Blitz = BlitzWith<false>;

/// A runtime with the signal scheduler.
pub type BlitzSignal = BlitzWith<true>;

impl<const SIGNAL: bool> Build for BlitzWith<SIGNAL> {
    fn build(workers: usize) -> Result<Self, String> {
        let scheduler = if SIGNAL { Scheduler::Signal } else { Scheduler::Stealing };
        let builder = ::blitz::Runtime::builder().workers(workers).scheduler(scheduler);
        let (runtime, _scraper) = insight::build(builder)?;
        Ok(Self { runtime, _scraper })
    }
}

impl<const SIGNAL: bool> Runtime for BlitzWith<SIGNAL> {
    type Tasks = BlitzTasks;

    fn tasks(&self) -> BlitzTasks {
        BlitzTasks
    }

    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future<Output: Send> + Send,
    {
        self.runtime.block_on(future)
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

impl<const SIGNAL: bool> Outside for BlitzWith<SIGNAL> {
    /// Drivers start by themselves when they are first needed.
    fn build_for_outside(workers: usize) -> Result<Self, String> {
        Self::build(workers)
    }

    fn echo(&self, listener: TcpListener) -> Result<(), String> {
        self.accept(listener, outside::echo)
    }

    fn hello(&self, listener: TcpListener) -> Result<(), String> {
        self.accept(listener, outside::hello)
    }
}

impl<const SIGNAL: bool> BlitzWith<SIGNAL> {
    /// Serves each connection in a task that calls `talk`.
    fn accept<F>(
        &self,
        listener: TcpListener,
        talk: impl Fn(::blitz::net::TcpStream) -> F + Send + 'static,
    ) -> Result<(), String>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        listener.set_nonblocking(true).map_err(|error| error.to_string())?;
        let _here = self.runtime.enter();
        let listener =
            ::blitz::net::TcpListener::from_std(listener).map_err(|error| error.to_string())?;
        drop(::blitz::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // Ignore an error: the connection is only slower, and the numbers show it.
                let _ = stream.set_nodelay(true);
                drop(::blitz::spawn(talk(stream)));
            }
        }));
        Ok(())
    }
}

impl Timers for BlitzTasks {
    #[inline]
    fn sleep(self, duration: Duration) -> impl Future<Output = ()> + Send + 'static {
        ::blitz::time::sleep(duration)
    }
}
