//! Halves of streams.

/// The halves of `$Stream`, whose addresses are `$Address`.
macro_rules! halves {
    ($Stream:ident, $Address:path) => {
        use super::$Stream;
        use crate::borrowed::{AsyncRead, AsyncWrite, ReadBuf};
        use crate::io::{Interest, Ready};
        use std::io;
        use std::net::Shutdown;
        use std::pin::Pin;
        use std::sync::Arc;
        use std::task::{Context, Poll};

        /// The half of a stream that reads: see `split` of the stream.
        #[derive(Debug)]
        pub struct ReadHalf<'a>(&'a $Stream);

        /// The half of a stream that writes: see `split` of the stream.
        #[derive(Debug)]
        pub struct WriteHalf<'a>(&'a $Stream);

        /// The half of a stream that reads, for a task of its own: see `into_split` of the stream.
        #[derive(Debug)]
        pub struct OwnedReadHalf {
            stream: Arc<$Stream>,
        }

        /// The half of a stream that writes, for a task of its own: see `into_split` of the stream.
        /// Dropping it shuts down the write direction.
        #[derive(Debug)]
        pub struct OwnedWriteHalf {
            stream: Arc<$Stream>,
            ends_on_drop: bool,
        }

        /// Two halves that were not made of the same stream.
        #[derive(Debug)]
        pub struct ReuniteError(
            /// The half that reads.
            pub OwnedReadHalf,
            /// The half that writes.
            pub OwnedWriteHalf,
        );

        impl std::fmt::Display for ReuniteError {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(
                    "the halves are of different streams: reunite those that one into_split made",
                )
            }
        }

        impl std::error::Error for ReuniteError {}

        impl<'a> ReadHalf<'a> {
            pub(in crate::net) fn new(stream: &'a $Stream) -> ReadHalf<'a> {
                ReadHalf(stream)
            }
        }

        impl<'a> WriteHalf<'a> {
            pub(in crate::net) fn new(stream: &'a $Stream) -> WriteHalf<'a> {
                WriteHalf(stream)
            }
        }

        impl OwnedReadHalf {
            pub(in crate::net) fn new(stream: Arc<$Stream>) -> OwnedReadHalf {
                OwnedReadHalf { stream }
            }

            /// Puts the two halves together again.
            ///
            /// # Errors
            /// If the halves are of different streams; the error contains them.
            pub fn reunite(self, write: OwnedWriteHalf) -> Result<$Stream, ReuniteError> {
                if !Arc::ptr_eq(&self.stream, &write.stream) {
                    return Err(ReuniteError(self, write));
                }
                write.forget();
                match Arc::try_unwrap(self.stream) {
                    Ok(stream) => Ok(stream),
                    Err(_) => unreachable!("a stream has two halves"),
                }
            }
        }

        impl OwnedWriteHalf {
            pub(in crate::net) fn new(stream: Arc<$Stream>) -> OwnedWriteHalf {
                OwnedWriteHalf { stream, ends_on_drop: true }
            }

            /// Puts the two halves together again.
            ///
            /// # Errors
            /// If the halves are of different streams; the error contains them.
            pub fn reunite(self, read: OwnedReadHalf) -> Result<$Stream, ReuniteError> {
                read.reunite(self)
            }

            /// Drops the half without shutting down the write direction.
            pub fn forget(mut self) {
                self.ends_on_drop = false;
            }
        }

        impl Drop for OwnedWriteHalf {
            fn drop(&mut self) {
                if self.ends_on_drop {
                    // A drop cannot return the error.
                    let _ = self.stream.end(Shutdown::Write);
                }
            }
        }

        impl AsRef<$Stream> for ReadHalf<'_> {
            fn as_ref(&self) -> &$Stream {
                self.0
            }
        }

        impl AsRef<$Stream> for WriteHalf<'_> {
            fn as_ref(&self) -> &$Stream {
                self.0
            }
        }

        impl AsRef<$Stream> for OwnedReadHalf {
            fn as_ref(&self) -> &$Stream {
                &self.stream
            }
        }

        impl AsRef<$Stream> for OwnedWriteHalf {
            fn as_ref(&self) -> &$Stream {
                &self.stream
            }
        }

        crate::net::split::reads!($Stream, ReadHalf<'_>, OwnedReadHalf);
        crate::net::split::addresses!($Stream, $Address, ReadHalf<'_>, OwnedReadHalf);
        crate::net::split::writes!($Stream, WriteHalf<'_>, OwnedWriteHalf);
        crate::net::split::addresses!($Stream, $Address, WriteHalf<'_>, OwnedWriteHalf);
    };
}

/// Methods of halves that read.
macro_rules! reads {
    ($Stream:ident, $($Half:ty),*) => {$(
        impl $Half {
            /// Works like `ready` of the stream.
            ///
            /// # Errors
            /// If the runtime that the stream was made in has ended.
            pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
                AsRef::<$Stream>::as_ref(self).ready(interest).await
            }

            /// Works like `readable` of the stream.
            ///
            /// # Errors
            /// If the runtime that the stream was made in has ended.
            pub async fn readable(&self) -> io::Result<()> {
                AsRef::<$Stream>::as_ref(self).readable().await
            }

            /// Works like `try_read` of the stream.
            ///
            /// # Errors
            /// Fails as `try_read` of the stream does.
            pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
                AsRef::<$Stream>::as_ref(self).try_read(buf)
            }

            /// Works like `try_read_vectored` of the stream.
            ///
            /// # Errors
            /// Fails as `try_read` of the stream does.
            pub fn try_read_vectored(&self, bufs: &mut [io::IoSliceMut<'_>]) -> io::Result<usize> {
                AsRef::<$Stream>::as_ref(self).try_read_vectored(bufs)
            }

            /// Works like `try_read_buf` of the stream.
            ///
            /// # Errors
            /// Fails as `try_read` of the stream does.
            pub fn try_read_buf<B: bytes::BufMut>(&self, buf: &mut B) -> io::Result<usize> {
                AsRef::<$Stream>::as_ref(self).try_read_buf(buf)
            }
        }

        impl AsyncRead for $Half {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                AsRef::<$Stream>::as_ref(&*self).poll_receive(cx, buf).map_ok(drop)
            }
        }
    )*};
}

/// Methods of halves that write.
macro_rules! writes {
    ($Stream:ident, $($Half:ty),*) => {$(
        impl $Half {
            /// Works like `ready` of the stream.
            ///
            /// # Errors
            /// If the runtime that the stream was made in has ended.
            pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
                AsRef::<$Stream>::as_ref(self).ready(interest).await
            }

            /// Works like `writable` of the stream.
            ///
            /// # Errors
            /// If the runtime that the stream was made in has ended.
            pub async fn writable(&self) -> io::Result<()> {
                AsRef::<$Stream>::as_ref(self).writable().await
            }

            /// Works like `try_write` of the stream.
            ///
            /// # Errors
            /// Fails as `try_write` of the stream does.
            pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
                AsRef::<$Stream>::as_ref(self).try_write(buf)
            }

            /// Works like `try_write_vectored` of the stream.
            ///
            /// # Errors
            /// Fails as `try_write` of the stream does.
            pub fn try_write_vectored(&self, bufs: &[io::IoSlice<'_>]) -> io::Result<usize> {
                AsRef::<$Stream>::as_ref(self).try_write_vectored(bufs)
            }
        }

        impl AsyncWrite for $Half {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                AsRef::<$Stream>::as_ref(&*self).poll_send(cx, buf)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[io::IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                AsRef::<$Stream>::as_ref(&*self).poll_send_vectored(cx, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(AsRef::<$Stream>::as_ref(&*self).end(Shutdown::Write))
            }
        }
    )*};
}

/// The addresses of a half.
macro_rules! addresses {
    ($Stream:ident, $Address:path, $($Half:ty),*) => {$(
        impl $Half {
            /// Returns the local address.
            ///
            /// # Errors
            /// If the system reports an error.
            pub fn local_addr(&self) -> io::Result<$Address> {
                AsRef::<$Stream>::as_ref(self).local_addr()
            }

            /// Returns the peer's address.
            ///
            /// # Errors
            /// If the system reports an error.
            pub fn peer_addr(&self) -> io::Result<$Address> {
                AsRef::<$Stream>::as_ref(self).peer_addr()
            }
        }
    )*};
}

pub(super) use {addresses, halves, reads, writes};
