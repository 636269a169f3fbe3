//! Sockets whose options are set before they listen or connect.

use super::{TcpListener, TcpStream};
use crate::net::options;
use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

/// A TCP socket that neither listens nor is connected yet. Set its options first.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// use blitz::net::TcpSocket;
/// let socket = TcpSocket::new_v4()?;
/// socket.set_reuseaddr(true)?;
/// socket.set_recv_buffer_size(64 * 1024)?;
/// socket.bind("127.0.0.1:0".parse().unwrap())?;
/// let listener = socket.listen(1024)?;
/// let client = TcpSocket::new_v4()?.connect(listener.local_addr()?).await?;
/// # drop(client);
/// # Ok(()) }) }
/// ```
#[derive(Debug)]
pub struct TcpSocket {
    socket: Socket,
}

/// A pair of methods for an option.
macro_rules! option {
    ($get:ident, $set:ident, $kind:ty, $of_system:ident, $set_of_system:ident, $what:literal) => {
        #[doc = concat!("Returns ", $what, ".")]
        ///
        /// # Errors
        /// If the system reports an error.
        pub fn $get(&self) -> io::Result<$kind> {
            self.socket.$of_system()
        }

        #[doc = concat!("Sets ", $what, ".")]
        ///
        /// # Errors
        /// If the system refuses.
        pub fn $set(&self, value: $kind) -> io::Result<()> {
            self.socket.$set_of_system(value)
        }
    };
}

impl TcpSocket {
    /// Creates a socket for IPv4.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn new_v4() -> io::Result<TcpSocket> {
        TcpSocket::new(Domain::IPV4)
    }

    /// Creates a socket for IPv6.
    ///
    /// ```
    /// use blitz::net::TcpSocket;
    ///
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// // A system may have no IPv6.
    /// if let Ok(socket) = TcpSocket::new_v6() {
    ///     if socket.bind("[::1]:0".parse().unwrap()).is_ok() {
    ///         assert!(socket.listen(16)?.local_addr()?.is_ipv6());
    ///     }
    /// }
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// If the system refuses.
    pub fn new_v6() -> io::Result<TcpSocket> {
        TcpSocket::new(Domain::IPV6)
    }

    fn new(domain: Domain) -> io::Result<TcpSocket> {
        let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        Ok(TcpSocket { socket })
    }

    /// Converts a socket of the standard library that is not connected yet.
    ///
    /// # Errors
    /// If it cannot be made non-blocking.
    pub fn from_std_stream(stream: std::net::TcpStream) -> io::Result<TcpSocket> {
        stream.set_nonblocking(true)?;
        Ok(TcpSocket { socket: stream.into() })
    }

    option!(
        reuseaddr,
        set_reuseaddr,
        bool,
        reuse_address,
        set_reuse_address,
        "whether the socket may bind an address that was in use a moment ago (`SO_REUSEADDR`)"
    );
    option!(
        reuseport,
        set_reuseport,
        bool,
        reuse_port,
        set_reuse_port,
        "whether several sockets may be bound to one address (`SO_REUSEPORT`)"
    );
    option!(
        keepalive,
        set_keepalive,
        bool,
        keepalive,
        set_keepalive,
        "whether the system checks from time to time that the peer is still there (`SO_KEEPALIVE`)"
    );
    option!(
        nodelay,
        set_nodelay,
        bool,
        tcp_nodelay,
        set_tcp_nodelay,
        "whether small writes go out at once (`TCP_NODELAY`)"
    );
    option!(
        linger,
        set_linger,
        Option<Duration>,
        linger,
        set_linger,
        "for how long a close waits for unsent bytes (`SO_LINGER`)"
    );

    /// Returns the size of the send buffer (`SO_SNDBUF`). Some systems return more than was set.
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn send_buffer_size(&self) -> io::Result<usize> {
        self.socket.send_buffer_size()
    }

    /// Sets the size of the send buffer.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn set_send_buffer_size(&self, bytes: usize) -> io::Result<()> {
        self.socket.set_send_buffer_size(bytes)
    }

    /// Returns the size of the receive buffer (`SO_RCVBUF`). Some systems return more than was set.
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn recv_buffer_size(&self) -> io::Result<usize> {
        self.socket.recv_buffer_size()
    }

    /// Sets the size of the receive buffer.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn set_recv_buffer_size(&self, bytes: usize) -> io::Result<()> {
        self.socket.set_recv_buffer_size(bytes)
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
    /// let socket = blitz::net::TcpSocket::new_v4()?;
    /// socket.bind_device(Some(b"lo"))?;
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// If there is no such interface, or if the system refuses; only Linux has this option.
    pub fn bind_device(&self, interface: Option<&[u8]>) -> io::Result<()> {
        options::bind_device(self, interface)
    }

    /// Returns the address that the socket is bound to.
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let address = self.socket.local_addr()?;
        address.as_socket().ok_or_else(|| io::Error::other("the socket has no internet address"))
    }

    /// Takes the pending error of this socket (`SO_ERROR`), if there is one.
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.socket.take_error()
    }

    /// Binds the socket to an address. For port 0 the system chooses a port.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub fn bind(&self, addr: SocketAddr) -> io::Result<()> {
        self.socket.bind(&addr.into())
    }

    /// Connects to `addr`.
    ///
    /// # Errors
    /// If the system reports an error, or if the runtime has ended.
    pub async fn connect(self, addr: SocketAddr) -> io::Result<TcpStream> {
        match self.socket.connect(&addr.into()) {
            Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => {
                return Err(error);
            }
            _ => {}
        }
        TcpStream::connecting(mio::net::TcpStream::from_std(self.socket.into())).await
    }

    /// Listens for connections; the system queues up to `backlog` of them.
    ///
    /// # Errors
    /// If the system reports an error, or if the runtime has ended.
    pub fn listen(self, backlog: u32) -> io::Result<TcpListener> {
        self.socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
        TcpListener::of(mio::net::TcpListener::from_std(self.socket.into()))
    }
}

impl AsRawFd for TcpSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl AsFd for TcpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl From<TcpSocket> for OwnedFd {
    fn from(socket: TcpSocket) -> OwnedFd {
        socket.socket.into()
    }
}
