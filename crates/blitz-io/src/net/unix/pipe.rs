//! Pipes between processes, or within one: [`pipe`], and [`OpenOptions`] for those with a path.
//!
//! ```
//! # fn main() -> std::io::Result<()> { blitz::block_on(async {
//! use blitz::io::{AsyncReadExt, AsyncWriteExt};
//! let (mut sender, mut receiver) = blitz::net::unix::pipe::pipe()?;
//! sender.write_all(b"hello").await?;
//! drop(sender);
//! let mut text = String::new();
//! receiver.read_to_string(&mut text).await?;
//! assert_eq!(text, "hello");
//! # Ok(()) }) }
//! ```

#![forbid(unsafe_code)]

use crate::borrowed::{AsyncRead, AsyncWrite, ReadBuf};
use crate::driver;
use crate::io::{Interest, Ready};
use crate::net::descriptor::descriptor;
use crate::poll::Registration;
use crate::transfer;
use bytes::BufMut;
use mio::unix::pipe as system;
use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat};
use std::fs::{File, OpenOptions as FileOptions};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Makes a pipe without a path.
///
/// # Errors
/// If the system refuses, or if the runtime has ended.
pub fn pipe() -> io::Result<(Sender, Receiver)> {
    let (sender, receiver) = system::new()?;
    Ok((Sender::watched(sender)?, Receiver::watched(receiver)?))
}

/// Options for opening a FIFO, a pipe with a path.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// use blitz::io::{AsyncReadExt, AsyncWriteExt};
/// use blitz::net::unix::pipe::OpenOptions;
/// # let path = std::env::temp_dir().join(format!("blitz-doc-{}.fifo", std::process::id()));
/// # assert!(std::process::Command::new("mkfifo").arg(&path).status()?.success());
/// let mut receiver = OpenOptions::new().open_receiver(&path)?;
/// let mut sender = OpenOptions::new().open_sender(&path)?;
/// sender.write_all(b"hello").await?;
/// let mut text = [0; 5];
/// receiver.read_exact(&mut text).await?;
/// assert_eq!(&text, b"hello");
/// # std::fs::remove_file(&path)
/// # }) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    read_write: bool,
    unchecked: bool,
}

impl OpenOptions {
    /// Creates options that open one direction, and check that the file is a pipe.
    #[must_use]
    pub fn new() -> OpenOptions {
        OpenOptions::default()
    }

    /// Opens for both directions, so that a sender can be opened before a receiver.
    ///
    /// The receiver then sees no end when the last sender is closed. Linux can open a FIFO like
    /// this; other systems may refuse it.
    pub fn read_write(&mut self, value: bool) -> &mut OpenOptions {
        self.read_write = value;
        self
    }

    /// Does not check that the file is a pipe.
    pub fn unchecked(&mut self, value: bool) -> &mut OpenOptions {
        self.unchecked = value;
        self
    }

    /// Opens the end that reads. A sender need not be there yet.
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if the file is not a pipe. Another error if
    /// the system reports one, or if the runtime has ended.
    pub fn open_receiver<P: AsRef<Path>>(&self, path: P) -> io::Result<Receiver> {
        let file = self.open(FileOptions::new().read(true).write(self.read_write), path)?;
        Receiver::of(file.into(), !self.unchecked)
    }

    /// Opens the end that writes.
    ///
    /// # Errors
    /// `ENXIO` if no receiver is there, [`InvalidInput`](io::ErrorKind::InvalidInput) if the file
    /// is not a pipe. Another error if the system reports one, or if the runtime has ended.
    pub fn open_sender<P: AsRef<Path>>(&self, path: P) -> io::Result<Sender> {
        let file = self.open(FileOptions::new().write(true).read(self.read_write), path)?;
        Sender::of(file.into(), !self.unchecked)
    }

    /// Opens without waiting for the other end, which would block the thread.
    fn open<P: AsRef<Path>>(&self, options: &mut FileOptions, path: P) -> io::Result<File> {
        options.custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)
    }
}

/// The writing end of a pipe: [`AsyncWrite`]. When no process has a sender any more, the receiver
/// reads the end of the data.
#[derive(Debug)]
pub struct Sender {
    io: Registration<system::Sender>,
}

/// The reading end of a pipe: [`AsyncRead`]. It reads the end of the data when no process has a
/// sender any more.
#[derive(Debug)]
pub struct Receiver {
    io: Registration<system::Receiver>,
}

descriptor!(Sender, Receiver);

/// Defines the methods of an end. The last arguments are the access that only the other end has,
/// and the operations of this end.
macro_rules! end {
    ($End:ident, $interest:expr, $other_access:expr, $for_what:literal) => {
        impl $End {
            pub(crate) fn watched(end: system::$End) -> io::Result<$End> {
                Ok($End { io: driver::watch_for(end, $interest)? })
            }

            fn of(fd: OwnedFd, checked: bool) -> io::Result<$End> {
                if checked {
                    let is_pipe = FileType::from_raw_mode(fstat(&fd)?.st_mode) == FileType::Fifo;
                    let access = fcntl_getfl(&fd)? & OFlags::ACCMODE;
                    if !is_pipe {
                        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a pipe"));
                    }
                    if access == $other_access {
                        let what = concat!("the pipe is not open for ", $for_what);
                        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
                    }
                }
                let end = system::$End::from(fd);
                end.set_nonblocking(true)?;
                $End::watched(end)
            }

            /// Converts a file that is a pipe. Makes it non-blocking.
            ///
            /// # Errors
            /// [`InvalidInput`](io::ErrorKind::InvalidInput) if the file is not a pipe, or is open
            /// for the other direction only. Another error if the runtime has ended.
            pub fn from_file(file: File) -> io::Result<$End> {
                $End::of(file.into(), true)
            }

            /// Works like [`from_file`](Self::from_file), for a descriptor.
            ///
            /// ```
            /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
            /// use blitz::io::{AsyncReadExt, AsyncWriteExt};
            /// use blitz::net::unix::pipe::{Receiver, Sender};
            /// use std::process::{Command, Stdio};
            ///
            /// // A child of the standard library, whose pipes a task reads and writes.
            /// let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
            /// let mut to = Sender::from_owned_fd(child.stdin.take().unwrap().into())?;
            /// let mut from = Receiver::from_owned_fd(child.stdout.take().unwrap().into())?;
            /// to.write_all(b"hello").await?;
            /// drop(to); // closes the child's input
            /// let mut text = String::new();
            /// from.read_to_string(&mut text).await?;
            /// assert_eq!(text, "hello");
            /// child.wait()?;
            /// # Ok(()) }) }
            /// ```
            ///
            /// # Errors
            /// Fails as [`from_file`](Self::from_file) does.
            pub fn from_owned_fd(fd: OwnedFd) -> io::Result<$End> {
                $End::of(fd, true)
            }

            /// Works like [`from_file`](Self::from_file), without a check.
            ///
            /// # Errors
            /// If the system cannot poll the file, or if the runtime has ended.
            pub fn from_file_unchecked(file: File) -> io::Result<$End> {
                $End::of(file.into(), false)
            }

            /// Works like [`from_owned_fd`](Self::from_owned_fd), without a check.
            ///
            /// # Errors
            /// Fails as [`from_file_unchecked`](Self::from_file_unchecked) does.
            pub fn from_owned_fd_unchecked(fd: OwnedFd) -> io::Result<$End> {
                $End::of(fd, false)
            }

            /// Waits until an operation of `interest` may succeed, and returns which.
            ///
            /// # Errors
            /// If the runtime that the pipe was made in has ended.
            pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
                self.io.ready(interest).await.map(|sight| sight.ready())
            }

            /// Calls `attempt`, which uses the descriptor itself, unless the pipe is known not to
            /// be ready.
            ///
            /// # Errors
            /// The error of `attempt`, or `WouldBlock`.
            pub fn try_io<R>(&self, attempt: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
                let mut attempt = Some(attempt);
                self.io.try_io($interest, |_| match attempt.take() {
                    Some(attempt) => attempt(),
                    None => Err(io::ErrorKind::WouldBlock.into()),
                })
            }

            /// Stops watching the descriptor, makes it blocking, and returns it.
            ///
            /// # Errors
            /// If the system refuses.
            pub fn into_blocking_fd(self) -> io::Result<OwnedFd> {
                let end = self.io.into_inner()?;
                end.set_nonblocking(false)?;
                Ok(end.into())
            }

            /// Stops watching the descriptor and returns it. It stays non-blocking.
            ///
            /// # Errors
            /// If the system refuses.
            pub fn into_nonblocking_fd(self) -> io::Result<OwnedFd> {
                Ok(self.io.into_inner()?.into())
            }
        }
    };
}

end!(Sender, Interest::WRITABLE, OFlags::RDONLY, "writes");
end!(Receiver, Interest::READABLE, OFlags::WRONLY, "reads");

impl Sender {
    /// Waits until a write may succeed.
    ///
    /// # Errors
    /// If the runtime that the pipe was made in has ended.
    pub async fn writable(&self) -> io::Result<()> {
        self.ready(Interest::WRITABLE).await.map(drop)
    }

    /// Works like [`writable`](Self::writable), as a poll function. Only the task that polled last
    /// is woken.
    ///
    /// # Errors
    /// If the runtime that the pipe was made in has ended.
    pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_ready(cx, Interest::WRITABLE).map_ok(drop)
    }

    /// Writes as much as there is room for, without waiting; returns how many bytes.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// let (sender, receiver) = blitz::net::unix::pipe::pipe()?;
    /// sender.writable().await?;
    /// assert_eq!(sender.try_write(b"hello")?, 5);
    /// # drop(receiver);
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no room, or another error of the
    /// system.
    pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        self.io.try_io(Interest::WRITABLE, |mut end| end.write(buf))
    }

    /// Works like [`try_write`](Self::try_write), from several buffers; the system takes at most
    /// 1,024 at once.
    ///
    /// # Errors
    /// Fails as [`try_write`](Self::try_write) does.
    pub fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let bufs = transfer::first_of(bufs);
        self.io.try_io(Interest::WRITABLE, |mut end| end.write_vectored(bufs))
    }
}

impl Receiver {
    /// Waits until a read may succeed.
    ///
    /// # Errors
    /// If the runtime that the pipe was made in has ended.
    pub async fn readable(&self) -> io::Result<()> {
        self.ready(Interest::READABLE).await.map(drop)
    }

    /// Works like [`readable`](Self::readable), as a poll function. Only the task that polled last
    /// is woken.
    ///
    /// # Errors
    /// If the runtime that the pipe was made in has ended.
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_ready(cx, Interest::READABLE).map_ok(drop)
    }

    /// Reads available bytes without waiting; returns 0 if no sender is left.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// let (sender, receiver) = blitz::net::unix::pipe::pipe()?;
    /// sender.try_write(b"hello")?;
    /// receiver.readable().await?;
    /// let mut buf = [0; 16];
    /// assert_eq!(receiver.try_read(&mut buf)?, 5);
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if nothing is there, or another error of the
    /// system.
    pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, |mut end| end.read(buf))
    }

    /// Works like [`try_read`](Self::try_read), into several buffers.
    ///
    /// # Errors
    /// Fails as [`try_read`](Self::try_read) does.
    pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, |mut end| end.read_vectored(bufs))
    }

    /// Works like [`try_read`](Self::try_read), into a buffer that grows.
    ///
    /// # Errors
    /// Fails as [`try_read`](Self::try_read) does.
    pub fn try_read_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, |end| transfer::read_buf(end.as_fd(), buf))
    }
}

impl AsyncRead for Receiver {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // A short read does not mean that there is no more: a sender may write packets
        // (`O_DIRECT`), and a read returns one packet.
        let attempt = |end: &system::Receiver| transfer::read(end, buf);
        self.io.poll_io(cx, Interest::READABLE, attempt).map_ok(drop)
    }
}

impl AsyncWrite for Sender {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.io.poll_transfer(cx, Interest::WRITABLE, buf.len(), |mut end| end.write(buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let bufs = transfer::first_of(bufs);
        let room = transfer::length(bufs);
        self.io.poll_transfer(cx, Interest::WRITABLE, room, |mut end| end.write_vectored(bufs))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Nothing is buffered here: the system has all written bytes.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A pipe ends only when its descriptor is closed.
        Poll::Ready(Ok(()))
    }
}
