//! Sources of connections.

#![forbid(unsafe_code)]

use blitz::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use std::fmt::Debug;
use std::io;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite};

/// A source of connections: a listener of Blitz, or a wrapper around one.
///
/// ```
/// use blitz::net::{TcpListener, TcpStream};
/// use blitz_hyper::Listener;
/// use std::task::{Context, Poll};
///
/// /// A listener whose connections send small answers at once.
/// struct NoDelay(TcpListener);
///
/// impl Listener for NoDelay {
///     type Stream = TcpStream;
///     type Peer = std::net::SocketAddr;
///
///     fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<std::io::Result<(TcpStream, Self::Peer)>> {
///         self.0.poll_accept(cx).map_ok(|(stream, peer)| {
///             // If the connection is gone already, the next read shows it.
///             let _ = stream.set_nodelay(true);
///             (stream, peer)
///         })
///     }
/// }
/// ```
pub trait Listener: Send + 'static {
    /// A connection.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;
    /// The address of the peer.
    type Peer: Clone + Debug + Send + Sync + 'static;

    /// Accepts a connection; if there is none, the task of `cx` is woken when one arrives.
    ///
    /// # Errors
    /// The errors of `accept`. A server survives an error that concerns only one connection, and
    /// an error because a resource has run out for the moment.
    fn poll_accept(&mut self, cx: &mut Context<'_>)
    -> Poll<io::Result<(Self::Stream, Self::Peer)>>;
}

/// A connection and its peer.
pub(crate) type Accepted<L> = (<L as Listener>::Stream, <L as Listener>::Peer);

impl Listener for TcpListener {
    type Stream = TcpStream;
    type Peer = std::net::SocketAddr;

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, Self::Peer)>> {
        TcpListener::poll_accept(self, cx).map_ok(|(stream, peer)| {
            // Answers are written in one piece, so Nagle's algorithm could only delay them. An
            // error is ignored: if the connection is gone, the next read shows it.
            let _ = stream.set_nodelay(true);
            (stream, peer)
        })
    }
}

impl Listener for UnixListener {
    type Stream = UnixStream;
    type Peer = std::sync::Arc<std::os::unix::net::SocketAddr>;

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<(UnixStream, Self::Peer)>> {
        UnixListener::poll_accept(self, cx).map_ok(|(stream, peer)| (stream, peer.into()))
    }
}

/// What to do about an error of `accept`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterError {
    /// The error concerns one connection, which is gone.
    AcceptNext,
    /// The next call of `accept` may fail at once, too. Either the system refuses calls, or a
    /// resource has run out, and some of it is free again when connections end.
    Pause,
    /// The listener will never accept again.
    GiveUp,
}

/// What to do about `error`, which `accept` returned.
pub(crate) fn after(error: &io::Error) -> AfterError {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::ConnectionAborted
        | Kind::ConnectionRefused
        | Kind::ConnectionReset
        | Kind::Interrupted
        | Kind::NetworkDown
        | Kind::NetworkUnreachable
        | Kind::HostUnreachable
        | Kind::TimedOut => AfterError::AcceptNext,
        // Permission is denied by a firewall, which may have refused one connection only, or by a
        // filter of system calls, which refuses each call at once.
        Kind::OutOfMemory | Kind::PermissionDenied => AfterError::Pause,
        // A descriptor that is invalid or does not listen will not recover.
        Kind::InvalidInput | Kind::NotConnected | Kind::Unsupported => AfterError::GiveUp,
        _ => match error.raw_os_error() {
            // Errors that do not come from the system mean, for example, that the runtime has
            // ended.
            None | Some(BAD_DESCRIPTOR) => AfterError::GiveUp,
            // Errors for missing descriptors or network buffers have no kind of their own.
            Some(_) => AfterError::Pause,
        },
    }
}

/// `EBADF`, which is the same number on all systems with descriptors.
const BAD_DESCRIPTOR: i32 = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_permanent_errors_end_a_server() {
        let too_many_files = io::Error::from_raw_os_error(24);
        assert_eq!(after(&too_many_files), AfterError::Pause);
        assert_eq!(after(&io::ErrorKind::OutOfMemory.into()), AfterError::Pause);
        assert_eq!(after(&io::ErrorKind::PermissionDenied.into()), AfterError::Pause);
        assert_eq!(after(&io::ErrorKind::ConnectionAborted.into()), AfterError::AcceptNext);
        assert_eq!(after(&io::ErrorKind::InvalidInput.into()), AfterError::GiveUp);
        assert_eq!(after(&io::Error::other("the runtime has ended")), AfterError::GiveUp);
        assert_eq!(after(&io::Error::from_raw_os_error(BAD_DESCRIPTOR)), AfterError::GiveUp);
    }
}
