//! Standard output and standard error.
//!
//! Each write goes with its bytes to a blocking thread of the pool, and the next write waits for
//! it. The pool's end waits for writes that have begun. So no such write is lost, but a pipe whose
//! reader stops reading delays the end.

#![forbid(unsafe_code)]

use crate::borrowed::AsyncWrite;
use blitz_core::{JoinHandle, spawn_blocking};
use std::fmt;
use std::future::Future;
use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The most bytes that one write takes.
const PIECE: usize = 64 << 10;

/// Returns a writer to standard output that does not block a worker.
///
/// A call waits for the write before it, starts its own write and returns. `flush` waits for the
/// last write. One call writes at most 64 KiB. No bytes of another handle come between the bytes of
/// one call.
///
/// ```
/// use blitz::io::AsyncWriteExt;
///
/// # blitz::block_on(async {
/// let mut out = blitz::io::stdout();
/// out.write_all(b"hello\n").await?;
/// out.flush().await?;
/// # Ok::<(), std::io::Error>(())
/// # }).unwrap();
/// ```
#[must_use]
pub fn stdout() -> Stdout {
    Stdout(Output::new(|bytes| {
        let mut out = io::stdout().lock();
        out.write_all(bytes).and_then(|()| out.flush())
    }))
}

/// Returns a writer to standard error that does not block a worker.
///
/// See [`stdout`].
///
/// ```
/// use blitz::io::AsyncWriteExt;
///
/// # blitz::block_on(async {
/// blitz::io::stderr().write_all(b"").await?;
/// # Ok::<(), std::io::Error>(())
/// # }).unwrap();
/// ```
#[must_use]
pub fn stderr() -> Stderr {
    Stderr(Output::new(|bytes| io::stderr().lock().write_all(bytes)))
}

/// Standard output: see [`stdout`].
pub struct Stdout(Output);

/// Standard error: see [`stderr`].
pub struct Stderr(Output);

/// Standard output or standard error.
struct Output {
    write: fn(&[u8]) -> io::Result<()>,
    /// The write that is on its way.
    busy: Option<JoinHandle<io::Result<()>>>,
}

impl Output {
    fn new(write: fn(&[u8]) -> io::Result<()>) -> Output {
        Output { write, busy: None }
    }

    /// Waits for the last write, and returns its error.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(busy) = &mut self.busy else { return Poll::Ready(Ok(())) };
        let ended = ready!(Pin::new(busy).poll(cx));
        self.busy = None;
        Poll::Ready(ended.unwrap_or_else(|error| Err(io::Error::other(error))))
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_idle(cx))?;
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let piece = bytes[..bytes.len().min(PIECE)].to_vec();
        let (write, length) = (self.write, piece.len());
        let busy = self.busy.insert(spawn_blocking(move || write(&piece)));
        if busy.is_finished() {
            // A pool that ends refuses the write: report that now.
            if let Poll::Ready(Err(error)) = self.poll_idle(cx) {
                return Poll::Ready(Err(error));
            }
        }
        Poll::Ready(Ok(length))
    }
}

/// Passes the calls of a handle on to its output.
macro_rules! passes_on {
    ($handle:ident) => {
        impl AsyncWrite for $handle {
            fn poll_write(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.0.poll_write(cx, bytes)
            }

            fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.0.poll_idle(cx)
            }

            fn poll_shutdown(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
            ) -> Poll<io::Result<()>> {
                self.0.poll_idle(cx)
            }
        }

        impl fmt::Debug for $handle {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($handle)).field("busy", &self.0.busy.is_some()).finish()
            }
        }
    };
}

passes_on!(Stdout);
passes_on!(Stderr);
