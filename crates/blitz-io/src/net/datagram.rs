//! Methods that all sockets for packets have.

/// Methods of a socket for packets with a field `io: Registration<mio::net::$Socket>`. Its
/// addresses are `$Address`, and its twin in the standard library is `$Std`. The literals document
/// what `recv` waits for, and which errors it returns.
macro_rules! datagram {
    ($Socket:ident, $Std:path, $Address:path, $waits_for:literal, $errors:literal) => {
        impl $Socket {
            fn of(socket: mio::net::$Socket) -> io::Result<$Socket> {
                Ok($Socket { io: driver::watch(socket)? })
            }

            /// Converts a socket of the standard library. Makes it non-blocking.
            ///
            /// # Errors
            /// If the system refuses, or if the runtime has ended.
            pub fn from_std(socket: $Std) -> io::Result<$Socket> {
                socket.set_nonblocking(true)?;
                $Socket::of(mio::net::$Socket::from_std(socket))
            }

            /// Converts this socket to one of the standard library. It stays non-blocking.
            ///
            /// # Errors
            /// If the system refuses.
            pub fn into_std(self) -> io::Result<$Std> {
                Ok(std::os::fd::OwnedFd::from(self.io.into_inner()?).into())
            }

            /// Returns the local address.
            ///
            /// # Errors
            /// If the system reports an error.
            pub fn local_addr(&self) -> io::Result<$Address> {
                self.io.get().local_addr()
            }

            /// Returns the address that the socket is connected to.
            ///
            /// # Errors
            /// If the socket is not connected.
            pub fn peer_addr(&self) -> io::Result<$Address> {
                self.io.get().peer_addr()
            }

            /// Sends a packet to the connected peer.
            ///
            /// # Errors
            /// If the system reports an error, or if the runtime has ended.
            pub async fn send(&self, buf: &[u8]) -> io::Result<usize> {
                self.io.io(Interest::WRITABLE, |socket| socket.send(buf)).await
            }

            /// Polls until the socket may be written to.
            ///
            /// Only the task that polled last is woken. An attempt may still have to wait.
            ///
            /// # Errors
            /// If the runtime has ended.
            pub fn poll_send_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.io.poll_ready(cx, Interest::WRITABLE).map_ok(drop)
            }

            /// Polls until the socket may be read from.
            ///
            /// Only the task that polled last is woken. An attempt may still have to wait.
            ///
            /// # Errors
            /// If the runtime has ended.
            pub fn poll_recv_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.io.poll_ready(cx, Interest::READABLE).map_ok(drop)
            }

            /// Works like [`send`](Self::send), unless it would have to wait.
            ///
            /// # Errors
            /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no room, or another error of
            /// the system.
            pub fn try_send(&self, buf: &[u8]) -> io::Result<usize> {
                self.io.try_io(Interest::WRITABLE, |socket| socket.send(buf))
            }

            /// Works like [`send`](Self::send), as a poll function. Only the task that polled last
            /// is woken.
            ///
            /// # Errors
            /// Fails as [`send`](Self::send) does.
            pub fn poll_send(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
                self.io.poll_io(cx, Interest::WRITABLE, |socket| socket.send(buf))
            }

            #[doc = $waits_for]
            ///
            /// # Errors
            #[doc = $errors]
            pub async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
                self.io.io(Interest::READABLE, |socket| socket.recv(buf)).await
            }

            /// Works like [`recv`](Self::recv), unless it would have to wait.
            ///
            /// # Errors
            /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no packet, or another error of
            /// the system.
            pub fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize> {
                self.io.try_io(Interest::READABLE, |socket| socket.recv(buf))
            }

            /// Works like [`recv`](Self::recv), as a poll function. Only the task that polled last
            /// is woken.
            ///
            /// # Errors
            /// Fails as [`recv`](Self::recv) does.
            pub fn poll_recv(
                &self,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                let free = buf.initialize_unfilled();
                let received = self.io.poll_io(cx, Interest::READABLE, |socket| socket.recv(free));
                buf.advance(ready!(received)?);
                Poll::Ready(Ok(()))
            }

            /// Waits for a packet; returns its length and its sender.
            ///
            /// If the future is dropped no packet is lost.
            ///
            /// # Errors
            /// If the system reports an error, or if the runtime has ended.
            pub async fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, $Address)> {
                self.io.io(Interest::READABLE, |socket| socket.recv_from(buf)).await
            }

            /// Works like [`recv_from`](Self::recv_from), unless it would have to wait.
            ///
            /// # Errors
            /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no packet, or another error of
            /// the system.
            pub fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, $Address)> {
                self.io.try_io(Interest::READABLE, |socket| socket.recv_from(buf))
            }

            /// Works like [`recv_from`](Self::recv_from), as a poll function. Only the task that
            /// polled last is woken.
            ///
            /// # Errors
            /// Fails as [`recv_from`](Self::recv_from) does.
            pub fn poll_recv_from(
                &self,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<$Address>> {
                let free = buf.initialize_unfilled();
                let received =
                    self.io.poll_io(cx, Interest::READABLE, |socket| socket.recv_from(free));
                let (count, from) = ready!(received)?;
                buf.advance(count);
                Poll::Ready(Ok(from))
            }
        }
    };
}

pub(super) use datagram;
