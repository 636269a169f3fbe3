//! Packets.

#![forbid(unsafe_code)]

use super::SocketAddr;
use crate::borrowed::ReadBuf;
use crate::driver;
use crate::io::Interest;
use crate::net::datagram::datagram;
use crate::net::descriptor::descriptor;
use crate::net::waits::waits;
use crate::poll::Registration;
use crate::time::sleep;
use blitz_core::task::{consume_budget, yield_now};
use blitz_parts::tuning;
use std::future::poll_fn;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixDatagram as StdDatagram;
use std::path::Path;
use std::pin::pin;
use std::task::{Context, Poll, ready};

/// A Unix socket for packets.
///
/// Any number of tasks may use it at once. A packet that is longer than the buffer loses its end.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// let (here, there) = blitz::net::UnixDatagram::pair()?;
/// here.send(b"hello").await?;
/// let mut buf = [0; 16];
/// let count = there.recv(&mut buf).await?;
/// assert_eq!(&buf[..count], b"hello");
/// # Ok(()) }) }
/// ```
#[derive(Debug)]
pub struct UnixDatagram {
    io: Registration<mio::net::UnixDatagram>,
}

descriptor!(UnixDatagram);
waits!(UnixDatagram, " # let (here, there) = blitz::net::UnixDatagram::pair()?;");

datagram!(
    UnixDatagram,
    StdDatagram,
    SocketAddr,
    " Waits for a packet; returns its length.",
    " If the system reports an error, or if the runtime has ended."
);

impl UnixDatagram {
    /// Binds a socket to `path`, which must not exist yet.
    ///
    /// # Errors
    /// If the path cannot be bound, or if the runtime has ended.
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<UnixDatagram> {
        UnixDatagram::of(mio::net::UnixDatagram::bind(path)?)
    }

    /// Creates a socket without an address: it can send, but no other socket can send to it.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// use blitz::net::UnixDatagram;
    /// let path = std::env::temp_dir().join(format!("blitz-doc-{}.dgram", std::process::id()));
    /// let server = UnixDatagram::bind(&path)?;
    /// UnixDatagram::unbound()?.send_to(b"hello", &path).await?;
    /// std::fs::remove_file(&path)?;
    /// let mut buf = [0; 16];
    /// let (count, from) = server.recv_from(&mut buf).await?;
    /// assert!(count == 5 && from.is_unnamed());
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// If the system refuses, or if the runtime has ended.
    pub fn unbound() -> io::Result<UnixDatagram> {
        UnixDatagram::of(mio::net::UnixDatagram::unbound()?)
    }

    /// Creates two sockets that are connected to each other.
    ///
    /// # Errors
    /// If the system refuses, or if the runtime has ended.
    pub fn pair() -> io::Result<(UnixDatagram, UnixDatagram)> {
        let (one, other) = mio::net::UnixDatagram::pair()?;
        Ok((UnixDatagram::of(one)?, UnixDatagram::of(other)?))
    }

    /// Connects the socket: [`send`](UnixDatagram::send) sends to `path`, and only packets from
    /// there are received.
    ///
    /// # Errors
    /// If no socket is bound to `path`.
    pub fn connect<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        self.io.get().connect(path)
    }

    /// Sends a packet to the socket at `target`.
    ///
    /// If the receiver's queue is full and this socket is not connected to it, the system does not
    /// report when there is room again. Then this function tries again every few milliseconds.
    ///
    /// # Errors
    /// If the system reports an error, or if the runtime has ended.
    pub async fn send_to<P: AsRef<Path>>(&self, buf: &[u8], target: P) -> io::Result<usize> {
        // The system reports when this socket has room, not when the receiver has.
        for _ in 0..tuning::SEND_TO_YIELDS {
            match self.io.get().send_to(buf, target.as_ref()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => yield_now().await,
                result => {
                    consume_budget().await;
                    return result;
                }
            }
        }
        loop {
            match self.io.get().send_to(buf, target.as_ref()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let mut pause = pin!(sleep(tuning::SEND_TO_PAUSE));
                    poll_fn(|cx| pause.as_mut().try_poll_elapsed(cx)).await?;
                }
                result => return result,
            }
        }
    }

    /// Works like [`send_to`](UnixDatagram::send_to), unless it would have to wait.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no room, or another error of the
    /// system.
    pub fn try_send_to<P: AsRef<Path>>(&self, buf: &[u8], target: P) -> io::Result<usize> {
        self.io.get().send_to(buf, target.as_ref())
    }

    /// Ends one direction or both.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.io.get().shutdown(how)
    }
}
