//! What is Tokio's: the traits of readers and writers, a channel and locks.
//!
//! Sockets, files and drivers take them from here, and `io` shows the traits to users: no other
//! file names Tokio. So another source of the same traits is a change of these two files.

#![forbid(unsafe_code)]

pub(crate) use tokio::io::{AsyncRead, AsyncReadExt, AsyncSeek, AsyncWrite, ReadBuf};
pub(crate) use tokio::sync::{Mutex, Notify, oneshot};
