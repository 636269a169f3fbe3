//! The ends of a child's pipes that are not its own.

#![forbid(unsafe_code)]

use crate::driver;
use crate::io::Interest;
use crate::poll::Registration;
use crate::transfer;
use mio::unix::pipe::{Receiver, Sender};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::process::Stdio;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What a child reads from: [`AsyncWrite`]. Drop it, and the child sees the end.
#[derive(Debug)]
pub struct ChildStdin {
    io: Registration<Sender>,
}

/// What a child writes to: [`AsyncRead`]. It ends when no process has the other end any more.
#[derive(Debug)]
pub struct ChildStdout {
    io: Registration<Receiver>,
}

/// What a child writes complaints to: [`AsyncRead`]. It ends when no process has the other end any
/// more.
#[derive(Debug)]
pub struct ChildStderr {
    io: Registration<Receiver>,
}

/// What all of them have.
macro_rules! pipe {
    ($Pipe:ident, $End:ident, $interest:expr) => {
        impl $Pipe {
            /// A pipe of the standard library as one of Blitz's. It is made non-blocking.
            ///
            /// # Errors
            /// If the system refuses, or if the runtime has ended.
            pub fn from_std(pipe: std::process::$Pipe) -> io::Result<$Pipe> {
                let end = $End::from(pipe);
                end.set_nonblocking(true)?;
                Ok($Pipe { io: driver::watch_for(end, $interest)? })
            }

            /// The descriptor, no longer watched. It is made blocking.
            ///
            /// # Errors
            /// If the system refuses.
            pub fn into_owned_fd(self) -> io::Result<OwnedFd> {
                let end = self.io.into_inner()?;
                end.set_nonblocking(false)?;
                Ok(end.into())
            }
        }

        impl AsFd for $Pipe {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.io.get().as_fd()
            }
        }

        impl AsRawFd for $Pipe {
            fn as_raw_fd(&self) -> RawFd {
                self.io.get().as_raw_fd()
            }
        }

        /// For another child.
        impl TryFrom<$Pipe> for Stdio {
            type Error = io::Error;

            fn try_from(pipe: $Pipe) -> io::Result<Stdio> {
                pipe.into_owned_fd().map(Stdio::from)
            }
        }
    };
}

pipe!(ChildStdin, Sender, Interest::WRITABLE);
pipe!(ChildStdout, Receiver, Interest::READABLE);
pipe!(ChildStderr, Receiver, Interest::READABLE);

impl AsyncWrite for ChildStdin {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.io.poll_transfer(cx, Interest::WRITABLE, buf.len(), |mut end| end.write(buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let bufs = transfer::first_of(bufs);
        let room = transfer::length(bufs);
        self.io.poll_transfer(cx, Interest::WRITABLE, room, |mut end| end.write_vectored(bufs))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Nothing is kept back here: what was written is the system's.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A pipe has no end but that of its descriptor.
        Poll::Ready(Ok(()))
    }
}

/// What those have that are read.
macro_rules! reader {
    ($Pipe:ident) => {
        impl AsyncRead for $Pipe {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                let room = buf.remaining();
                let attempt = |end: &Receiver| transfer::read(end, buf);
                self.io.poll_transfer(cx, Interest::READABLE, room, attempt).map_ok(drop)
            }
        }
    };
}

reader!(ChildStdout);
reader!(ChildStderr);
