//! Methods that all streams of bytes have.

/// Methods and traits of a stream with a field `io: Registration<…>`. The literal creates a
/// connected pair, `here` and `there`, for the examples. The last argument says whether a short
/// read means that the socket holds no more bytes. That is true for TCP. A read from a Unix socket
/// also stops where descriptors were sent with the bytes.
macro_rules! stream {
    ($Stream:ident, $pair:literal, $short_means_over:literal) => {
        impl $Stream {
            /// Reads available bytes without waiting; returns 0 at the end of the stream.
            ///
            /// ```
            /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
            #[doc = $pair]
            /// here.try_write(b"hello")?;
            /// let mut buf = [0; 16];
            /// let count = loop {
            ///     there.readable().await?;
            ///     match there.try_read(&mut buf) {
            ///         Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
            ///         result => break result?,
            ///     }
            /// };
            /// assert_eq!(&buf[..count], b"hello");
            /// # Ok(()) }) }
            /// ```
            ///
            /// # Errors
            /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if nothing is there, or the error
            /// of the system.
            pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
                let mut buf = ReadBuf::new(buf);
                self.io.try_io(Interest::READABLE, |socket| transfer::receive(socket, &mut buf))
            }

            /// Works like [`try_read`](Self::try_read), into several buffers.
            ///
            /// # Errors
            /// Fails as [`try_read`](Self::try_read) does.
            pub fn try_read_vectored(&self, bufs: &mut [io::IoSliceMut<'_>]) -> io::Result<usize> {
                self.io.try_io(Interest::READABLE, |mut socket| socket.read_vectored(bufs))
            }

            /// Works like [`try_read`](Self::try_read), into a buffer that grows.
            ///
            /// ```
            /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
            #[doc = $pair]
            /// here.try_write(b"hello")?;
            /// let mut buf = Vec::with_capacity(16);
            /// let readable = blitz::io::Interest::READABLE;
            /// there.async_io(readable, || there.try_read_buf(&mut buf)).await?;
            /// assert_eq!(buf, b"hello");
            /// # Ok(()) }) }
            /// ```
            ///
            /// # Errors
            /// Fails as [`try_read`](Self::try_read) does.
            pub fn try_read_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
                self.io.try_io(Interest::READABLE, |socket| transfer::receive_buf(socket, buf))
            }

            /// Writes as many bytes as there is room for, without waiting; returns their number.
            ///
            /// ```
            /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
            #[doc = $pair]
            /// here.writable().await?;
            /// assert_eq!(here.try_write(b"hello")?, 5);
            /// # drop(there);
            /// # Ok(()) }) }
            /// ```
            ///
            /// # Errors
            /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if there is no room, or the error
            /// of the system.
            pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
                self.io.try_io(Interest::WRITABLE, |socket| transfer::send(socket, buf))
            }

            /// Works like [`try_write`](Self::try_write), from several buffers; the system takes at
            /// most 1,024 at once.
            ///
            /// # Errors
            /// Fails as [`try_write`](Self::try_write) does.
            pub fn try_write_vectored(&self, bufs: &[io::IoSlice<'_>]) -> io::Result<usize> {
                self.io.try_io(Interest::WRITABLE, |socket| transfer::send_vectored(socket, bufs))
            }

            /// Splits the stream into a half that reads and a half that writes, for one task.
            ///
            /// ```
            /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
            /// use blitz::io::{AsyncReadExt, AsyncWriteExt};
            #[doc = $pair]
            /// # let mut here = here;
            /// # let mut there = there;
            /// let (mut read, mut write) = here.split();
            /// write.write_all(b"ping").await?;
            /// there.write_all(b"pong").await?;
            /// let mut buf = [0; 4];
            /// read.read_exact(&mut buf).await?;
            /// assert_eq!(&buf, b"pong");
            /// # Ok(()) }) }
            /// ```
            pub fn split(&mut self) -> (ReadHalf<'_>, WriteHalf<'_>) {
                (ReadHalf::new(self), WriteHalf::new(self))
            }

            /// Splits the stream into a half that reads and a half that writes, for different
            /// tasks. Dropping the write half shuts down the write direction.
            ///
            /// ```
            /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
            /// use blitz::io::{AsyncReadExt, AsyncWriteExt};
            #[doc = $pair]
            /// # let mut there = there;
            /// let (read, mut write) = here.into_split();
            /// let writer = blitz::spawn(async move {
            ///     write.write_all(b"all there is").await?;
            ///     std::io::Result::Ok(write)
            /// });
            /// let write = writer.await.unwrap()?;
            /// let whole = read.reunite(write).unwrap();
            /// drop(whole);
            /// let mut text = String::new();
            /// there.read_to_string(&mut text).await?;
            /// assert_eq!(text, "all there is");
            /// # Ok(()) }) }
            /// ```
            pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
                let stream = Arc::new(self);
                (OwnedReadHalf::new(stream.clone()), OwnedWriteHalf::new(stream))
            }

            pub(in crate::net) fn poll_receive(
                &self,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<usize>> {
                let room = buf.remaining();
                let attempt = |socket: &_| transfer::receive(socket, buf);
                if $short_means_over {
                    self.io.poll_transfer(cx, Interest::READABLE, room, attempt)
                } else {
                    let mut attempt = attempt;
                    self.io.poll_io(cx, Interest::READABLE, |socket| attempt(socket))
                }
            }

            pub(in crate::net) fn poll_send(
                &self,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                let attempt = |socket: &_| transfer::send(socket, buf);
                self.io.poll_transfer(cx, Interest::WRITABLE, buf.len(), attempt)
            }

            pub(in crate::net) fn poll_send_vectored(
                &self,
                cx: &mut Context<'_>,
                bufs: &[io::IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                let bufs = transfer::first_of(bufs);
                let room = transfer::length(bufs);
                let attempt = |socket: &_| transfer::send_vectored(socket, bufs);
                self.io.poll_transfer(cx, Interest::WRITABLE, room, attempt)
            }

            /// Ends one direction or both. Does nothing for a stream that is not connected any
            /// more.
            pub(in crate::net) fn end(&self, how: Shutdown) -> io::Result<()> {
                match self.io.get().shutdown(how) {
                    Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
                    result => result,
                }
            }
        }

        impl AsyncRead for $Stream {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                self.poll_receive(cx, buf).map_ok(drop)
            }
        }

        impl AsyncWrite for $Stream {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.poll_send(cx, buf)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[io::IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.poll_send_vectored(cx, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                // Nothing is buffered here: the system has all written bytes.
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.end(Shutdown::Write))
            }
        }
    };
}

pub(super) use stream;
