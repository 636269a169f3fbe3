//! Packets.

#![forbid(unsafe_code)]

use super::addr::{ToSocketAddrs, first_that_works, resolve};
use super::datagram::datagram;
use super::descriptor::descriptor;
use super::options;
use super::waits::waits;
use crate::borrowed::ReadBuf;
use crate::driver;
use crate::io::Interest;
use crate::poll::Registration;
use crate::transfer;
use bytes::BufMut;
use socket2::SockRef;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::task::{Context, Poll, ready};

/// A UDP socket.
///
/// Any number of tasks may use it at once. A packet that is longer than the buffer loses its end.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// use blitz::net::UdpSocket;
/// let server = UdpSocket::bind("127.0.0.1:0").await?;
/// let client = UdpSocket::bind("127.0.0.1:0").await?;
/// client.connect(server.local_addr()?).await?;
/// client.send(b"hello").await?;
/// let mut buf = [0; 64];
/// let (count, from) = server.recv_from(&mut buf).await?;
/// assert_eq!((&buf[..count], from), (&b"hello"[..], client.local_addr()?));
/// # Ok(()) }) }
/// ```
#[derive(Debug)]
pub struct UdpSocket {
    io: Registration<mio::net::UdpSocket>,
}

descriptor!(UdpSocket);
waits!(
    UdpSocket,
    " # let there = blitz::net::UdpSocket::bind(\"127.0.0.1:0\").await?;
 # let here = blitz::net::UdpSocket::bind(\"127.0.0.1:0\").await?;
 # here.connect(there.local_addr()?).await?;"
);

/// The address that the next packet of `socket` comes from.
fn sender(socket: &mio::net::UdpSocket) -> io::Result<SocketAddr> {
    let sender = SockRef::from(socket).peek_sender()?;
    sender.as_socket().ok_or_else(|| io::Error::other("the packet has no internet address"))
}

datagram!(
    UdpSocket,
    std::net::UdpSocket,
    SocketAddr,
    " Waits for a packet of the connected peer; returns its length.",
    " If the system reports an error, for instance that an earlier packet was refused, or if the \
     runtime has ended."
);

impl UdpSocket {
    /// Binds a socket to the first address that can be bound. For port 0 the system chooses a port.
    ///
    /// # Errors
    /// The error of the last address, if none can be bound.
    pub async fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<UdpSocket> {
        first_that_works(addr, |address| async move {
            UdpSocket::of(mio::net::UdpSocket::bind(address)?)
        })
        .await
    }

    /// Connects the socket: [`send`](UdpSocket::send) sends to `addr`, and only packets from there
    /// are received.
    ///
    /// # Errors
    /// The error of the last address, if none can be used.
    pub async fn connect<A: ToSocketAddrs>(&self, addr: A) -> io::Result<()> {
        first_that_works(addr, |address| async move { self.io.get().connect(address) }).await
    }

    /// Sends a packet to the first address of `target`.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// # let there = blitz::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// let socket = blitz::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// socket.send_to(b"hello", there.local_addr()?).await?;
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// If the system reports an error, or if the runtime has ended.
    pub async fn send_to<A: ToSocketAddrs>(&self, buf: &[u8], target: A) -> io::Result<usize> {
        let none = || io::Error::new(io::ErrorKind::InvalidInput, "there is no address to use");
        let target = resolve(&target).await?.next().ok_or_else(none)?;
        self.io.io(Interest::WRITABLE, |socket| socket.send_to(buf, target)).await
    }

    /// Works like [`send_to`](UdpSocket::send_to), unless it would have to wait.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no room, or another error of the
    /// system.
    pub fn try_send_to(&self, buf: &[u8], target: SocketAddr) -> io::Result<usize> {
        self.io.try_io(Interest::WRITABLE, |socket| socket.send_to(buf, target))
    }

    /// Works like [`send_to`](UdpSocket::send_to), as a poll function. Only the task that polled
    /// last is woken.
    ///
    /// # Errors
    /// Fails as [`send_to`](UdpSocket::send_to) does.
    pub fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        target: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.io.poll_io(cx, Interest::WRITABLE, |socket| socket.send_to(buf, target))
    }

    /// Works like [`recv`](UdpSocket::recv), into a buffer that grows, up to its free capacity.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// # let there = blitz::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// let socket = blitz::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # there.send_to(b"hello", socket.local_addr()?).await?;
    /// let mut packet = Vec::with_capacity(1_500);
    /// socket.recv_buf(&mut packet).await?;
    /// assert_eq!(packet, b"hello");
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// Fails as [`recv`](UdpSocket::recv) does.
    pub async fn recv_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.io.io(Interest::READABLE, |socket| transfer::receive_buf(socket, buf)).await
    }

    /// Works like [`recv`](UdpSocket::recv), and leaves the packet in the queue.
    ///
    /// # Errors
    /// Fails as [`recv`](UdpSocket::recv) does.
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.io(Interest::READABLE, |socket| socket.peek(buf)).await
    }

    /// Works like [`recv_from`](UdpSocket::recv_from), and leaves the packet in the queue.
    ///
    /// # Errors
    /// Fails as [`recv_from`](UdpSocket::recv_from) does.
    pub async fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io.io(Interest::READABLE, |socket| socket.peek_from(buf)).await
    }

    /// Returns the sender of the next packet, and leaves the packet in the queue.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// # let there = blitz::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// let socket = blitz::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # there.send_to(b"hello", socket.local_addr()?).await?;
    /// assert_eq!(socket.peek_sender().await?, there.local_addr()?);
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// Fails as [`recv_from`](UdpSocket::recv_from) does.
    pub async fn peek_sender(&self) -> io::Result<SocketAddr> {
        self.io.io(Interest::READABLE, sender).await
    }

    /// Works like [`peek_sender`](UdpSocket::peek_sender), unless it would have to wait.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no packet, or another error of the
    /// system.
    pub fn try_peek_sender(&self) -> io::Result<SocketAddr> {
        self.io.try_io(Interest::READABLE, sender)
    }

    /// Works like [`peek_sender`](UdpSocket::peek_sender), as a poll function. Only the task that
    /// polled last is woken.
    ///
    /// # Errors
    /// Fails as [`peek_sender`](UdpSocket::peek_sender) does.
    pub fn poll_peek_sender(&self, cx: &mut Context<'_>) -> Poll<io::Result<SocketAddr>> {
        self.io.poll_io(cx, Interest::READABLE, sender)
    }

    /// Returns the type of service of IPv4 packets (`IP_TOS`).
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn tos_v4(&self) -> io::Result<u32> {
        SockRef::from(self).tos_v4()
    }

    /// Sets the type of service of IPv4 packets.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn set_tos_v4(&self, tos: u32) -> io::Result<()> {
        SockRef::from(self).set_tos_v4(tos)
    }

    /// Returns the interface that the socket is bound to (`SO_BINDTODEVICE`).
    ///
    /// # Errors
    /// If the system has no such option; only Linux has it.
    pub fn device(&self) -> io::Result<Option<Vec<u8>>> {
        options::device(self)
    }

    /// Binds the socket to an interface: packets come and go only through it. `None` unbinds it.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// let socket = blitz::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// socket.bind_device(Some(b"lo"))?;
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// If there is no such interface, or if the system refuses; only Linux has this option.
    pub fn bind_device(&self, interface: Option<&[u8]>) -> io::Result<()> {
        options::bind_device(self, interface)
    }

    /// Returns whether broadcasts are allowed (`SO_BROADCAST`).
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn broadcast(&self) -> io::Result<bool> {
        self.io.get().broadcast()
    }

    /// Sets whether broadcasts are allowed.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn set_broadcast(&self, on: bool) -> io::Result<()> {
        self.io.get().set_broadcast(on)
    }

    /// Returns whether this machine also gets the packets that it sends to groups
    /// (`IP_MULTICAST_LOOP`).
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn multicast_loop_v4(&self) -> io::Result<bool> {
        self.io.get().multicast_loop_v4()
    }

    /// Sets whether this machine gets the packets that it sends to groups, too.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn set_multicast_loop_v4(&self, on: bool) -> io::Result<()> {
        self.io.get().set_multicast_loop_v4(on)
    }

    /// Returns how many hops a packet to a group may take (`IP_MULTICAST_TTL`).
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn multicast_ttl_v4(&self) -> io::Result<u32> {
        self.io.get().multicast_ttl_v4()
    }

    /// Sets how many hops a packet to a group may take.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn set_multicast_ttl_v4(&self, ttl: u32) -> io::Result<()> {
        self.io.get().set_multicast_ttl_v4(ttl)
    }

    /// Returns whether this machine also gets the packets that it sends to groups
    /// (`IPV6_MULTICAST_LOOP`).
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn multicast_loop_v6(&self) -> io::Result<bool> {
        self.io.get().multicast_loop_v6()
    }

    /// Sets whether this machine gets the packets that it sends to groups, too.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn set_multicast_loop_v6(&self, on: bool) -> io::Result<()> {
        self.io.get().set_multicast_loop_v6(on)
    }

    /// Joins a multicast group on the interface with this address. If the address is unspecified,
    /// the system chooses the interface.
    ///
    /// ```no_run
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// use blitz::net::UdpSocket;
    /// use std::net::Ipv4Addr;
    ///
    /// let (group, any) = (Ipv4Addr::new(239, 1, 2, 3), Ipv4Addr::UNSPECIFIED);
    /// let socket = UdpSocket::bind((any, 4_000)).await?;
    /// socket.join_multicast_v4(group, any)?;
    /// let mut packet = [0; 1_500];
    /// let (length, from) = socket.recv_from(&mut packet).await?;
    /// println!("{length} bytes from {from}");
    /// socket.leave_multicast_v4(group, any)
    /// # }) }
    /// ```
    ///
    /// # Errors
    /// If the system refuses.
    pub fn join_multicast_v4(&self, group: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.io.get().join_multicast_v4(&group, &interface)
    }

    /// Joins a multicast group on the interface with this number. If the number is 0, the system
    /// chooses the interface.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn join_multicast_v6(&self, group: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.get().join_multicast_v6(group, interface)
    }

    /// Undoes [`join_multicast_v4`](UdpSocket::join_multicast_v4).
    ///
    /// # Errors
    /// If the system refuses.
    pub fn leave_multicast_v4(&self, group: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.io.get().leave_multicast_v4(&group, &interface)
    }

    /// Undoes [`join_multicast_v6`](UdpSocket::join_multicast_v6).
    ///
    /// # Errors
    /// If the system refuses.
    pub fn leave_multicast_v6(&self, group: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.get().leave_multicast_v6(group, interface)
    }

    /// Returns how many hops a packet may take (`IP_TTL`).
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn ttl(&self) -> io::Result<u32> {
        self.io.get().ttl()
    }

    /// Sets how many hops a packet may take.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.io.get().set_ttl(ttl)
    }
}

impl TryFrom<std::net::UdpSocket> for UdpSocket {
    type Error = io::Error;

    fn try_from(socket: std::net::UdpSocket) -> io::Result<UdpSocket> {
        UdpSocket::from_std(socket)
    }
}
