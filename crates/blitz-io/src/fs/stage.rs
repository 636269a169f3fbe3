//! Tracks whether a file belongs to its task or to the one operation in flight.
//!
//! ```text
//!             read, write, seek, ask
//!   IDLE ───────────────────────▶ BUSY
//!    ▲   buffer goes along          │
//!    └──────────────────────────────┘
//!        buffer comes back; bytes that were read stay in it, an error of a write is kept
//! ```
//!
//! A dropped task leaves its operation in flight, and the next task that uses the file waits for
//! it. So bytes that were read for a dropped task are kept, and writes happen once, in order.

#![forbid(unsafe_code)]

use super::buffer::{Buffer, step_back};
use super::errand::Pending;
use crate::borrowed::ReadBuf;
use crate::borrowed::oneshot;
use crate::driver::uring_for_files;
use crate::uring::Uring;
use blitz_parts::tuning::FILE_BYTES_MAX;
use std::fs::File;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice, Seek, SeekFrom};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

/// The state of a file.
#[derive(Debug)]
pub(super) struct Stage {
    state: State,
    /// The error of a write that was reported to its task as successful.
    write_error: Option<io::Error>,
    /// The position after the last seek.
    position: u64,
    /// Whether a clone of the file shares its position. Then only threads read and write the file,
    /// because the system locks the position for threads but not for io_uring.
    pub(super) shares_position: bool,
    /// Bytes that one operation moves at most.
    pub(super) max: usize,
}

#[derive(Debug)]
enum State {
    Idle(Buffer),
    Busy(Pending<(Buffer, Outcome)>),
}

/// The result of an operation.
#[derive(Debug)]
enum Outcome {
    Read(io::Result<()>),
    Written(io::Result<()>),
    Sought(io::Result<u64>),
    Answered,
}

impl Default for Stage {
    fn default() -> Stage {
        let state = State::Idle(Buffer::default());
        let max = FILE_BYTES_MAX;
        Stage { state, write_error: None, position: 0, shares_position: false, max }
    }
}

impl Stage {
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        file: &Arc<File>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if to.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        loop {
            let outcome = ready!(self.poll_idle(cx));
            let State::Idle(buffer) = &mut self.state else { continue };
            if !buffer.is_empty() {
                buffer.give(to);
                return Poll::Ready(Ok(()));
            }
            match outcome {
                // No byte was read: the file is at its end, or the read has failed.
                Some(Outcome::Read(result)) => return Poll::Ready(result),
                _ => {
                    let max = to.remaining().min(self.max);
                    self.begin_read(file, max);
                }
            }
        }
    }

    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        file: &Arc<File>,
        from: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let _ = ready!(self.poll_idle(cx));
        if let Some(error) = self.write_error.take() {
            return Poll::Ready(Err(error));
        }
        let State::Idle(buffer) = &mut self.state else {
            unreachable!("nothing is in flight");
        };
        let ahead = buffer.len();
        let count = buffer.take(from, self.max);
        if count > 0 {
            self.begin_write(file, ahead);
        } else if ahead > 0 {
            self.begin(file, move |file, _| Outcome::Written(step_back(file, ahead)));
        }
        Poll::Ready(Ok(count))
    }

    /// Ready when the system has all written bytes.
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(Outcome::Sought(Err(error))) = ready!(self.poll_idle(cx)) {
            return Poll::Ready(Err(error));
        }
        Poll::Ready(self.write_error.take().map_or(Ok(()), Err))
    }

    /// Begins to seek. Call it only after [`poll_idle`](Stage::poll_idle) or
    /// [`poll_sought`](Stage::poll_sought).
    ///
    /// # Errors
    /// If something is in flight, or if the offset is out of range.
    pub(super) fn seek(&mut self, file: &Arc<File>, mut to: SeekFrom) -> io::Result<()> {
        let State::Idle(buffer) = &mut self.state else {
            return Err(io::Error::other("wait for the operation in flight before a seek"));
        };
        if let SeekFrom::Current(offset) = &mut to {
            // The system's position is ahead of the reader's, by the bytes in the buffer.
            *offset = offset.checked_sub(buffer.len() as i64).ok_or_else(out_of_range)?;
        }
        buffer.clear();
        self.begin(file, move |mut file, _| Outcome::Sought(file.seek(to)));
        Ok(())
    }

    /// Ready with the new position when the seek is over.
    pub(super) fn poll_sought(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        match ready!(self.poll_idle(cx)) {
            Some(Outcome::Sought(result)) => Poll::Ready(result),
            _ => Poll::Ready(Ok(self.position)),
        }
    }

    /// Waits until nothing is in flight.
    pub(super) async fn idle(&mut self) {
        let _ = poll_fn(|cx| self.poll_idle(cx)).await;
    }

    /// Waits until the system has all written bytes.
    pub(super) async fn flush(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_flush(cx)).await
    }

    /// Calls `question` on a blocking thread once nothing else is in flight; returns its answer.
    pub(super) async fn ask<T: Send + 'static>(
        &mut self,
        file: &Arc<File>,
        question: impl FnOnce(&File) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        self.idle().await;
        let (answer, mut answered) = oneshot::channel();
        self.begin(file, |file, _| {
            // The task that asked may be gone.
            let _ = answer.send(question(file));
            Outcome::Answered
        });
        self.idle().await;
        answered.try_recv().unwrap_or_else(|_| Err(panicked()))
    }

    /// Drops the bytes that were read ahead; returns how many.
    pub(super) fn discard(&mut self) -> usize {
        let State::Idle(buffer) = &mut self.state else { return 0 };
        let ahead = buffer.len();
        buffer.clear();
        ahead
    }

    /// Whether nothing is in flight and nothing was read ahead.
    pub(super) fn is_settled(&self) -> bool {
        matches!(&self.state, State::Idle(buffer) if buffer.is_empty())
    }

    /// Ready when nothing is in flight. Returns the outcome of the operation that has just ended,
    /// or `None` if none has. A write also returns `None`: its error is kept in `write_error`.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<Option<Outcome>> {
        let State::Busy(pending) = &mut self.state else { return Poll::Ready(None) };
        let (buffer, outcome) = match ready!(pending.poll(cx)) {
            Some(done) => done,
            None => (Buffer::default(), Outcome::Written(Err(panicked()))),
        };
        self.state = State::Idle(buffer);
        match outcome {
            Outcome::Written(result) => {
                // The first error is the cause of the others.
                self.write_error = self.write_error.take().or(result.err());
                return Poll::Ready(None);
            }
            Outcome::Sought(Ok(position)) => self.position = position,
            _ => {}
        }
        Poll::Ready(Some(outcome))
    }

    /// The ring to use, if any.
    fn uring(&self) -> Option<Arc<Uring>> {
        if self.shares_position { None } else { uring_for_files() }
    }

    fn begin_read(&mut self, file: &Arc<File>, max: usize) {
        let Some(uring) = self.uring() else {
            return self.begin(file, move |file, buffer| Outcome::Read(buffer.read(file, max)));
        };
        self.begin_here(file, move |file, buffer| async move {
            match buffer.read_by(&uring, &file, max).await {
                Ok((buffer, result)) => (buffer, Outcome::Read(result)),
                Err(buffer) => {
                    let read = move |file: &File, buffer: &mut Buffer| {
                        Outcome::Read(buffer.read(file, max))
                    };
                    elsewhere(file, buffer, read).await
                }
            }
        });
    }

    /// Steps `ahead` bytes back from the system's position, and writes the bytes in the buffer.
    fn begin_write(&mut self, file: &Arc<File>, ahead: usize) {
        let Some(uring) = self.uring() else {
            return self.begin(file, move |file, buffer| {
                // The next read must not return bytes that could not be written.
                let sought = step_back(file, ahead).inspect_err(|_| buffer.clear());
                Outcome::Written(sought.and_then(|()| buffer.write(file)))
            });
        };
        self.begin_here(file, move |file, mut buffer| async move {
            // This seek changes only a number in the system's memory, so it does not block.
            if let Err(error) = step_back(&file, ahead) {
                buffer.clear();
                return (buffer, Outcome::Written(Err(error)));
            }
            match buffer.write_by(&uring, &file).await {
                Ok((buffer, result)) => (buffer, Outcome::Written(result)),
                Err(buffer) => {
                    let write =
                        |file: &File, buffer: &mut Buffer| Outcome::Written(buffer.write(file));
                    elsewhere(file, buffer, write).await
                }
            }
        });
        // The write was reported as done, so it goes on even if the file is not used any more, or
        // is dropped.
        if self.poll_idle(&mut Context::from_waker(Waker::noop())).is_pending() {
            let state = std::mem::replace(&mut self.state, State::Idle(Buffer::default()));
            if let State::Busy(pending) = state {
                self.state = State::Busy(pending.drive());
            }
        }
    }

    fn take_buffer(&mut self) -> Buffer {
        match &mut self.state {
            State::Idle(buffer) => std::mem::take(buffer),
            State::Busy(_) => unreachable!("one operation at a time"),
        }
    }

    /// Begins `operation`, which the system runs by itself. No other operation is in flight.
    fn begin_here<F>(&mut self, file: &Arc<File>, operation: impl FnOnce(Arc<File>, Buffer) -> F)
    where
        F: Future<Output = (Buffer, Outcome)> + Send + 'static,
    {
        let buffer = self.take_buffer();
        self.state = State::Busy(Pending::Here(Box::pin(operation(file.clone(), buffer))));
    }

    /// Begins `operation`. No other operation is in flight.
    fn begin(
        &mut self,
        file: &Arc<File>,
        operation: impl FnOnce(&File, &mut Buffer) -> Outcome + Send + 'static,
    ) {
        let buffer = self.take_buffer();
        self.state = State::Busy(begin(file.clone(), buffer, operation));
    }
}

/// Begins `operation` on a thread where it may block.
fn begin(
    file: Arc<File>,
    mut buffer: Buffer,
    operation: impl FnOnce(&File, &mut Buffer) -> Outcome + Send + 'static,
) -> Pending<(Buffer, Outcome)> {
    Pending::new(move || {
        let outcome = operation(&file, &mut buffer);
        (buffer, outcome)
    })
}

/// Runs an operation that the ring did not take, on a thread where it may block.
async fn elsewhere(
    file: Arc<File>,
    buffer: Buffer,
    operation: impl FnOnce(&File, &mut Buffer) -> Outcome + Send + 'static,
) -> (Buffer, Outcome) {
    let mut pending = begin(file, buffer, operation);
    let done = poll_fn(|cx| pending.poll(cx)).await;
    done.unwrap_or_else(|| (Buffer::default(), Outcome::Written(Err(panicked()))))
}

#[cold]
fn panicked() -> io::Error {
    io::Error::other("the operation has panicked")
}

#[cold]
fn out_of_range() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "the offset to seek by is out of range")
}
