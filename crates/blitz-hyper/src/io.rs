//! Adapts streams between the traits of hyper and Tokio.

use crate::connection::Presence;
use hyper::rt::ReadBufCursor;
use pin_project_lite::pin_project;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pin_project! {
    /// Adapts a stream with Tokio's traits to hyper, and the other way round.
    ///
    /// Blitz's sockets, TLS on top of them and every other stream with Tokio's traits can be given
    /// to hyper. The stream that hyper hands out after an upgrade has hyper's traits; wrapped in a
    /// `BlitzIo`, it has Tokio's.
    ///
    /// ```
    /// use blitz::io::{AsyncReadExt, AsyncWriteExt};
    /// use blitz::net::UnixStream;
    /// use blitz_hyper::BlitzIo;
    ///
    /// # fn main() -> std::io::Result<()> {
    /// # blitz::block_on(async {
    /// let (mut here, there) = UnixStream::pair()?;
    /// let for_hyper = BlitzIo::new(there); // has hyper's traits …
    /// let mut and_back = BlitzIo::new(for_hyper); // … and this wrapper has Tokio's again.
    /// here.write_all(b"there and back").await?;
    /// let mut text = [0; 14];
    /// and_back.read_exact(&mut text).await?;
    /// assert_eq!(&text, b"there and back");
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    #[derive(Debug)]
    pub struct BlitzIo<T> {
        #[pin]
        stream: T,
        presence: Option<Presence>,
    }
}

impl<T> BlitzIo<T> {
    /// Wraps `stream`.
    #[must_use]
    pub fn new(stream: T) -> BlitzIo<T> {
        BlitzIo { stream, presence: None }
    }

    /// Wraps the stream of a server's connection. The connection counts as open as long as the
    /// wrapper lives, also after an upgrade, when hyper hands the wrapper to the handler.
    pub(crate) fn of_server(stream: T, presence: Presence) -> BlitzIo<T> {
        BlitzIo { stream, presence: Some(presence) }
    }

    /// Returns a reference to the stream.
    #[must_use]
    pub fn get_ref(&self) -> &T {
        &self.stream
    }

    /// Returns a mutable reference to the stream.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.stream
    }

    /// Returns the stream without the wrapper. If the stream belongs to a server's connection, the
    /// server does not wait for that connection any more.
    pub fn into_inner(self) -> T {
        self.stream
    }
}

impl<T: AsyncRead> hyper::rt::Read for BlitzIo<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: initialised bytes must stay initialised. A `ReadBuf` writes only initialised
        // bytes.
        let space = unsafe { cursor.as_mut() };
        let start = space.as_ptr().cast::<u8>();
        let mut buf = ReadBuf::uninit(space);
        ready!(self.project().stream.poll_read(cx, &mut buf))?;
        let read = buf.filled().len();
        // The stream gets `buf` by reference, so the stream might replace `buf` with another one.
        assert_eq!(buf.filled().as_ptr(), start, "the stream read into a buffer of its own");
        // SAFETY: the next `read` bytes must be initialised. The stream filled them, in this very
        // buffer.
        unsafe { cursor.advance(read) };
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite> hyper::rt::Write for BlitzIo<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.project().stream.poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().stream.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().stream.poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.project().stream.poll_write_vectored(cx, slices)
    }
}

impl<T: hyper::rt::Read> AsyncRead for BlitzIo<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: initialised bytes must stay initialised. hyper's buffer writes only initialised
        // bytes.
        let space = unsafe { buf.unfilled_mut() };
        let mut inner = hyper::rt::ReadBuf::uninit(space);
        // The cursor is passed by value, so the stream can write only into `inner`.
        ready!(self.project().stream.poll_read(cx, inner.unfilled()))?;
        let read = inner.filled().len();
        // SAFETY: the first `read` bytes of the unfilled part must be initialised. `inner`, which
        // is that part, has filled them.
        unsafe { buf.assume_init(read) };
        buf.advance(read);
        Poll::Ready(Ok(()))
    }
}

impl<T: hyper::rt::Write> AsyncWrite for BlitzIo<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.project().stream.poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().stream.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().stream.poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.project().stream.poll_write_vectored(cx, slices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blitz::io::{AsyncReadExt, AsyncWriteExt};
    use blitz::net::UnixStream;
    use std::panic::AssertUnwindSafe;

    #[test]
    fn bytes_in_the_buffer_stay() {
        blitz::block_on(async {
            let (mut here, there) = UnixStream::pair().unwrap();
            let mut there = BlitzIo::new(BlitzIo::new(there));
            let mut text = Vec::from(&b"first "[..]);
            here.write_all(b"second").await.unwrap();
            drop(here);
            there.read_to_end(&mut text).await.unwrap();
            assert_eq!(text, b"first second");
        });
    }

    #[test]
    fn many_slices_are_written_at_once() {
        blitz::block_on(async {
            let (here, mut there) = UnixStream::pair().unwrap();
            let mut here = BlitzIo::new(BlitzIo::new(here));
            assert!(AsyncWrite::is_write_vectored(&here));
            let slices = [IoSlice::new(b"one "), IoSlice::new(b"two")];
            assert_eq!(here.write_vectored(&slices).await.unwrap(), 7);
            here.shutdown().await.unwrap();
            let mut text = String::new();
            there.read_to_string(&mut text).await.unwrap();
            assert_eq!(text, "one two");
        });
    }

    /// Claims to have filled the buffer, but has replaced it with another one.
    struct Liar;

    impl AsyncRead for Liar {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let mut other = ReadBuf::new(Vec::leak(vec![1; 64]));
            other.set_filled(64);
            *buf = other;
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn a_stream_that_replaces_the_buffer_is_detected() {
        let mut bytes = [0; 8];
        let mut buf = hyper::rt::ReadBuf::new(&mut bytes);
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let mut liar = BlitzIo::new(Liar);
        let read = AssertUnwindSafe(|| {
            let _ = hyper::rt::Read::poll_read(Pin::new(&mut liar), &mut cx, buf.unfilled());
        });
        assert!(std::panic::catch_unwind(read).is_err());
    }
}
