//! Waiting for connections.

use super::TcpStream;
use crate::driver;
use crate::io::Interest;
use crate::net::addr::{ToSocketAddrs, first_that_works};
use crate::net::descriptor::descriptor;
use crate::poll::Registration;
use crate::uring::Accepting;
use blitz_parts::readiness::Evidence;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::task::{Context, Poll};

/// A TCP socket that waits for connections.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// use blitz::net::{TcpListener, TcpStream};
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let client = TcpStream::connect(listener.local_addr()?).await?;
/// let (server, address) = listener.accept().await?;
/// assert_eq!(address, client.local_addr()?);
/// # drop(server);
/// # Ok(()) }) }
/// ```
///
/// Several tasks may [`accept`](TcpListener::accept) at once. If the process has no descriptor
/// left, `accept` returns an error and the connection stays queued: let some time pass, or close
/// something, before the next try.
#[derive(Debug)]
pub struct TcpListener {
    io: Registration<mio::net::TcpListener>,
    /// The accept operation of io_uring, if the runtime uses io_uring.
    accepting: Accepting,
}

descriptor!(TcpListener);

impl TcpListener {
    /// Listens on the first of the addresses that can be bound. For port 0 the system chooses a
    /// port. The address may have been in use a moment ago (`SO_REUSEADDR`).
    ///
    /// # Errors
    /// The error of the last address, if none can be bound.
    pub async fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<TcpListener> {
        first_that_works(addr, |address| async move {
            TcpListener::of(mio::net::TcpListener::bind(address)?)
        })
        .await
    }

    pub(super) fn of(listener: mio::net::TcpListener) -> io::Result<TcpListener> {
        Ok(TcpListener { io: driver::watch(listener)?, accepting: Accepting::default() })
    }

    /// Waits for a connection.
    ///
    /// If the future is dropped no connection is lost.
    ///
    /// # Errors
    /// If the system reports an error, for instance that there are too many open files, or if the
    /// runtime has ended.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        while let Some(uring) = driver::uring_for_sockets() {
            match self.accepting.next(uring, self.as_fd()).await {
                Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                    let sight = self.io.ready(Interest::READABLE).await?;
                    // The ring's error may be older than `sight`, so only an attempt shows whether
                    // a connection is there. If there is none, the ring may have accepted the
                    // connection that `sight` announced.
                    match self.io.get().accept() {
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                            self.io.clear(sight, Evidence::WouldBlock);
                        }
                        accepted => return of_system(accepted),
                    }
                }
                Some(accepted) => return of_uring(accepted),
                None => break,
            }
        }
        of_system(self.io.io(Interest::READABLE, |listener| listener.accept()).await)
    }

    /// Poll function for [`accept`](TcpListener::accept). Only the task that polled last is woken.
    ///
    /// # Errors
    /// Fails as [`accept`](TcpListener::accept) does.
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        // A dropped `accept` may have left an operation that takes the next connection.
        if let Some(Poll::Ready(accepted)) = self.accepting.poll_begun(cx) {
            return Poll::Ready(of_uring(accepted));
        }
        self.io.poll_io(cx, Interest::READABLE, |listener| listener.accept()).map(of_system)
    }

    /// Returns the address that this socket listens on.
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get().local_addr()
    }

    /// Converts a listener of the standard library. Makes it non-blocking.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    /// let listener = blitz::net::TcpListener::from_std(listener)?;
    /// let client = std::net::TcpStream::connect(listener.local_addr()?)?;
    /// listener.accept().await?;
    /// # drop(client);
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// If the system refuses, or if the runtime has ended.
    pub fn from_std(listener: std::net::TcpListener) -> io::Result<TcpListener> {
        listener.set_nonblocking(true)?;
        TcpListener::of(mio::net::TcpListener::from_std(listener))
    }

    /// Converts this listener to one of the standard library. It stays non-blocking.
    ///
    /// With io_uring, a dropped [`accept`](TcpListener::accept) leaves an operation behind, which
    /// may have taken a connection since. A listener of the standard library cannot hold that
    /// connection, so the connection is closed. To get it, call
    /// [`poll_accept`](TcpListener::poll_accept) before the conversion.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn into_std(self) -> io::Result<std::net::TcpListener> {
        Ok(OwnedFd::from(self.io.into_inner()?).into())
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

/// Turns a connection that a call has accepted into a stream of the current runtime.
fn of_system(
    accepted: io::Result<(mio::net::TcpStream, SocketAddr)>,
) -> io::Result<(TcpStream, SocketAddr)> {
    let (stream, address) = accepted?;
    Ok((TcpStream::of(stream)?, address))
}

/// Turns a connection that io_uring has accepted into a stream of the current runtime.
fn of_uring(accepted: io::Result<(OwnedFd, SocketAddr)>) -> io::Result<(TcpStream, SocketAddr)> {
    let (stream, address) = accepted?;
    Ok((TcpStream::from_std(stream.into())?, address))
}

impl TryFrom<std::net::TcpListener> for TcpListener {
    type Error = io::Error;

    fn try_from(listener: std::net::TcpListener) -> io::Result<TcpListener> {
        TcpListener::from_std(listener)
    }
}

#[cfg(test)]
mod tests {
    use super::TcpListener;
    use crate::Backend;
    use blitz_core::Pool;
    use std::future::{Future, ready};
    use std::io::ErrorKind;
    use std::pin::pin;
    use std::task::{Context, Waker};

    #[test]
    fn an_accept_of_the_ring_that_did_not_wait_is_begun_again() {
        let Ok(pool) = Pool::builder().workers(1).backend(Backend::IoUring).build() else {
            return; // no io_uring here
        };
        pool.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let did_not_wait = || ready(Err(ErrorKind::WouldBlock.into()));
            let mut cx = Context::from_waker(Waker::noop());
            listener.accepting.begin_with(did_not_wait());
            assert!(listener.poll_accept(&mut cx).is_pending());
            for connects_first in [false, true] {
                listener.accepting.begin_with(did_not_wait());
                let connect = || std::net::TcpStream::connect(address).unwrap();
                let early = connects_first.then(connect);
                let mut accept = pin!(listener.accept());
                let accepted = match early {
                    Some(_) => accept.await,
                    None => {
                        assert!(accept.as_mut().poll(&mut cx).is_pending());
                        let _late = connect();
                        accept.await
                    }
                };
                accepted.unwrap();
            }
        });
    }
}
