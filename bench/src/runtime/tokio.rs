//! Tokio's multi-threaded runtime, with its drivers only where there are sockets or timers.

use std::{future::Future, net::TcpListener, time::Duration};

use ::tokio::runtime::Builder;

use super::{Outside, Runtime, Tasks, Timers, outside};
use crate::{
    insight::{self, Attached},
    rival::Build,
};

/// A runtime of its own.
#[derive(Debug)]
pub struct Tokio {
    runtime: ::tokio::runtime::Runtime,
    /// The tool that looks inside. It ends after the runtime.
    _attached: Attached,
}

impl Build for Tokio {
    fn build(workers: usize) -> Result<Self, String> {
        Self::start(Builder::new_multi_thread(), workers)
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
        self.runtime.block_on(future)
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

impl Outside for Tokio {
    fn build_for_outside(workers: usize) -> Result<Self, String> {
        Self::build_with(workers, |builder| builder)
    }

    fn echo(&self, listener: TcpListener) -> Result<(), String> {
        self.accept(listener, outside::echo)
    }

    fn hello(&self, listener: TcpListener) -> Result<(), String> {
        self.accept(listener, outside::hello)
    }
}

impl Tokio {
    fn start(mut builder: Builder, workers: usize) -> Result<Self, String> {
        builder.worker_threads(workers);
        let (runtime, _attached) = insight::build_tokio(builder)?;
        Ok(Self { runtime, _attached })
    }

    /// Builds a runtime with drivers and with the settings of `more`.
    pub(super) fn build_with(
        workers: usize,
        more: impl FnOnce(&mut Builder) -> &mut Builder,
    ) -> Result<Self, String> {
        let mut builder = Builder::new_multi_thread();
        more(builder.enable_all());
        Self::start(builder, workers)
    }

    /// Serves each connection in a task that calls `talk`.
    fn accept<F>(
        &self,
        listener: TcpListener,
        talk: impl Fn(::tokio::net::TcpStream) -> F + Send + 'static,
    ) -> Result<(), String>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        listener.set_nonblocking(true).map_err(|error| error.to_string())?;
        let _here = self.runtime.enter();
        let listener =
            ::tokio::net::TcpListener::from_std(listener).map_err(|error| error.to_string())?;
        drop(::tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // Ignore an error: the connection is only slower, and the numbers show it.
                let _ = stream.set_nodelay(true);
                drop(::tokio::spawn(talk(stream)));
            }
        }));
        Ok(())
    }
}

impl Timers for TokioTasks {
    #[inline]
    fn sleep(self, duration: Duration) -> impl Future<Output = ()> + Send + 'static {
        ::tokio::time::sleep(duration)
    }
}
