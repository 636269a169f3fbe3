use ::async_trait::async_trait;
use ::futures_io::{AsyncRead, AsyncWrite};
use ::hickory_resolver::Resolver;
use ::hickory_resolver::config::{NameServerConfig, ResolverConfig, ResolverOpts};
use ::hickory_resolver::name_server::{
    ConnectionProvider, GenericConnector, TokioConnectionProvider,
};
use ::hickory_resolver::proto::ProtoError;
use ::hickory_resolver::proto::runtime::{RuntimeProvider, Spawn, Time};
use ::hickory_resolver::proto::tcp::DnsTcpStream;
use ::hickory_resolver::proto::udp::DnsUdpSocket;
use ::hickory_resolver::proto::xfer::Protocol;
use blitz::io::{AsyncReadExt, AsyncWriteExt, ReadBuf};
use blitz::net::{TcpListener, TcpSocket, TcpStream, UdpSocket};
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Sockets, timers and tasks for hickory. `Resolver::builder_with_config` takes
/// `GenericConnector::new(BlitzProvider)`.
#[derive(Clone, Copy, Default)]
struct BlitzProvider;

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
            let limit = limit.unwrap_or(Duration::from_secs(5));
            Ok(DnsTcp(blitz::time::timeout(limit, socket.connect(server)).await??))
        })
    }

    fn bind_udp(&self, local: SocketAddr, _server: SocketAddr) -> Boxed<io::Result<DnsUdp>> {
        Box::pin(async move { UdpSocket::bind(local).await.map(DnsUdp) })
    }
}

#[derive(Clone, Copy)]
struct BlitzHandle;

impl Spawn for BlitzHandle {
    fn spawn_bg<F>(&mut self, future: F)
    where
        F: Future<Output = Result<(), ProtoError>> + Send + 'static,
    {
        drop(blitz::spawn(future));
    }
}

struct BlitzTime;

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

struct DnsUdp(UdpSocket);

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

/// The feature `futures-io` of `blitz-rt` gives streams the traits that hickory asks for.
struct DnsTcp(TcpStream);

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

const ANSWER: Ipv4Addr = Ipv4Addr::new(10, 1, 2, 3);

/// The answer to a question: always the same IPv4 address, and no IPv6 address.
fn answer(packet: &[u8]) -> Vec<u8> {
    // A header of twelve bytes, then the question: labels up to an empty one, type, class.
    let labels = packet[12..].iter().position(|byte| *byte == 0).unwrap();
    let question = 12..12 + labels + 5;
    let is_v4 = packet[question.end - 4..question.end] == [0, 1, 0, 1];
    let mut answer = packet[..2].to_vec();
    answer.extend([0x81, 0x80, 0, 1, 0, u8::from(is_v4), 0, 0, 0, 0]);
    answer.extend(&packet[question]);
    if is_v4 {
        // A record: the name at byte twelve, the type, the class, an hour to live, and four bytes.
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 14, 16, 0, 4]);
        answer.extend(ANSWER.octets());
    }
    answer
}

/// A DNS server over UDP.
async fn by_packets() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    drop(blitz::spawn(async move {
        let mut packet = [0; 512];
        while let Ok((_, peer)) = socket.recv_from(&mut packet).await {
            socket.send_to(&answer(&packet), peer).await.unwrap();
        }
    }));
    address
}

/// A DNS server over TCP: each message follows its length.
async fn by_connections() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(blitz::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            drop(blitz::spawn(async move {
                while let Ok(length) = stream.read_u16().await {
                    let mut packet = vec![0; length.into()];
                    stream.read_exact(&mut packet).await?;
                    let answer = answer(&packet);
                    stream.write_u16(answer.len() as u16).await?;
                    stream.write_all(&answer).await?;
                }
                io::Result::Ok(())
            }));
        }
    }));
    address
}

/// Looks a name up.
async fn look_up<P: ConnectionProvider>(provider: P, protocol: Protocol) {
    let server = match protocol {
        Protocol::Udp => by_packets().await,
        _ => by_connections().await,
    };
    let mut config = ResolverConfig::new();
    config.add_name_server(NameServerConfig::new(server, protocol));
    let mut options = ResolverOpts::default();
    options.use_hosts_file = ::hickory_resolver::config::ResolveHosts::Never;
    let resolver = Resolver::builder_with_config(config, provider).with_options(options).build();
    let found = resolver.lookup_ip("service.example.").await.unwrap();
    assert_eq!(found.iter().collect::<Vec<_>>(), [IpAddr::from(ANSWER)]);
}

#[blitz::test(workers = 2)]
async fn by_trait() {
    look_up(GenericConnector::new(BlitzProvider), Protocol::Udp).await;
    look_up(GenericConnector::new(BlitzProvider), Protocol::Tcp).await;
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    look_up(TokioConnectionProvider::default(), Protocol::Udp).await;
    look_up(TokioConnectionProvider::default(), Protocol::Tcp).await;
}
