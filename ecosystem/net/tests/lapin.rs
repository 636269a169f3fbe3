use ::async_rs::Runtime;
use ::async_rs::traits::{Executor, Reactor, RuntimeKit};
use ::async_rs::util::{Task, TaskImpl};
use ::async_trait::async_trait;
use ::futures_io::{AsyncRead, AsyncWrite};
use ::futures_util::{Stream, StreamExt, stream};
use ::lapin::options::{BasicPublishOptions, QueueDeclareOptions};
use ::lapin::types::FieldTable;
use ::lapin::{BasicProperties, Connection, ConnectionProperties};
use blitz::JoinHandle;
use blitz::io::unix::AsyncFd;
use blitz::io::{AsyncReadExt, AsyncWriteExt};
use blitz::net::{TcpListener, TcpStream};
use std::future::Future;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

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

/// A frame with a method of AMQP: its class and number, then its arguments.
fn method(channel: u16, class: u16, number: u16, arguments: &[u8]) -> Vec<u8> {
    let mut frame = vec![1];
    frame.extend(channel.to_be_bytes());
    frame.extend((arguments.len() as u32 + 4).to_be_bytes());
    frame.extend(class.to_be_bytes());
    frame.extend(number.to_be_bytes());
    frame.extend(arguments);
    frame.push(0xce);
    frame
}

/// As much of a broker as a client needs that declares a queue and publishes to it: returns its
/// address, and the body of what was published.
async fn broker() -> (SocketAddr, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = blitz::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut header = [0; 8];
        stream.read_exact(&mut header).await.unwrap();
        assert_eq!(&header, b"AMQP\0\0\x09\x01");
        // Version 0.9, no properties, one mechanism, one locale.
        let start = b"\0\x09\0\0\0\0\0\0\0\x05PLAIN\0\0\0\x05en_US";
        stream.write_all(&method(0, 10, 10, start)).await.unwrap();
        let mut published = Vec::new();
        loop {
            let kind = stream.read_u8().await.unwrap();
            let channel = stream.read_u16().await.unwrap();
            let mut payload = vec![0; stream.read_u32().await.unwrap() as usize];
            stream.read_exact(&mut payload).await.unwrap();
            assert_eq!(stream.read_u8().await.unwrap(), 0xce);
            if kind == 3 {
                published = payload;
                continue;
            }
            if kind != 1 {
                continue;
            }
            let answer = match (payload[1], payload[3]) {
                // Begins: channels, sizes of frames, no heartbeat.
                (10, 11) => method(0, 10, 30, &[0, 16, 0, 1, 0, 0, 0, 0]),
                (10, 40) => method(0, 10, 41, &[0]),
                (20, 10) => method(channel, 20, 11, &[0, 0, 0, 0]),
                // The queue's name, how many messages, how many readers.
                (50, 10) => method(channel, 50, 11, b"\x04jobs\0\0\0\0\0\0\0\0"),
                (20, 40) => method(channel, 20, 41, &[]),
                (10, 50) => {
                    stream.write_all(&method(0, 10, 51, &[])).await.unwrap();
                    return published;
                }
                _ => continue,
            };
            stream.write_all(&answer).await.unwrap();
        }
    });
    (address, served)
}

/// Publishes a message over a connection to a broker.
async fn publish(connection: Connection) {
    let channel = connection.create_channel().await.unwrap();
    let declared =
        channel.queue_declare("jobs".into(), QueueDeclareOptions::default(), FieldTable::default());
    assert_eq!(declared.await.unwrap().name().as_str(), "jobs");
    let options = BasicPublishOptions::default();
    let properties = BasicProperties::default();
    let sent = channel.basic_publish("".into(), "jobs".into(), options, b"hello", properties);
    sent.await.unwrap();
    channel.close(200, "done".into()).await.unwrap();
    connection.close(200, "done".into()).await.unwrap();
}

#[blitz::test(workers = 2)]
async fn by_trait() {
    let (address, served) = broker().await;
    let uri = format!("amqp://{address}/%2f");
    let options = ConnectionProperties::default();
    let runtime = Runtime::new(Blitz);
    publish(Connection::connect_with_runtime(&uri, options, runtime).await.unwrap()).await;
    assert_eq!(served.await.unwrap(), b"hello");

    // What lapin itself does not use: sockets of any kind, and ticks.
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
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    let (address, served) = broker().await;
    let uri = format!("amqp://{address}/%2f");
    publish(Connection::connect(&uri, ConnectionProperties::default()).await.unwrap()).await;
    assert_eq!(served.await.unwrap(), b"hello");
}
