//! This process's ends of a child's pipes.

#![forbid(unsafe_code)]

use crate::borrowed::{AsyncRead, AsyncWrite, ReadBuf};
use crate::net::unix::pipe::{Receiver, Sender};
use mio::unix::pipe as system;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::process::Stdio;
use std::task::{Context, Poll};

/// A child's standard input: [`AsyncWrite`]. Dropping it ends the input of the child.
#[derive(Debug)]
pub struct ChildStdin {
    end: Sender,
}

/// A child's standard output: [`AsyncRead`]. It ends when no process can write to it any more.
#[derive(Debug)]
pub struct ChildStdout {
    end: Receiver,
}

/// A child's standard error: [`AsyncRead`]. It ends when no process can write to it any more.
#[derive(Debug)]
pub struct ChildStderr {
    end: Receiver,
}

/// Defines the methods of all three pipes.
macro_rules! pipe {
    ($Pipe:ident, $End:ident) => {
        impl $Pipe {
            /// Converts a pipe of the standard library. Makes it non-blocking.
            ///
            /// # Errors
            /// If the system refuses, or if the runtime has ended.
            pub fn from_std(pipe: std::process::$Pipe) -> io::Result<$Pipe> {
                let end = system::$End::from(pipe);
                end.set_nonblocking(true)?;
                Ok($Pipe { end: $End::watched(end)? })
            }

            /// Stops watching the descriptor, makes it blocking, and returns it.
            ///
            /// # Errors
            /// If the system refuses.
            pub fn into_owned_fd(self) -> io::Result<OwnedFd> {
                self.end.into_blocking_fd()
            }
        }

        impl AsFd for $Pipe {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.end.as_fd()
            }
        }

        impl AsRawFd for $Pipe {
            fn as_raw_fd(&self) -> RawFd {
                self.end.as_raw_fd()
            }
        }

        /// Passes the pipe on to another child.
        impl TryFrom<$Pipe> for Stdio {
            type Error = io::Error;

            fn try_from(pipe: $Pipe) -> io::Result<Stdio> {
                pipe.into_owned_fd().map(Stdio::from)
            }
        }
    };
}

pipe!(ChildStdin, Sender);
pipe!(ChildStdout, Receiver);
pipe!(ChildStderr, Receiver);

impl AsyncWrite for ChildStdin {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.end).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.end).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.end.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.end).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.end).poll_shutdown(cx)
    }
}

/// Implements `AsyncRead` for a pipe that this process reads.
macro_rules! reader {
    ($Pipe:ident) => {
        impl AsyncRead for $Pipe {
            fn poll_read(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                Pin::new(&mut self.end).poll_read(cx, buf)
            }
        }
    };
}

reader!(ChildStdout);
reader!(ChildStderr);
