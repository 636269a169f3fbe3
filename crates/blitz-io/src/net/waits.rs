//! Methods that wait for readiness, for every socket.

/// Methods of a socket with a field `io: Registration<…>`. The literal creates a pair for the
/// examples, `here` and `there`, where `here` can write to `there`.
macro_rules! waits {
    ($Socket:ident, $pair:literal) => {
        impl $Socket {
            /// Waits until an operation of `interest` may succeed, and returns which. Any number of
            /// tasks may wait.
            ///
            /// An attempt may still return [`WouldBlock`](std::io::ErrorKind::WouldBlock): another
            /// task was faster, or the event was spurious.
            ///
            /// ```
            /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
            /// use blitz::io::Interest;
            #[doc = $pair]
            /// let ready = here.ready(Interest::READABLE | Interest::WRITABLE).await?;
            /// assert!(ready.is_writable());
            /// # drop(there);
            /// # Ok(()) }) }
            /// ```
            ///
            /// # Errors
            /// If the runtime that the socket was made in has ended.
            pub async fn ready(
                &self,
                interest: $crate::io::Interest,
            ) -> ::std::io::Result<$crate::io::Ready> {
                self.io.ready(interest).await.map(|sight| sight.ready())
            }

            /// Waits until a read may succeed: see [`ready`](Self::ready).
            ///
            /// # Errors
            /// If the runtime that the socket was made in has ended.
            pub async fn readable(&self) -> ::std::io::Result<()> {
                self.ready($crate::io::Interest::READABLE).await.map(drop)
            }

            /// Waits until a write may succeed: see [`ready`](Self::ready).
            ///
            /// # Errors
            /// If the runtime that the socket was made in has ended.
            pub async fn writable(&self) -> ::std::io::Result<()> {
                self.ready($crate::io::Interest::WRITABLE).await.map(drop)
            }

            /// Works like [`readable`](Self::readable), as a poll function. Only the task that
            /// polled last is woken.
            ///
            /// # Errors
            /// If the runtime that the socket was made in has ended.
            pub fn poll_read_ready(
                &self,
                cx: &mut ::std::task::Context<'_>,
            ) -> ::std::task::Poll<::std::io::Result<()>> {
                self.io.poll_ready(cx, $crate::io::Interest::READABLE).map_ok(drop)
            }

            /// Works like [`writable`](Self::writable), as a poll function. Only the task that
            /// polled last is woken.
            ///
            /// # Errors
            /// If the runtime that the socket was made in has ended.
            pub fn poll_write_ready(
                &self,
                cx: &mut ::std::task::Context<'_>,
            ) -> ::std::task::Poll<::std::io::Result<()>> {
                self.io.poll_ready(cx, $crate::io::Interest::WRITABLE).map_ok(drop)
            }

            /// Calls `attempt`, which uses the descriptor itself, unless the socket is known not to
            /// be ready. If `attempt` returns [`WouldBlock`](std::io::ErrorKind::WouldBlock), the
            /// readiness is cleared. So `attempt` must not return that error for other reasons.
            ///
            /// # Errors
            /// The error of `attempt`, or `WouldBlock`.
            pub fn try_io<R>(
                &self,
                interest: $crate::io::Interest,
                attempt: impl FnOnce() -> ::std::io::Result<R>,
            ) -> ::std::io::Result<R> {
                let mut attempt = Some(attempt);
                self.io.try_io(interest, |_| match attempt.take() {
                    Some(attempt) => attempt(),
                    None => Err(::std::io::ErrorKind::WouldBlock.into()),
                })
            }

            /// Waits for `interest` and calls `attempt`, which uses the descriptor itself. Repeats
            /// both while `attempt` returns [`WouldBlock`](std::io::ErrorKind::WouldBlock). Before
            /// the first event of the socket it calls `attempt` once without a wait.
            ///
            /// # Errors
            /// The error of `attempt`, or an error if the runtime has ended.
            pub async fn async_io<R>(
                &self,
                interest: $crate::io::Interest,
                mut attempt: impl FnMut() -> ::std::io::Result<R>,
            ) -> ::std::io::Result<R> {
                self.io.io(interest, |_| attempt()).await
            }

            /// Takes the pending error of this socket (`SO_ERROR`), if there is one.
            ///
            /// # Errors
            /// If the system reports an error.
            pub fn take_error(&self) -> ::std::io::Result<Option<::std::io::Error>> {
                self.io.get().take_error()
            }
        }
    };
}

pub(super) use waits;
