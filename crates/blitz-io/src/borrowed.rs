//! Items of Tokio: the traits of readers and writers, a channel and locks.
//!
//! Sockets, files and drivers take them from here, and `io` shows the traits to users: no other
//! file names Tokio. So these two files are all that changes if the traits come from elsewhere one
//! day.

#![forbid(unsafe_code)]

pub(crate) use tokio::io::{AsyncRead, AsyncReadExt, AsyncSeek, AsyncWrite, ReadBuf};
pub(crate) use tokio::sync::{Mutex, Notify, oneshot};
