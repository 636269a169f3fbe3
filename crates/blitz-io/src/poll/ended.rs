//! The error of operations whose runtime has ended.

#![forbid(unsafe_code)]

use std::io;

/// The error of an operation that would wait for an event that no driver reports any more.
#[cold]
pub(crate) fn ended() -> io::Error {
    io::Error::other(
        "the runtime of this operation has ended: keep it as long as its sockets, children and signals are used",
    )
}
