//! TCP: [`TcpListener`], [`TcpStream`], [`TcpSocket`], and the halves of streams.

#![forbid(unsafe_code)]

mod halves;
mod listener;
mod socket;
mod stream;

pub use halves::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use listener::TcpListener;
pub use socket::TcpSocket;
pub use stream::TcpStream;
