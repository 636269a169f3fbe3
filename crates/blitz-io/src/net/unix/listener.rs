//! Waiting for connections.

#![forbid(unsafe_code)]

use super::{SocketAddr, UnixStream};
use crate::driver;
use crate::io::Interest;
use crate::net::descriptor::descriptor;
use crate::poll::Registration;
use std::io;
use std::os::unix::net::UnixListener as StdListener;
use std::path::Path;
use std::task::{Context, Poll};

/// A Unix socket that waits for connections.
///
/// Dropping a listener leaves the socket's file behind. Remove that file before you bind the same
/// path again.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// use blitz::net::{UnixListener, UnixStream};
/// let path = std::env::temp_dir().join(format!("blitz-doc-{}.sock", std::process::id()));
/// let listener = UnixListener::bind(&path)?;
/// let client = UnixStream::connect(&path).await?;
/// let (server, _) = listener.accept().await?;
/// std::fs::remove_file(&path)?;
/// # drop((client, server));
/// # Ok(()) }) }
/// ```
#[derive(Debug)]
pub struct UnixListener {
    io: Registration<mio::net::UnixListener>,
}

descriptor!(UnixListener);

impl UnixListener {
    /// Listens at `path`, which must not exist yet.
    ///
    /// # Errors
    /// If the path cannot be bound, or if the runtime has ended.
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<UnixListener> {
        UnixListener::of(mio::net::UnixListener::bind(path)?)
    }

    /// Listens at `address`, which may be abstract.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// use blitz::net::{UnixListener, UnixStream};
    /// use std::os::unix::net::SocketAddr;
    ///
    /// let path = std::env::temp_dir().join(format!("blitz-doc-addr-{}.sock", std::process::id()));
    /// let address = SocketAddr::from_pathname(&path)?;
    /// let listener = UnixListener::bind_addr(&address)?;
    /// let client = UnixStream::connect_addr(&address).await?;
    /// let (server, _) = listener.accept().await?;
    /// std::fs::remove_file(&path)?;
    /// # drop((client, server));
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// If the address cannot be bound, or if the runtime has ended.
    pub fn bind_addr(address: &SocketAddr) -> io::Result<UnixListener> {
        UnixListener::of(mio::net::UnixListener::bind_addr(address)?)
    }

    fn of(listener: mio::net::UnixListener) -> io::Result<UnixListener> {
        Ok(UnixListener { io: driver::watch(listener)? })
    }

    /// Waits for a connection.
    ///
    /// If the future is dropped no connection is lost.
    ///
    /// # Errors
    /// If the system reports an error, for instance that there are too many open files, or if the
    /// runtime has ended.
    pub async fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        let (stream, address) =
            self.io.io(Interest::READABLE, |listener| listener.accept()).await?;
        Ok((UnixStream::of(stream)?, address))
    }

    /// Works like [`accept`](UnixListener::accept), as a poll function. Only the task that polled
    /// last is woken.
    ///
    /// # Errors
    /// Fails as [`accept`](UnixListener::accept) does.
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(UnixStream, SocketAddr)>> {
        let accepted = self.io.poll_io(cx, Interest::READABLE, |listener| listener.accept());
        accepted.map(|accepted| {
            let (stream, address) = accepted?;
            Ok((UnixStream::of(stream)?, address))
        })
    }

    /// Returns the address that this socket listens at.
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get().local_addr()
    }

    /// Takes the pending error of this socket (`SO_ERROR`), if there is one.
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.get().take_error()
    }

    /// Converts a listener of the standard library. Makes it non-blocking.
    ///
    /// # Errors
    /// If the system refuses, or if the runtime has ended.
    pub fn from_std(listener: StdListener) -> io::Result<UnixListener> {
        listener.set_nonblocking(true)?;
        UnixListener::of(mio::net::UnixListener::from_std(listener))
    }

    /// Converts this listener to one of the standard library. It stays non-blocking.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn into_std(self) -> io::Result<StdListener> {
        Ok(std::os::fd::OwnedFd::from(self.io.into_inner()?).into())
    }
}
