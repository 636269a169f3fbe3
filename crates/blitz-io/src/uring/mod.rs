//! io_uring: operations that the system does by itself, and tells of when they are done.
//!
//! ```text
//!  a file or socket ─▶ Uring::start ─▶ the system's submission queue … completion queue ─▶ Uring::collect
//!        ▲                  │ puts the buffer into a slot                                        │ notes the result
//!        └── result, buffer ┴──────────────────────── Op ◀── woken by the driver ◀───────────────┘
//! ```
//!
//! While an operation is under way its buffer belongs to the system, and lies in a slot that nobody frees: not even
//! if who started it has gone. The ring's descriptor is watched by the reactor, so a worker that sleeps in the
//! driver hears of completions as of anything else.

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

/// What an operation came to, and its buffer.
pub(crate) type Outcome = (io::Result<usize>, Vec<u8>);
