//! QUIC with quinn on the Blitz runtime, without a Tokio guest.
//!
//! [`BlitzRuntime`] provides the tasks, timers and UDP sockets that quinn needs. Give it to
//! `quinn::Endpoint::new`, or call [`endpoint`]. `ecosystem/net/tests/quinn.rs` sends four
//! megabytes there and back.
//!
//! ```
//! # fn main() -> std::io::Result<()> {
//! # blitz::block_on(async {
//! let client = blitz_quinn::endpoint(None, "127.0.0.1:0".parse().unwrap())?;
//! assert_ne!(client.local_addr()?.port(), 0);
//! # Ok(())
//! # })
//! # }
//! ```

#![forbid(unsafe_code)]

use blitz::io::Interest;
use blitz::io::unix::AsyncFd;
use blitz::time::{Sleep, sleep_until};
use quinn::udp::{RecvMeta, Transmit, UdpSocketState};
use quinn::{
    AsyncTimer, AsyncUdpSocket, Endpoint, EndpointConfig, Runtime, ServerConfig, UdpPoller,
};
use std::fmt;
use std::future::Future;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

/// Returns an endpoint at `address` on the current pool, or on the global one.
///
/// With a server configuration the endpoint accepts connections. It can always open connections.
///
/// # Errors
/// If the system refuses a socket at `address`, or if the pool has ended.
pub fn endpoint(server: Option<ServerConfig>, address: SocketAddr) -> io::Result<Endpoint> {
    let socket = UdpSocket::bind(address)?;
    Endpoint::new(EndpointConfig::default(), server, socket, Arc::new(BlitzRuntime))
}

/// Tasks, timers and sockets for quinn.
///
/// Tasks go to the pool that is current where an endpoint or a connection is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlitzRuntime;

impl Runtime for BlitzRuntime {
    fn new_timer(&self, deadline: Instant) -> Pin<Box<dyn AsyncTimer>> {
        Box::pin(Timer { sleep: Box::pin(sleep_until(blitz::time::Instant::from_std(deadline))) })
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        drop(blitz::spawn(future));
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        // This also makes the socket non-blocking.
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Arc::new(Socket { socket: AsyncFd::new(socket)?, state }))
    }

    fn now(&self) -> Instant {
        blitz::time::Instant::now().into_std()
    }
}

/// A timer that can be set again.
#[derive(Debug)]
struct Timer {
    sleep: Pin<Box<Sleep>>,
}

impl AsyncTimer for Timer {
    fn reset(mut self: Pin<&mut Self>, deadline: Instant) {
        self.sleep.as_mut().reset(blitz::time::Instant::from_std(deadline));
    }

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.sleep.as_mut().poll(cx)
    }
}

/// A socket, and quinn's state for it.
struct Socket {
    socket: AsyncFd<UdpSocket>,
    state: UdpSocketState,
}

impl AsyncUdpSocket for Socket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Poller { socket: self, writable: None })
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        // An attempt that would block clears the readiness, so that the connection's poller waits
        // for an event.
        self.socket.try_io(Interest::WRITABLE, |socket| self.state.send(socket.into(), transmit))
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.socket.poll_read_ready(cx))?;
            let received =
                guard.try_io(|socket| self.state.recv(socket.get_ref().into(), buffers, meta));
            if let Ok(received) = received {
                return Poll::Ready(received);
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.get_ref().local_addr()
    }

    fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }

    fn max_transmit_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.state.gro_segments()
    }
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socket").field("socket", self.socket.get_ref()).finish_non_exhaustive()
    }
}

type Writable = Pin<Box<dyn Future<Output = io::Result<()>> + Send + Sync>>;

/// A wait until a socket can be written to. Each connection has one, and all of them are woken.
struct Poller {
    socket: Arc<Socket>,
    writable: Option<Writable>,
}

impl UdpPoller for Poller {
    fn poll_writable(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let writable = this.writable.get_or_insert_with(|| {
            let socket = Arc::clone(&this.socket);
            Box::pin(async move { socket.socket.writable().await.map(drop) })
        });
        let ready = ready!(writable.as_mut().poll(cx));
        this.writable = None;
        Poll::Ready(ready)
    }
}

impl fmt::Debug for Poller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Poller").field("waits", &self.writable.is_some()).finish_non_exhaustive()
    }
}

/// The program of the package's own page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
