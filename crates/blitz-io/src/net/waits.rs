//! Methods by which every socket waits.

/// Methods of a socket with a field `io: Registration<…>`. The literal makes a pair of them, `here`
/// and `there`, in which `here` can write to `there`.
macro_rules! waits {
    ($Socket:ident, $pair:literal) => {
        impl $Socket {
            /// Waits until something of `interest` is worth an attempt, and returns what. Any
            /// number of tasks may wait.
            ///
            /// An attempt may still block: another task was faster, or the event was spurious.
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

            /// Waits until a read is worth an attempt: see [`ready`](Self::ready).
            ///
            /// # Errors
            /// If the runtime that the socket was made in has ended.
            pub async fn readable(&self) -> ::std::io::Result<()> {
                self.ready($crate::io::Interest::READABLE).await.map(drop)
            }

            /// Waits until a write is worth an attempt: see [`ready`](Self::ready).
            ///
            /// # Errors
            /// If the runtime that the socket was made in has ended.
            pub async fn writable(&self) -> ::std::io::Result<()> {
                self.ready($crate::io::Interest::WRITABLE).await.map(drop)
            }

            /// As [`readable`](Self::readable), as a poll function. Only the newest task that polls
            /// is woken.
            ///
            /// # Errors
            /// If the runtime that the socket was made in has ended.
            pub fn poll_read_ready(
                &self,
                cx: &mut ::std::task::Context<'_>,
            ) -> ::std::task::Poll<::std::io::Result<()>> {
                self.io.poll_ready(cx, $crate::io::Interest::READABLE).map_ok(drop)
            }

            /// As [`writable`](Self::writable), as a poll function. Only the newest task that polls
            /// is woken.
            ///
            /// # Errors
            /// If the runtime that the socket was made in has ended.
            pub fn poll_write_ready(
                &self,
                cx: &mut ::std::task::Context<'_>,
            ) -> ::std::task::Poll<::std::io::Result<()>> {
                self.io.poll_ready(cx, $crate::io::Interest::WRITABLE).map_ok(drop)
            }

            /// Calls `attempt`, which uses the descriptor itself, unless it is known to block. If
            /// it returns [`WouldBlock`](std::io::ErrorKind::WouldBlock) the readiness is cleared,
            /// so it must not return that for other reasons.
            ///
            /// # Errors
            /// The error of `attempt`, or that it would block.
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

            /// Calls `attempt`, which uses the descriptor itself, until it does not return
            /// [`WouldBlock`](std::io::ErrorKind::WouldBlock).
            ///
            /// # Errors
            /// The error of `attempt`, or that the runtime has ended.
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
