use crate::peers::Peer;
use ::async_rs::Runtime;
use ::async_rs::traits::{Executor, Reactor, RuntimeKit};
use ::async_rs::util::{Task, TaskImpl};
use ::async_trait::async_trait;
use ::futures_io::{AsyncRead, AsyncWrite};
use ::futures_util::{Stream, StreamExt, stream};
use ::lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, ConfirmSelectOptions,
    QueueDeclareOptions, QueueDeleteOptions,
};
use ::lapin::types::FieldTable;
use ::lapin::{BasicProperties, Connection, ConnectionProperties};
use blitz::JoinHandle;
use blitz::io::unix::AsyncFd;
use blitz::net::TcpStream;
use std::future::Future;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// How many messages are published.
const JOBS: usize = 10;

/// Tasks, timers and sockets for lapin: `Connection::connect_with_runtime` takes
/// `Runtime::new(Blitz)`.
#[derive(Clone, Copy, Debug)]
struct Blitz;

impl RuntimeKit for Blitz {}

impl Executor for Blitz {
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

struct Spawned<T>(JoinHandle<T>);

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

impl Reactor for Blitz {
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

/// Publishes to a queue and consumes from it, over a connection to a broker.
async fn work(connection: Connection) {
    let channel = connection.create_channel().await.unwrap();
    channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
    let declared =
        channel.queue_declare("jobs".into(), QueueDeclareOptions::default(), FieldTable::default());
    assert_eq!(declared.await.unwrap().name().as_str(), "jobs");
    let jobs = channel.basic_consume(
        "jobs".into(),
        "worker".into(),
        BasicConsumeOptions::default(),
        FieldTable::default(),
    );
    let mut jobs = jobs.await.unwrap();
    let consumed = blitz::spawn(async move {
        let mut consumed = Vec::new();
        while consumed.len() < JOBS {
            let job = jobs.next().await.unwrap().unwrap();
            job.ack(BasicAckOptions::default()).await.unwrap();
            consumed.push(String::from_utf8(job.data).unwrap());
        }
        consumed
    });
    let names: Vec<_> = (0..JOBS).map(|n| format!("job {n}")).collect();
    for name in &names {
        let options = BasicPublishOptions::default();
        let properties = BasicProperties::default();
        let sent =
            channel.basic_publish("".into(), "jobs".into(), options, name.as_bytes(), properties);
        assert!(sent.await.unwrap().await.unwrap().is_ack());
    }
    assert_eq!(consumed.await.unwrap(), names);
    let deleted = channel.queue_delete("jobs".into(), QueueDeleteOptions::default());
    assert_eq!(deleted.await.unwrap(), 0, "each job was consumed");
    channel.close(200, "done".into()).await.unwrap();
    connection.close(200, "done".into()).await.unwrap();
}

#[blitz::test(workers = 2)]
async fn by_trait() {
    // Test the parts of the trait that lapin itself does not use: other sockets, and ticks.
    let (here, mut there) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut here = Blitz.register(here).unwrap();
    let written = ::futures_util::AsyncWriteExt::write_all(&mut here, b"hello").await;
    assert!(written.is_ok());
    let mut text = [0; 5];
    there.read_exact(&mut text).unwrap();
    there.write_all(&text).unwrap();
    ::futures_util::AsyncReadExt::read_exact(&mut here, &mut text).await.unwrap();
    assert_eq!(&text, b"hello");
    let ticks = std::pin::pin!(Blitz.interval(Duration::from_millis(1)));
    assert_eq!(ticks.take(3).count().await, 3);
    assert_eq!(Blitz.spawn(std::future::pending::<()>()).cancel().await, None);

    let Some(server) = Peer::rabbitmq() else { return };
    let uri = format!("amqp://127.0.0.1:{}/%2f", server.port);
    let options = ConnectionProperties::default();
    let runtime = Runtime::new(Blitz);
    work(Connection::connect_with_runtime(&uri, options, runtime).await.unwrap()).await;
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    let Some(server) = Peer::rabbitmq() else { return };
    let uri = format!("amqp://127.0.0.1:{}/%2f", server.port);
    work(Connection::connect(&uri, ConnectionProperties::default()).await.unwrap()).await;
}
