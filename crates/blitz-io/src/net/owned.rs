//! Transfers that take ownership of their buffer and return it. io_uring needs the ownership: the
//! system uses the buffer while the task does something else.

#![forbid(unsafe_code)]

use super::{TcpStream, UnixStream};
use crate::driver;
use crate::io::Interest;
use std::io;
use std::os::fd::AsFd;

/// Defines the methods. The literal creates a connected pair, `here` and `there`, for the examples.
macro_rules! owned {
    ($Stream:ident, $pair:literal) => {
        impl $Stream {
            /// Reads into `buffer`, up to its length; returns how many bytes, and the buffer.
            ///
            /// With [`Backend::IoUring`](crate::Backend::IoUring) the system fills the buffer by
            /// itself. With other backends this is an ordinary read. If the future is dropped
            /// early, received bytes may be lost: use [`AsyncRead`](crate::io::AsyncRead) where
            /// that matters.
            ///
            /// ```
            /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
            #[doc = $pair]
            /// let (sent, _) = here.send_owned(b"hello".to_vec()).await;
            /// assert_eq!(sent?, 5);
            /// let (received, buffer) = there.recv_owned(vec![0; 16]).await;
            /// assert_eq!(&buffer[..received?], b"hello");
            /// # Ok(()) }) }
            /// ```
            ///
            /// # Errors
            /// If the system reports an error, or if the runtime has ended. The buffer comes back
            /// with the error. It is empty only if io_uring had the buffer, and then was forbidden
            /// or had no memory.
            pub async fn recv_owned(&self, mut buffer: Vec<u8>) -> (io::Result<usize>, Vec<u8>) {
                if let Some(uring) = driver::uring_for_sockets() {
                    match uring.recv(self.as_fd(), buffer).await {
                        Ok(outcome) => return outcome,
                        Err(untouched) => buffer = untouched,
                    }
                }
                let read = self.async_io(Interest::READABLE, || self.try_read(&mut buffer));
                (read.await, buffer)
            }

            /// Writes `buffer`, or a part of it; returns how many bytes, and the buffer. See
            /// [`recv_owned`](Self::recv_owned).
            ///
            /// # Errors
            /// Fails as [`recv_owned`](Self::recv_owned) does.
            pub async fn send_owned(&self, mut buffer: Vec<u8>) -> (io::Result<usize>, Vec<u8>) {
                if let Some(uring) = driver::uring_for_sockets() {
                    match uring.send(self.as_fd(), buffer).await {
                        Ok(outcome) => return outcome,
                        Err(untouched) => buffer = untouched,
                    }
                }
                let write = self.async_io(Interest::WRITABLE, || self.try_write(&buffer));
                (write.await, buffer)
            }
        }
    };
}

owned!(
    TcpStream,
    " # let listener = blitz::net::TcpListener::bind(\"127.0.0.1:0\").await?;
 # let here = blitz::net::TcpStream::connect(listener.local_addr()?).await?;
 # let (there, _) = listener.accept().await?;"
);
owned!(UnixStream, " # let (here, there) = blitz::net::UnixStream::pair()?;");
