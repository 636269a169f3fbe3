//! Reading and writing without blocking: Tokio's traits, which Blitz's sockets and files implement,
//! and their helpers; the standard streams; and [`unix::AsyncFd`] for any other descriptor.
//!
//! ```
//! use blitz::io::{AsyncReadExt, AsyncWriteExt};
//! use blitz::net::UnixStream;
//!
//! # fn main() -> std::io::Result<()> {
//! # blitz::block_on(async {
//! let (mut here, mut there) = UnixStream::pair()?;
//! here.write_all(b"hello").await?;
//! let mut text = [0; 5];
//! there.read_exact(&mut text).await?;
//! assert_eq!(&text, b"hello");
//! # Ok(())
//! # })
//! # }
//! ```

mod input;
mod output;

pub use blitz_parts::readiness::{Interest, Ready};
pub use input::{Stdin, stdin};
pub use output::{Stderr, Stdout, stderr, stdout};
#[doc(no_inline)]
pub use std::io::{Error, ErrorKind, Result, SeekFrom};
// Listed by name: a glob would also export items that other crates enable in Tokio, such as a
// `stdin` that needs Tokio's runtime.
#[doc(no_inline)]
pub use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncSeek, AsyncSeekExt, AsyncWrite,
    AsyncWriteExt,
};
#[doc(no_inline)]
pub use tokio::io::{
    BufReader, BufStream, BufWriter, Chain, DuplexStream, Empty, Join, Lines, ReadBuf, ReadHalf,
    Repeat, SimplexStream, Sink, Split, Take, WriteHalf,
};
#[doc(no_inline)]
pub use tokio::io::{
    copy, copy_bidirectional, copy_bidirectional_with_sizes, copy_buf, duplex, empty, join, repeat,
    simplex, sink, split,
};

/// Any descriptor that can be polled.
pub mod unix {
    pub use crate::async_fd::{
        AsyncFd, AsyncFdReadyGuard, AsyncFdReadyMutGuard, AsyncFdTryNewError, TryIoError,
    };
}
