//! smol: the executor of `async-executor`, run by one thread per worker, with the sockets and
//! timers of `async-io`.

use std::{
    future::Future,
    net::{TcpListener, TcpStream},
    thread::{self, JoinHandle},
    time::Duration,
};

use async_executor::Executor;
use async_io::{Async, Timer};
use futures_lite::{AsyncReadExt, AsyncWriteExt, future};
use tokio::sync::oneshot;
use tokio_util::compat::FuturesAsyncReadCompatExt;

use super::{Outside, Runtime, Tasks, Timers, outside};
use crate::rival::Build;

/// An executor and the threads that run it.
///
/// Why leak the executor? smol's users keep theirs in a `static`, and a task that starts another
/// then needs no reference count. The executor is small, and there is only one.
#[derive(Debug)]
pub struct Smol {
    executor: &'static Executor<'static>,
    workers: Vec<Worker>,
}

/// The main loop of a worker, until the second argument is ready.
type Run = fn(&'static Executor<'static>, oneshot::Receiver<()>);

#[derive(Debug)]
struct Worker {
    /// The thread ends when this is dropped.
    stay: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Build for Smol {
    fn build(workers: usize) -> Result<Self, String> {
        Self::start(workers, |executor, leave| drop(future::block_on(executor.run(leave))))
    }
}

impl Smol {
    /// Starts workers that call `run`.
    fn start(workers: usize, run: Run) -> Result<Self, String> {
        let executor: &'static Executor<'static> = Box::leak(Box::default());
        let start = |_| {
            let (stay, leave) = oneshot::channel();
            let serve = move || run(executor, leave);
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
            // A panic of a task was already reported on stderr.
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

impl Outside for Smol {
    /// The threads drive sockets and timers themselves, like those of `smol::spawn`.
    fn build_for_outside(workers: usize) -> Result<Self, String> {
        Self::start(workers, |executor, leave| drop(async_io::block_on(executor.run(leave))))
    }

    fn echo(&self, listener: TcpListener) -> Result<(), String> {
        let tasks = self.tasks();
        tasks.detach(accept(tasks, listener, echo)?);
        Ok(())
    }

    fn hello(&self, listener: TcpListener) -> Result<(), String> {
        let tasks = self.tasks();
        tasks.detach(accept(tasks, listener, |stream| outside::hello(stream.compat()))?);
        Ok(())
    }
}

/// A connection.
pub(super) type Stream = Async<TcpStream>;

/// Serves each connection in a task that calls `talk`.
pub(super) fn accept<T, F>(
    tasks: T,
    listener: TcpListener,
    talk: impl Fn(Stream) -> F + Send + 'static,
) -> Result<impl Future<Output = ()> + Send + 'static, String>
where
    T: Tasks,
    F: Future<Output = ()> + Send + 'static,
{
    let listener = Async::new(listener).map_err(|error| error.to_string())?;
    Ok(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // Ignore an error: the connection is only slower, and the numbers show it.
            let _ = stream.get_ref().set_nodelay(true);
            tasks.detach(talk(stream));
        }
    })
}

/// Echoes bytes like [`outside::echo`], with the I/O traits that users of smol have.
pub(super) async fn echo(mut stream: Stream) {
    let mut buffer = vec![0; outside::BUFFER];
    loop {
        match stream.read(&mut buffer).await {
            Ok(bytes) if bytes > 0 => {
                if stream.write_all(&buffer[..bytes]).await.is_err() {
                    return;
                }
            }
            _ => return,
        }
    }
}

impl Timers for SmolTasks {
    #[inline]
    fn sleep(self, duration: Duration) -> impl Future<Output = ()> + Send + 'static {
        sleep(duration)
    }
}

#[inline]
pub(super) fn sleep(duration: Duration) -> impl Future<Output = ()> + Send + 'static {
    let timer = Timer::after(duration);
    async move {
        timer.await;
    }
}
