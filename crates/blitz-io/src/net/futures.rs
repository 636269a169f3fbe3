//! The traits of the `futures` crates, for streams and their halves.

#![forbid(unsafe_code)]

use super::{TcpStream, UnixStream, tcp, unix};
use crate::borrowed::{AsyncRead, AsyncWrite, ReadBuf};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

macro_rules! reads {
    ($($Stream:ty),*) => {$(
        impl futures_io::AsyncRead for $Stream {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                let mut buf = ReadBuf::new(buf);
                ready!(AsyncRead::poll_read(self, cx, &mut buf))?;
                Poll::Ready(Ok(buf.filled().len()))
            }
        }
    )*};
}

macro_rules! writes {
    ($($Stream:ty),*) => {$(
        impl futures_io::AsyncWrite for $Stream {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                AsyncWrite::poll_write(self, cx, buf)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[io::IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                AsyncWrite::poll_write_vectored(self, cx, bufs)
            }

            fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                AsyncWrite::poll_flush(self, cx)
            }

            fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                AsyncWrite::poll_shutdown(self, cx)
            }
        }
    )*};
}

reads!(TcpStream, tcp::ReadHalf<'_>, tcp::OwnedReadHalf);
reads!(UnixStream, unix::ReadHalf<'_>, unix::OwnedReadHalf);
writes!(TcpStream, tcp::WriteHalf<'_>, tcp::OwnedWriteHalf);
writes!(UnixStream, unix::WriteHalf<'_>, unix::OwnedWriteHalf);
