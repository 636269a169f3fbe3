//! Connections.

#![forbid(unsafe_code)]

use super::halves::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use super::{SocketAddr, UCred};
use crate::borrowed::{AsyncRead, AsyncWrite, ReadBuf};
use crate::driver;
use crate::io::Interest;
use crate::net::descriptor::descriptor;
use crate::net::stream::stream;
use crate::net::waits::waits;
use crate::poll::Registration;
use crate::transfer;
use bytes::BufMut;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::unix::net::UnixStream as StdStream;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A connection between processes of one machine.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// use blitz::io::{AsyncReadExt, AsyncWriteExt};
/// let (mut here, mut there) = blitz::net::UnixStream::pair()?;
/// here.write_all(b"hello").await?;
/// drop(here);
/// let mut text = String::new();
/// there.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// # Ok(()) }) }
/// ```
#[derive(Debug)]
pub struct UnixStream {
    io: Registration<mio::net::UnixStream>,
}

descriptor!(UnixStream);
waits!(UnixStream, " # let (here, there) = blitz::net::UnixStream::pair()?;");
stream!(UnixStream, " # let (here, there) = blitz::net::UnixStream::pair()?;", false);

impl UnixStream {
    /// Connects to the listener at `path`.
    ///
    /// # Errors
    /// If no socket listens at `path`, or if the runtime has ended.
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if too many connections wait there already.
    pub async fn connect<P: AsRef<Path>>(path: P) -> io::Result<UnixStream> {
        UnixStream::connecting(mio::net::UnixStream::connect(path)?).await
    }

    /// Connects to the listener at `address`, which may be abstract.
    ///
    /// # Errors
    /// Fails as [`connect`](UnixStream::connect) does.
    pub async fn connect_addr(address: &SocketAddr) -> io::Result<UnixStream> {
        UnixStream::connecting(mio::net::UnixStream::connect_addr(address)?).await
    }

    async fn connecting(stream: mio::net::UnixStream) -> io::Result<UnixStream> {
        let stream = UnixStream::of(stream)?;
        stream.writable().await?;
        match stream.take_error()? {
            Some(error) => Err(error),
            None => Ok(stream),
        }
    }

    /// Creates two streams that are connected to each other.
    ///
    /// # Errors
    /// If the system refuses, or if the runtime has ended.
    pub fn pair() -> io::Result<(UnixStream, UnixStream)> {
        let (one, other) = mio::net::UnixStream::pair()?;
        Ok((UnixStream::of(one)?, UnixStream::of(other)?))
    }

    pub(super) fn of(stream: mio::net::UnixStream) -> io::Result<UnixStream> {
        Ok(UnixStream { io: driver::watch(stream)? })
    }

    /// Converts a stream of the standard library. Makes it non-blocking.
    ///
    /// # Errors
    /// If the system refuses, or if the runtime has ended.
    pub fn from_std(stream: StdStream) -> io::Result<UnixStream> {
        stream.set_nonblocking(true)?;
        UnixStream::of(mio::net::UnixStream::from_std(stream))
    }

    /// Converts this stream to one of the standard library. It stays non-blocking.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn into_std(self) -> io::Result<StdStream> {
        Ok(std::os::fd::OwnedFd::from(self.io.into_inner()?).into())
    }

    /// Returns the local address.
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get().local_addr()
    }

    /// Returns the peer's address.
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.get().peer_addr()
    }

    /// Returns the credentials of the process on the other side.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// let (here, there) = blitz::net::UnixStream::pair()?;
    /// let peer = here.peer_cred()?;
    /// assert_eq!(peer.pid(), Some(std::process::id() as i32));
    /// # drop(there);
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// If the system reports an error. On systems other than Linux and Android it always fails.
    pub fn peer_cred(&self) -> io::Result<UCred> {
        UCred::of(self)
    }
}

impl TryFrom<StdStream> for UnixStream {
    type Error = io::Error;

    fn try_from(stream: StdStream) -> io::Result<UnixStream> {
        UnixStream::from_std(stream)
    }
}
