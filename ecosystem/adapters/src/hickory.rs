//! Look-ups with hickory on the pool.

use async_trait::async_trait;
use blitz::io::ReadBuf;
use blitz::net::{TcpSocket, TcpStream, UdpSocket};
use futures_io::{AsyncRead, AsyncWrite};
use hickory_resolver::net::runtime::{DnsTcpStream, DnsUdpSocket, RuntimeProvider, Spawn, Time};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// How long a connection may take if hickory sets no limit.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sockets, timers and tasks of the current pool. `Resolver::builder` and
/// `Resolver::builder_with_config` take it.
///
/// ```
/// use blitz_adapters::hickory::BlitzProvider;
/// use hickory_resolver::Resolver;
/// use hickory_resolver::config::{NameServerConfig, ResolverConfig};
///
/// # blitz::block_on(async {
/// let server = NameServerConfig::udp_and_tcp("127.0.0.1".parse().unwrap());
/// let config = ResolverConfig::from_name_servers(vec![server]);
/// let resolver = Resolver::builder_with_config(config, BlitzProvider).build().unwrap();
/// // `resolver.lookup_ip("service.example.")` asks that server now, without a Tokio guest.
/// # drop(resolver);
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct BlitzProvider;

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl RuntimeProvider for BlitzProvider {
    type Handle = BlitzHandle;
    type Timer = BlitzTime;
    type Udp = DnsUdp;
    type Tcp = DnsTcp;

    fn create_handle(&self) -> BlitzHandle {
        BlitzHandle
    }

    fn connect_tcp(
        &self,
        server: SocketAddr,
        bind: Option<SocketAddr>,
        limit: Option<Duration>,
    ) -> Boxed<io::Result<DnsTcp>> {
        Box::pin(async move {
            let socket = if server.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
            if let Some(bind) = bind {
                socket.bind(bind)?;
            }
            socket.set_nodelay(true)?;
            let limit = limit.unwrap_or(PATIENCE);
            Ok(DnsTcp(blitz::time::timeout(limit, socket.connect(server)).await??))
        })
    }

    fn bind_udp(&self, local: SocketAddr, _server: SocketAddr) -> Boxed<io::Result<DnsUdp>> {
        Box::pin(async move { UdpSocket::bind(local).await.map(DnsUdp) })
    }
}

/// Spawns hickory's tasks on the current pool.
#[derive(Clone, Copy, Debug)]
pub struct BlitzHandle;

impl Spawn for BlitzHandle {
    fn spawn_bg(&mut self, future: impl Future<Output = ()> + Send + 'static) {
        drop(blitz::spawn(future));
    }
}

/// Timers of the current pool.
#[derive(Clone, Copy, Debug)]
pub struct BlitzTime;

#[async_trait]
impl Time for BlitzTime {
    async fn delay_for(duration: Duration) {
        blitz::time::sleep(duration).await;
    }

    async fn timeout<F>(duration: Duration, future: F) -> io::Result<F::Output>
    where
        F: Future + Send + 'static,
    {
        Ok(blitz::time::timeout(duration, future).await?)
    }
}

/// A UDP socket of the pool.
#[derive(Debug)]
pub struct DnsUdp(UdpSocket);

impl DnsUdpSocket for DnsUdp {
    type Time = BlitzTime;

    fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        let mut buf = ReadBuf::new(buf);
        let from = ready!(self.0.poll_recv_from(cx, &mut buf))?;
        Poll::Ready(Ok((buf.filled().len(), from)))
    }

    fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        target: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.0.poll_send_to(cx, buf, target)
    }
}

/// A TCP stream of the pool.
///
/// The feature `futures-io` of `blitz-rt` gives the stream the traits that hickory asks for.
#[derive(Debug)]
pub struct DnsTcp(TcpStream);

impl DnsTcpStream for DnsTcp {
    type Time = BlitzTime;
}

impl AsyncRead for DnsTcp {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        AsyncRead::poll_read(Pin::new(&mut self.0), cx, buf)
    }
}

impl AsyncWrite for DnsTcp {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        AsyncWrite::poll_write(Pin::new(&mut self.0), cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_flush(Pin::new(&mut self.0), cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_close(Pin::new(&mut self.0), cx)
    }
}
