//! Any descriptor that the system can poll.

#![forbid(unsafe_code)]

use crate::driver;
use crate::io::{Interest, Ready};
use crate::poll::Registration;
use blitz_parts::readiness::{Evidence, Sight};
use mio::event::Source;
use mio::unix::SourceFd;
use mio::{Registry, Token};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::task::{Context, Poll, ready};

/// A descriptor of any kind, for example from a C library, whose readiness tasks can await.
///
/// The descriptor must be non-blocking, and the same runtime must not watch it in another way.
/// Wait, try, and clear the readiness if the attempt would have blocked:
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// use blitz::io::unix::AsyncFd;
/// use std::io::{Read, Write};
/// let (here, there) = std::os::unix::net::UnixStream::pair()?;
/// here.set_nonblocking(true)?;
/// let here = AsyncFd::new(here)?;
/// (&there).write_all(b"hello")?;
/// let mut buf = [0; 16];
/// let count = loop {
///     let mut guard = here.readable().await?;
///     match guard.try_io(|fd| fd.get_ref().read(&mut buf)) {
///         Ok(result) => break result?,
///         Err(_would_block) => continue,
///     }
/// };
/// assert_eq!(&buf[..count], b"hello");
/// # Ok(()) }) }
/// ```
pub struct AsyncFd<T: AsRawFd> {
    io: Registration<Descriptor<T>>,
}

/// Implements mio's `Source` for a descriptor.
struct Descriptor<T>(T);

impl<T: AsRawFd> Source for Descriptor<T> {
    fn register(
        &mut self,
        registry: &Registry,
        token: Token,
        interest: mio::Interest,
    ) -> io::Result<()> {
        SourceFd(&self.0.as_raw_fd()).register(registry, token, interest)
    }

    fn reregister(
        &mut self,
        registry: &Registry,
        token: Token,
        interest: mio::Interest,
    ) -> io::Result<()> {
        SourceFd(&self.0.as_raw_fd()).reregister(registry, token, interest)
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        SourceFd(&self.0.as_raw_fd()).deregister(registry)
    }
}

/// The readiness of an [`AsyncFd`] after a wait.
#[must_use = "clear the readiness if an attempt would have blocked, or the next wait ends at once"]
pub struct AsyncFdReadyGuard<'a, T: AsRawFd> {
    fd: &'a AsyncFd<T>,
    sight: Sight,
}

/// Works like [`AsyncFdReadyGuard`], with exclusive access to the descriptor.
#[must_use = "clear the readiness if an attempt would have blocked, or the next wait ends at once"]
pub struct AsyncFdReadyMutGuard<'a, T: AsRawFd> {
    fd: &'a mut AsyncFd<T>,
    sight: Sight,
}

const NOT_POLLED: &str =
    "the system cannot poll this descriptor; read and write files with spawn_blocking";

/// The error of a failed registration, with the descriptor that is not watched.
pub struct AsyncFdTryNewError<T> {
    inner: T,
    cause: io::Error,
}

impl<T> AsyncFdTryNewError<T> {
    /// Returns the descriptor and the reason why it is not watched.
    #[must_use = "the descriptor is closed if it is dropped"]
    pub fn into_parts(self) -> (T, io::Error) {
        (self.inner, self.cause)
    }
}

impl<T> fmt::Display for AsyncFdTryNewError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl<T> fmt::Debug for AsyncFdTryNewError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AsyncFdTryNewError").field(&self.cause).finish()
    }
}

impl<T> std::error::Error for AsyncFdTryNewError<T> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

impl<T> From<AsyncFdTryNewError<T>> for io::Error {
    fn from(error: AsyncFdTryNewError<T>) -> io::Error {
        error.cause
    }
}

/// The attempt would have blocked; the readiness is cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TryIoError(());

impl fmt::Display for TryIoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the attempt would have blocked: wait until the descriptor is ready again")
    }
}

impl std::error::Error for TryIoError {}

impl<T: AsRawFd> AsyncFd<T> {
    /// Makes the current runtime, else the global one, watch `inner`, which must be non-blocking.
    ///
    /// # Errors
    /// If the system cannot poll the descriptor (files, for example), or if the runtime has ended.
    pub fn new(inner: T) -> io::Result<AsyncFd<T>> {
        AsyncFd::with_interest(inner, Interest::READABLE | Interest::WRITABLE)
    }

    /// Works like [`new`](AsyncFd::new), for descriptors that work in one direction only, or are
    /// used in one direction only.
    ///
    /// # Errors
    /// Fails as [`new`](AsyncFd::new) does.
    pub fn with_interest(inner: T, interest: Interest) -> io::Result<AsyncFd<T>> {
        AsyncFd::try_with_interest(inner, interest).map_err(|error| error.cause)
    }

    /// Works like [`new`](AsyncFd::new), with an error that contains the descriptor.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// use blitz::io::unix::AsyncFd;
    /// let file = std::fs::File::open("Cargo.toml")?;
    /// let (file, error) = AsyncFd::try_new(file).unwrap_err().into_parts();
    /// assert!(file.metadata()?.is_file());
    /// assert!(error.to_string().contains("cannot poll"));
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// Fails as [`new`](AsyncFd::new) does.
    pub fn try_new(inner: T) -> Result<AsyncFd<T>, AsyncFdTryNewError<T>> {
        AsyncFd::try_with_interest(inner, Interest::READABLE | Interest::WRITABLE)
    }

    /// Works like [`with_interest`](AsyncFd::with_interest), with an error that contains the
    /// descriptor.
    ///
    /// # Errors
    /// Fails as [`new`](AsyncFd::new) does.
    pub fn try_with_interest(
        inner: T,
        interest: Interest,
    ) -> Result<AsyncFd<T>, AsyncFdTryNewError<T>> {
        match driver::try_watch_for(Descriptor(inner), interest) {
            Ok(io) => Ok(AsyncFd { io }),
            Err((Descriptor(inner), error)) => {
                let cause = match error.kind() {
                    // For a file or a folder the system returns only "not permitted".
                    kind @ io::ErrorKind::PermissionDenied => io::Error::new(kind, NOT_POLLED),
                    _ => error,
                };
                Err(AsyncFdTryNewError { inner, cause })
            }
        }
    }

    /// Returns the watched value.
    #[must_use]
    pub fn get_ref(&self) -> &T {
        &self.io.get().0
    }

    /// Returns a mutable reference to the watched value. Its descriptor must stay the same.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.io.get_mut().0
    }

    /// Stops watching the value and returns it.
    pub fn into_inner(self) -> T {
        // Ignore the error: a descriptor that was closed elsewhere is not watched any more.
        let (Descriptor(inner), _) = self.io.take();
        inner
    }

    /// Waits until an event of `interest` is ready. Any number of tasks may wait.
    ///
    /// # Errors
    /// If the runtime that watches the descriptor has ended.
    pub async fn ready(&self, interest: Interest) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        let sight = self.io.ready(interest).await?;
        Ok(AsyncFdReadyGuard { fd: self, sight })
    }

    /// Works like [`ready`](AsyncFd::ready), with exclusive access to the descriptor.
    ///
    /// # Errors
    /// If the runtime that watches the descriptor has ended.
    pub async fn ready_mut(
        &mut self,
        interest: Interest,
    ) -> io::Result<AsyncFdReadyMutGuard<'_, T>> {
        let sight = self.io.ready(interest).await?;
        Ok(AsyncFdReadyMutGuard { fd: self, sight })
    }

    /// Waits until a read may succeed.
    ///
    /// # Errors
    /// If the runtime that watches the descriptor has ended.
    pub async fn readable(&self) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        self.ready(Interest::READABLE).await
    }

    /// Works like [`readable`](AsyncFd::readable), with exclusive access to the descriptor.
    ///
    /// # Errors
    /// If the runtime that watches the descriptor has ended.
    pub async fn readable_mut(&mut self) -> io::Result<AsyncFdReadyMutGuard<'_, T>> {
        self.ready_mut(Interest::READABLE).await
    }

    /// Waits until a write may succeed.
    ///
    /// # Errors
    /// If the runtime that watches the descriptor has ended.
    pub async fn writable(&self) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        self.ready(Interest::WRITABLE).await
    }

    /// Works like [`writable`](AsyncFd::writable), with exclusive access to the descriptor.
    ///
    /// # Errors
    /// If the runtime that watches the descriptor has ended.
    pub async fn writable_mut(&mut self) -> io::Result<AsyncFdReadyMutGuard<'_, T>> {
        self.ready_mut(Interest::WRITABLE).await
    }

    /// Works like [`readable`](AsyncFd::readable), as a poll function. Only the task that polled
    /// last is woken.
    ///
    /// # Errors
    /// If the runtime that watches the descriptor has ended.
    pub fn poll_read_ready<'a>(
        &'a self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'a, T>>> {
        let sight = ready!(self.io.poll_ready(cx, Interest::READABLE))?;
        Poll::Ready(Ok(AsyncFdReadyGuard { fd: self, sight }))
    }

    /// Works like [`poll_read_ready`](AsyncFd::poll_read_ready), with exclusive access to the
    /// descriptor.
    ///
    /// # Errors
    /// If the runtime that watches the descriptor has ended.
    pub fn poll_read_ready_mut<'a>(
        &'a mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyMutGuard<'a, T>>> {
        let sight = ready!(self.io.poll_ready(cx, Interest::READABLE))?;
        Poll::Ready(Ok(AsyncFdReadyMutGuard { fd: self, sight }))
    }

    /// Works like [`poll_write_ready`](AsyncFd::poll_write_ready), with exclusive access to the
    /// descriptor.
    ///
    /// # Errors
    /// If the runtime that watches the descriptor has ended.
    pub fn poll_write_ready_mut<'a>(
        &'a mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyMutGuard<'a, T>>> {
        let sight = ready!(self.io.poll_ready(cx, Interest::WRITABLE))?;
        Poll::Ready(Ok(AsyncFdReadyMutGuard { fd: self, sight }))
    }

    /// Works like [`writable`](AsyncFd::writable), as a poll function. Only the task that polled
    /// last is woken.
    ///
    /// # Errors
    /// If the runtime that watches the descriptor has ended.
    pub fn poll_write_ready<'a>(
        &'a self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'a, T>>> {
        let sight = ready!(self.io.poll_ready(cx, Interest::WRITABLE))?;
        Poll::Ready(Ok(AsyncFdReadyGuard { fd: self, sight }))
    }

    /// Waits for `interest` and calls `attempt`. Repeats both while `attempt` returns
    /// [`WouldBlock`](io::ErrorKind::WouldBlock). Before the first event of the descriptor it calls
    /// `attempt` once without a wait.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// use blitz::io::{Interest, unix::AsyncFd};
    /// use std::io::Write;
    /// let (here, there) = std::os::unix::net::UnixStream::pair()?;
    /// here.set_nonblocking(true)?;
    /// let here = AsyncFd::new(here)?;
    /// here.async_io(Interest::WRITABLE, |mut stream| stream.write(b"hello")).await?;
    /// # drop(there);
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// The error of `attempt`, or an error if the runtime has ended.
    pub async fn async_io<R>(
        &self,
        interest: Interest,
        mut attempt: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.io.io(interest, |descriptor| attempt(&descriptor.0)).await
    }

    /// Calls `attempt`, unless the descriptor is known not to be ready.
    ///
    /// # Errors
    /// The error of `attempt`, or `WouldBlock`.
    pub fn try_io<R>(
        &self,
        interest: Interest,
        mut attempt: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.io.try_io(interest, |descriptor| attempt(&descriptor.0))
    }

    /// Works like [`async_io`](AsyncFd::async_io), with exclusive access to the descriptor, and
    /// waits before the first call, too.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// use blitz::io::{Interest, unix::AsyncFd};
    /// use std::io::{Read, Write};
    /// let (here, mut there) = std::os::unix::net::UnixStream::pair()?;
    /// here.set_nonblocking(true)?;
    /// let mut here = AsyncFd::new(here)?;
    /// there.write_all(b"hello")?;
    /// let mut buf = [0; 16];
    /// let count = here.async_io_mut(Interest::READABLE, |stream| stream.read(&mut buf)).await?;
    /// assert_eq!(&buf[..count], b"hello");
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// The error of `attempt`, or an error if the runtime has ended.
    pub async fn async_io_mut<R>(
        &mut self,
        interest: Interest,
        mut attempt: impl FnMut(&mut T) -> io::Result<R>,
    ) -> io::Result<R> {
        loop {
            let mut guard = self.ready_mut(interest).await?;
            match guard.try_io(|fd| attempt(fd.get_mut())) {
                Ok(result) => return result,
                Err(_would_block) => continue,
            }
        }
    }

    /// Works like [`try_io`](AsyncFd::try_io), with exclusive access to the descriptor.
    ///
    /// # Errors
    /// The error of `attempt`, or `WouldBlock`.
    pub fn try_io_mut<R>(
        &mut self,
        interest: Interest,
        mut attempt: impl FnMut(&mut T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.io.try_io_mut(interest, |descriptor| attempt(&mut descriptor.0))
    }
}

impl<T: AsRawFd> AsRawFd for AsyncFd<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.get_ref().as_raw_fd()
    }
}

impl<T: AsRawFd + AsFd> AsFd for AsyncFd<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.get_ref().as_fd()
    }
}

impl<T: AsRawFd + fmt::Debug> fmt::Debug for AsyncFd<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AsyncFd").field(self.get_ref()).finish()
    }
}

/// Defines the methods of both kinds of guard.
macro_rules! guard {
    ($Guard:ident) => {
        impl<T: AsRawFd> $Guard<'_, T> {
            /// Returns what was ready.
            #[must_use]
            pub fn ready(&self) -> Ready {
                self.sight.ready()
            }

            /// Clears the readiness after an attempt that would have blocked: the descriptor is not
            /// ready until the next event. Do not call this method after an attempt that succeeded,
            /// even if the attempt moved few bytes.
            ///
            /// ```
            /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
            /// use blitz::io::unix::AsyncFd;
            /// use std::io::{ErrorKind, Read, Write};
            /// use std::os::unix::net::UnixStream;
            ///
            /// let (mut there, here) = UnixStream::pair()?;
            /// here.set_nonblocking(true)?;
            /// let mut here = AsyncFd::new(here)?;
            /// there.write_all(b"one")?;
            /// let mut buffer = [0; 8];
            /// let mut guard = here.readable_mut().await?;
            /// assert_eq!(guard.get_inner_mut().read(&mut buffer)?, 3);
            /// let error = guard.get_inner_mut().read(&mut buffer).unwrap_err();
            /// assert_eq!(error.kind(), ErrorKind::WouldBlock);
            /// guard.clear_ready(); // the next wait is for the next message
            /// there.write_all(b"two")?;
            /// let mut guard = here.readable_mut().await?;
            /// assert_eq!(guard.get_inner_mut().read(&mut buffer)?, 3);
            /// # Ok(()) }) }
            /// ```
            pub fn clear_ready(&mut self) {
                self.fd.io.clear(self.sight, Evidence::WouldBlock);
            }

            /// Clears the readiness in the directions of `ready` only: see
            /// [`clear_ready`](Self::clear_ready).
            ///
            /// Call this method if an attempt in one direction would have blocked and the other
            /// direction was not tried.
            pub fn clear_ready_matching(&mut self, ready: Ready) {
                let before = self.ready();
                self.fd.io.clear(self.sight.only(ready), Evidence::WouldBlock);
                self.sight = self.sight.only(before - ready);
            }

            /// Passes the result of an attempt on; if it would have blocked, clears the readiness.
            fn unless_it_blocked<R>(
                &mut self,
                result: io::Result<R>,
            ) -> Result<io::Result<R>, TryIoError> {
                match result {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        self.clear_ready();
                        Err(TryIoError(()))
                    }
                    result => Ok(result),
                }
            }

            /// Keeps the descriptor ready: does nothing.
            pub fn retain_ready(&mut self) {}

            /// Returns the watched value.
            #[must_use]
            pub fn get_inner(&self) -> &T {
                self.fd.get_ref()
            }
        }

        impl<T: AsRawFd + fmt::Debug> fmt::Debug for $Guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut out = f.debug_struct(stringify!($Guard));
                out.field("fd", &self.fd).field("ready", &self.ready()).finish()
            }
        }
    };
}

guard!(AsyncFdReadyGuard);
guard!(AsyncFdReadyMutGuard);

impl<'a, T: AsRawFd> AsyncFdReadyGuard<'a, T> {
    /// Returns the descriptor that was waited for.
    #[must_use]
    pub fn get_ref(&self) -> &'a AsyncFd<T> {
        self.fd
    }

    /// Calls `attempt`; if it would have blocked, clears the readiness.
    ///
    /// # Errors
    /// If `attempt` would have blocked.
    pub fn try_io<R>(
        &mut self,
        attempt: impl FnOnce(&'a AsyncFd<T>) -> io::Result<R>,
    ) -> Result<io::Result<R>, TryIoError> {
        let result = attempt(self.fd);
        self.unless_it_blocked(result)
    }
}

impl<T: AsRawFd> AsyncFdReadyMutGuard<'_, T> {
    /// Returns the descriptor that was waited for.
    #[must_use]
    pub fn get_ref(&self) -> &AsyncFd<T> {
        self.fd
    }

    /// Returns the descriptor that was waited for.
    pub fn get_mut(&mut self) -> &mut AsyncFd<T> {
        self.fd
    }

    /// Returns the watched value. Its descriptor must stay the same.
    pub fn get_inner_mut(&mut self) -> &mut T {
        self.fd.get_mut()
    }

    /// Calls `attempt`; if it would have blocked, clears the readiness.
    ///
    /// # Errors
    /// If `attempt` would have blocked.
    pub fn try_io<R>(
        &mut self,
        attempt: impl FnOnce(&mut AsyncFd<T>) -> io::Result<R>,
    ) -> Result<io::Result<R>, TryIoError> {
        let result = attempt(self.fd);
        self.unless_it_blocked(result)
    }
}
