//! Sockets between processes of one machine: [`UnixListener`], [`UnixStream`], [`UnixDatagram`],
//! and the halves of streams.

#![forbid(unsafe_code)]

mod datagram;
mod halves;
mod listener;
mod peer;
mod stream;

pub use datagram::UnixDatagram;
pub use halves::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use listener::UnixListener;
pub use peer::UCred;
#[doc(no_inline)]
pub use std::os::unix::net::SocketAddr;
pub use stream::UnixStream;
