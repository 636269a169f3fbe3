//! Connects processes of one machine: [`UnixListener`], [`UnixStream`], [`UnixDatagram`], the
//! halves of streams, and [`pipe`]s.

mod datagram;
mod halves;
mod listener;
mod peer;
pub mod pipe;
mod socket;
mod stream;

pub use datagram::UnixDatagram;
pub use halves::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use listener::UnixListener;
pub use peer::UCred;
pub use socket::UnixSocket;
#[doc(no_inline)]
pub use std::os::unix::net::SocketAddr;
pub use stream::UnixStream;
