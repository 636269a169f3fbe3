//! Connections of lapin to RabbitMQ on the pool.
//!
//! lapin 4.2 compiles only with a feature for some runtime, such as its `default-runtime`. A
//! connection that is opened with [`BlitzKit`] does not use that runtime.

use async_rs::traits::{Executor, Reactor, RuntimeKit};
use async_rs::util::{Task, TaskImpl};
use async_trait::async_trait;
use blitz::JoinHandle;
use blitz::io::unix::AsyncFd;
use blitz::net::TcpStream;
use futures_io::{AsyncRead, AsyncWrite};
use futures_util::{Stream, stream};
use std::future::Future;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// Tasks, timers and sockets of the current pool. `Connection::connect_with_runtime` takes
/// `async_rs::Runtime::new(BlitzKit)`.
///
/// ```no_run
/// use async_rs::Runtime;
/// use blitz_adapters::lapin::BlitzKit;
/// use lapin::{Connection, ConnectionProperties};
///
/// # async fn example() -> lapin::Result<()> {
/// let (address, options) = ("amqp://127.0.0.1:5672/%2f", ConnectionProperties::default());
/// let runtime = Runtime::new(BlitzKit);
/// let connection = Connection::connect_with_runtime(address, options, runtime).await?;
/// let channel = connection.create_channel().await?;
/// # drop(channel);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct BlitzKit;

impl RuntimeKit for BlitzKit {}

impl Executor for BlitzKit {
    type Task<T: Send + 'static> = Spawned<T>;

    fn block_on<T, F: Future<Output = T>>(&self, future: F) -> T {
        blitz::block_on(future)
    }

    fn spawn<T, F>(&self, future: F) -> Task<Spawned<T>>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        Spawned(blitz::spawn(future)).into()
    }

    fn spawn_blocking<T, F>(&self, f: F) -> Task<Spawned<T>>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        Spawned(blitz::spawn_blocking(f)).into()
    }
}

/// A task of the pool. Awaiting it panics if the task has panicked.
#[derive(Debug)]
pub struct Spawned<T>(JoinHandle<T>);

impl<T> Future for Spawned<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        Poll::Ready(match ready!(Pin::new(&mut self.0).poll(cx)) {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                Ok(payload) => resume_unwind(payload),
                Err(cancelled) => panic!("a task that is awaited was cancelled: {cancelled}"),
            },
        })
    }
}

#[async_trait]
impl<T: Send + 'static> TaskImpl for Spawned<T> {
    async fn cancel(&mut self) -> Option<T> {
        self.0.abort();
        (&mut self.0).await.ok()
    }
}

impl Reactor for BlitzKit {
    type TcpStream = TcpStream;
    type Sleep = blitz::time::Sleep;

    fn register<H: Read + Write + AsFd + AsRawFd + Send + 'static>(
        &self,
        socket: H,
    ) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static> {
        socket2::SockRef::from(&socket).set_nonblocking(true)?;
        Ok(Registered(Box::new(AsyncFd::new(socket)?)))
    }

    fn sleep(&self, duration: Duration) -> blitz::time::Sleep {
        blitz::time::sleep(duration)
    }

    fn interval(&self, period: Duration) -> impl Stream<Item = Instant> + Send + 'static {
        stream::unfold(blitz::time::interval(period), |mut interval| async move {
            Some((interval.tick().await.into_std(), interval))
        })
    }

    fn tcp_connect_addr(
        &self,
        address: SocketAddr,
    ) -> impl Future<Output = io::Result<TcpStream>> + Send + 'static {
        TcpStream::connect(address)
    }
}

/// A socket of any kind.
struct Registered<H: AsRawFd>(Box<AsyncFd<H>>);

impl<H: Read + AsRawFd> AsyncRead for Registered<H> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.0.poll_read_ready_mut(cx))?;
            if let Ok(result) = guard.try_io(|fd| fd.get_mut().read(buf)) {
                return Poll::Ready(result);
            }
        }
    }
}

impl<H: Write + AsRawFd> AsyncWrite for Registered<H> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.0.poll_write_ready_mut(cx))?;
            if let Ok(result) = guard.try_io(|fd| fd.get_mut().write(buf)) {
                return Poll::Ready(result);
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.0.poll_write_ready_mut(cx))?;
            if let Ok(result) = guard.try_io(|fd| fd.get_mut().flush()) {
                return Poll::Ready(result);
            }
        }
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}
