//! Sockets whose operations wait without blocking a thread.
//!
//! | to | use |
//! |---|---|
//! | wait for connections | [`TcpListener`], [`UnixListener`] |
//! | connect | [`TcpStream::connect`], [`UnixStream::connect`] |
//! | set options first | [`TcpSocket`], [`UnixSocket`] |
//! | send and receive packets | [`UdpSocket`], [`UnixDatagram`] |
//! | pass bytes one way | [`unix::pipe`] |
//! | look a name up | [`lookup_host`] |
//!
//! A socket belongs to the pool that it was made in: the current one, or else the global one. The
//! workers of that pool wait for it, but any thread can use it. After the end of that pool,
//! operations that need not wait still work, and operations that would have to wait return an
//! error.
//!
//! If the current pool uses [`Backend::IoUring`](crate::Backend::IoUring), that pool runs
//! [`TcpListener::accept`], and `recv_owned` and `send_owned` of streams, whichever pool the socket
//! belongs to. After the end of the current pool, the socket's pool runs them.
//!
//! An operation that is cancelled by dropping its future has not happened: `read`, `accept` and
//! `recv_from` lose nothing, and `write` writes nothing beyond what it has returned. The exceptions
//! are [`recv_owned`](TcpStream::recv_owned) and [`send_owned`](TcpStream::send_owned) with
//! io_uring.
//!
//! ```
//! use blitz::io::{AsyncReadExt, AsyncWriteExt};
//! use blitz::net::{TcpListener, TcpStream};
//!
//! # fn main() -> std::io::Result<()> {
//! # blitz::block_on(async {
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let address = listener.local_addr()?;
//! let server = blitz::spawn(async move {
//!     let (mut stream, _) = listener.accept().await?;
//!     let mut request = [0; 4];
//!     stream.read_exact(&mut request).await?;
//!     stream.write_all(b"pong").await
//! });
//! let mut stream = TcpStream::connect(address).await?;
//! stream.write_all(b"ping").await?;
//! let mut answer = String::new();
//! stream.read_to_string(&mut answer).await?;
//! assert_eq!(answer, "pong");
//! server.await.unwrap()
//! # })
//! # }
//! ```

mod addr;
mod datagram;
mod descriptor;
#[cfg(feature = "futures-io")]
mod futures;
mod options;
mod owned;
mod split;
mod stream;
pub mod tcp;
mod udp;
pub mod unix;
mod waits;

pub use addr::{ToSocketAddrs, lookup_host};
#[doc(inline)]
pub use tcp::{TcpListener, TcpSocket, TcpStream};
pub use udp::UdpSocket;
#[doc(inline)]
pub use unix::{UnixDatagram, UnixListener, UnixSocket, UnixStream};
