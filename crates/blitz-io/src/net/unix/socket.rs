//! Sockets that are bound before they listen or connect.

#![forbid(unsafe_code)]

use super::{UnixDatagram, UnixListener, UnixStream};
use socket2::{Domain, SockAddr, Socket, Type};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::Path;

/// A Unix socket that neither listens nor is connected yet. Bind it or set options first.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// use blitz::net::UnixSocket;
/// let path = std::env::temp_dir().join(format!("blitz-doc-{}.socket", std::process::id()));
/// let socket = UnixSocket::new_stream()?;
/// socket.bind(&path)?;
/// let listener = socket.listen(16)?;
/// let client = UnixSocket::new_stream()?.connect(&path).await?;
/// listener.accept().await?;
/// # drop(client);
/// # std::fs::remove_file(&path)
/// # }) }
/// ```
#[derive(Debug)]
pub struct UnixSocket {
    socket: Socket,
    kind: Type,
}

impl UnixSocket {
    /// Creates a socket for packets.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// use blitz::net::{UnixDatagram, UnixSocket};
    ///
    /// let path = std::env::temp_dir().join(format!("blitz-dgram-{}.sock", std::process::id()));
    /// let socket = UnixSocket::new_datagram()?;
    /// socket.bind(&path)?;
    /// let receiver = socket.datagram()?;
    /// UnixDatagram::unbound()?.send_to(b"hello", &path).await?;
    /// let mut packet = [0; 16];
    /// assert_eq!(receiver.recv(&mut packet).await?, 5);
    /// std::fs::remove_file(&path)
    /// # }) }
    /// ```
    ///
    /// # Errors
    /// If the system refuses.
    pub fn new_datagram() -> io::Result<UnixSocket> {
        UnixSocket::new(Type::DGRAM)
    }

    /// Creates a socket for connections.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn new_stream() -> io::Result<UnixSocket> {
        UnixSocket::new(Type::STREAM)
    }

    fn new(kind: Type) -> io::Result<UnixSocket> {
        let socket = Socket::new(Domain::UNIX, kind, None)?;
        socket.set_nonblocking(true)?;
        Ok(UnixSocket { socket, kind })
    }

    /// Binds the socket to `path`, which must not exist yet.
    ///
    /// # Errors
    /// If the path cannot be bound.
    pub fn bind(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.socket.bind(&SockAddr::unix(path)?)
    }

    /// Listens for connections; the system queues up to `backlog` of them.
    ///
    /// # Errors
    /// If the socket is for packets, if the system reports an error, or if the runtime has ended.
    pub fn listen(self, backlog: u32) -> io::Result<UnixListener> {
        self.must_be(Type::STREAM, "a socket for packets cannot listen: use UnixSocket::datagram")?;
        self.socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
        UnixListener::from_std(OwnedFd::from(self.socket).into())
    }

    /// Connects to the listener at `path`.
    ///
    /// # Errors
    /// If the socket is for packets, or if [`UnixStream::connect`] would fail.
    pub async fn connect(self, path: impl AsRef<Path>) -> io::Result<UnixStream> {
        self.must_be(
            Type::STREAM,
            "a socket for packets has no connections: use UnixSocket::datagram",
        )?;
        // A Unix socket is connected at once, or not at all: the system never says `EINPROGRESS`.
        self.socket.connect(&SockAddr::unix(path)?)?;
        UnixStream::from_std(OwnedFd::from(self.socket).into())
    }

    /// Converts the socket to one that sends and receives packets.
    ///
    /// # Errors
    /// If the socket is for connections, or if the runtime has ended.
    pub fn datagram(self) -> io::Result<UnixDatagram> {
        self.must_be(
            Type::DGRAM,
            "a socket for connections has no packets: use UnixSocket::new_datagram",
        )?;
        UnixDatagram::from_std(OwnedFd::from(self.socket).into())
    }

    fn must_be(&self, kind: Type, otherwise: &str) -> io::Result<()> {
        match self.kind == kind {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::InvalidInput, otherwise)),
        }
    }
}

impl AsRawFd for UnixSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl AsFd for UnixSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl From<UnixSocket> for OwnedFd {
    fn from(socket: UnixSocket) -> OwnedFd {
        socket.socket.into()
    }
}
