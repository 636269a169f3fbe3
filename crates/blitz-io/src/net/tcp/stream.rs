//! Connections.

use super::halves::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use crate::borrowed::{AsyncRead, AsyncWrite, ReadBuf};
use crate::driver;
use crate::io::Interest;
use crate::net::addr::{ToSocketAddrs, first_that_works};
use crate::net::descriptor::descriptor;
use crate::net::options;
use crate::net::stream::stream;
use crate::net::waits::waits;
use crate::poll::Registration;
use crate::transfer;
use bytes::BufMut;
use socket2::SockRef;
use std::io::{self, Read};
use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A TCP connection.
///
/// Read and write it through [`AsyncReadExt`](crate::io::AsyncReadExt) and
/// [`AsyncWriteExt`](crate::io::AsyncWriteExt).
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// use blitz::io::{AsyncReadExt, AsyncWriteExt};
/// # let listener = blitz::net::TcpListener::bind("127.0.0.1:0").await?;
/// # let address = listener.local_addr()?;
/// let mut stream = blitz::net::TcpStream::connect(address).await?;
/// stream.write_all(b"hello").await?;
/// stream.shutdown().await?;
/// # let (mut server, _) = listener.accept().await?;
/// # let mut text = String::new();
/// # server.read_to_string(&mut text).await?;
/// # assert_eq!(text, "hello");
/// # Ok(()) }) }
/// ```
#[derive(Debug)]
pub struct TcpStream {
    io: Registration<mio::net::TcpStream>,
}

descriptor!(TcpStream);
waits!(
    TcpStream,
    " # let listener = blitz::net::TcpListener::bind(\"127.0.0.1:0\").await?;
 # let here = blitz::net::TcpStream::connect(listener.local_addr()?).await?;
 # let (there, _) = listener.accept().await?;"
);
stream!(
    TcpStream,
    " # let listener = blitz::net::TcpListener::bind(\"127.0.0.1:0\").await?;
 # let here = blitz::net::TcpStream::connect(listener.local_addr()?).await?;
 # let (there, _) = listener.accept().await?;",
    true
);

impl TcpStream {
    /// Connects to the first of the addresses that answers.
    ///
    /// # Errors
    /// The error of the last address, if none answers, or an error if the runtime has ended.
    pub async fn connect<A: ToSocketAddrs>(addr: A) -> io::Result<TcpStream> {
        first_that_works(addr, |address| async move {
            TcpStream::connecting(mio::net::TcpStream::connect(address)?).await
        })
        .await
    }

    pub(super) fn of(stream: mio::net::TcpStream) -> io::Result<TcpStream> {
        Ok(TcpStream { io: driver::watch(stream)? })
    }

    /// Waits until a connection attempt has succeeded or failed.
    pub(super) async fn connecting(stream: mio::net::TcpStream) -> io::Result<TcpStream> {
        let stream = TcpStream::of(stream)?;
        loop {
            stream.writable().await?;
            if let Some(error) = stream.take_error()? {
                return Err(error);
            }
            // The event may have been about something other than the connection attempt.
            let connected =
                stream.io.try_io(Interest::WRITABLE, |stream| match stream.peer_addr() {
                    Err(error) if error.kind() == io::ErrorKind::NotConnected => {
                        Err(io::ErrorKind::WouldBlock.into())
                    }
                    other => other,
                });
            match connected {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other.map(|_| stream),
            }
        }
    }

    /// Converts a stream of the standard library. Makes it non-blocking.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// use blitz::io::AsyncWriteExt;
    /// # let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    /// let stream = std::net::TcpStream::connect(listener.local_addr()?)?;
    /// let mut stream = blitz::net::TcpStream::from_std(stream)?;
    /// stream.write_all(b"hello").await?;
    /// let stream = stream.into_std()?;
    /// stream.set_nonblocking(false)?;
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// If the system refuses, or if the runtime has ended.
    pub fn from_std(stream: std::net::TcpStream) -> io::Result<TcpStream> {
        stream.set_nonblocking(true)?;
        TcpStream::of(mio::net::TcpStream::from_std(stream))
    }

    /// Converts this stream to one of the standard library. It stays non-blocking.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn into_std(self) -> io::Result<std::net::TcpStream> {
        Ok(std::os::fd::OwnedFd::from(self.io.into_inner()?).into())
    }

    /// Waits for data and copies it without consuming it; the next read gets it again.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// # use blitz::io::{AsyncReadExt, AsyncWriteExt};
    /// # let listener = blitz::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut client = blitz::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut stream, _) = listener.accept().await?;
    /// # client.write_all(b"hi").await?;
    /// let mut buf = [0; 2];
    /// stream.peek(&mut buf[..1]).await?;
    /// stream.read_exact(&mut buf).await?;
    /// assert_eq!(&buf, b"hi");
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// If the system reports an error, or if the runtime has ended.
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.io(Interest::READABLE, |stream| stream.peek(buf)).await
    }

    /// Works like [`peek`](TcpStream::peek), as a poll function. Only the task that polled last is
    /// woken.
    ///
    /// # Errors
    /// Fails as [`peek`](TcpStream::peek) does.
    pub fn poll_peek(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<usize>> {
        self.io.poll_io(cx, Interest::READABLE, |stream| transfer::peek(stream, buf))
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
    /// If the stream is not connected any more.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.get().peer_addr()
    }

    /// Returns whether small writes go out at once (`TCP_NODELAY`).
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.io.get().nodelay()
    }

    /// Sets whether small writes go out at once (`TCP_NODELAY`).
    ///
    /// Request-response protocols should set this option.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.io.get().set_nodelay(nodelay)
    }

    /// Returns whether received data is acknowledged at once (`TCP_QUICKACK`).
    ///
    /// # Errors
    /// If the system has no such option; only Linux has it.
    pub fn quickack(&self) -> io::Result<bool> {
        options::quickack(self)
    }

    /// Sets whether received data is acknowledged at once, rather than with the next answer.
    ///
    /// The system may reset the option later, so set it again after each read for which it matters.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// # let listener = blitz::net::TcpListener::bind("127.0.0.1:0").await?;
    /// let stream = blitz::net::TcpStream::connect(listener.local_addr()?).await?;
    /// stream.set_quickack(true)?;
    /// assert!(stream.quickack()?);
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// If the system refuses; only Linux has this option.
    pub fn set_quickack(&self, quickack: bool) -> io::Result<()> {
        options::set_quickack(self, quickack)
    }

    /// Returns how long a close waits for unsent bytes (`SO_LINGER`).
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        SockRef::from(self).linger()
    }

    /// Sets how long a close waits for unsent bytes. With zero, a close does not wait, and resets
    /// the connection. More than zero blocks the thread that drops the stream.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        SockRef::from(self).set_linger(linger)
    }

    /// Makes a close reset the connection at once: unsent bytes are lost.
    ///
    /// This is `set_linger(Some(Duration::ZERO))` under Tokio's name.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn set_zero_linger(&self) -> io::Result<()> {
        self.set_linger(Some(Duration::ZERO))
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

impl TryFrom<std::net::TcpStream> for TcpStream {
    type Error = io::Error;

    fn try_from(stream: std::net::TcpStream) -> io::Result<TcpStream> {
        TcpStream::from_std(stream)
    }
}
