//! io_uring: operations that the system runs by itself and completes later.
//!
//! ```text
//!  a file or socket ─▶ Uring::start ─▶ submission queue … completion queue ─▶ Uring::collect
//!        ▲                  │ puts the buffer into a slot                       │ notes the result
//!        └── result, buffer ┴─────────────── Op ◀── woken by the driver ◀───────┘
//! ```
//!
//! The reactor watches the ring's descriptor, so completions wake the worker that sleeps in the
//! driver, as other events do.
//!
//! # What is guaranteed
//! - **Buffers.** While an operation is under way its buffer belongs to the system. It lies in a
//!   slot and is freed or returned only after the operation's completion was collected, even if its
//!   future is gone. A buffer whose completion cannot be collected any more is never freed.
//! - **Submission.** When `Uring::start` returns, the system has taken the operation, or will never
//!   take it. So its descriptor need not stay open any longer, and a returned buffer belongs to the
//!   caller alone.
//! - **Completions.** None is lost, however many come at once: the system keeps completions that
//!   find the queue full, and they are fetched when the queue has been drained. If the system has
//!   no memory for that it counts lost completions, and then every operation under way fails.
//! - **Cancellations.** A cancellation cancels the operation that it was sent for, or nothing. If
//!   the system itself gives an operation up, because the thread that began it has ended, the
//!   operation is begun again.
//! - **Positions.** A file that has a position is read and written at offsets that `fs` names, and
//!   `fs` moves the position. The system would not move it for an operation that it gives up
//!   half-way. Only a write that appends names no offset.
//! - **The end of the pool.** The pool waits for file writes under way. If the system gives a write
//!   up, because the worker that began it has ended, the last worker writes the rest. All other
//!   operations are cancelled: a read that never returns, for example from a FIFO, does not keep
//!   the pool alive, and no connection is accepted afterwards. The tasks that wait for them get an
//!   error before the pool waits for writes, and buffers come back.
//! - **Wakers.** None is cloned, called or dropped under a lock.
//! - **A system that forbids io_uring later**, by a filter of system calls for example, breaks the
//!   ring: it takes no more operations. Files go on with threads and sockets with readiness.
//!   Operations under way still complete. But if more completions come at once than the queue
//!   holds, the rest is lost, and every operation under way fails.

#[cfg(all(target_os = "linux", feature = "io-uring"))]
mod peer;
#[cfg(all(target_os = "linux", feature = "io-uring"))]
mod ring;
#[cfg(not(all(target_os = "linux", feature = "io-uring")))]
#[path = "none.rs"]
mod ring;
#[cfg(all(target_os = "linux", feature = "io-uring"))]
mod slots;

mod accepting;

pub(crate) use accepting::Accepting;
pub(crate) use ring::Uring;

use std::io;

/// How often to restart an operation that the system cancelled because its thread has ended. After
/// so many restarts the operation returns the error.
const RESTARTS: u32 = 8;

/// The result of an operation, and its buffer.
pub(crate) type Outcome = (io::Result<usize>, Vec<u8>);

/// The result of an operation; or its buffer, if it was not begun because the ring takes no more
/// operations. Then the caller does without the ring.
pub(crate) type Attempt = Result<Outcome, Vec<u8>>;
