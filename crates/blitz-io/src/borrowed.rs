//! Items of Tokio: the traits of readers and writers, a channel and locks.
//!
//! Sockets, files and drivers take them from here, and `io` re-exports the traits. Only this file
//! and `io` name Tokio. So only these two files change if the traits come from another crate one
//! day.

#![forbid(unsafe_code)]

pub(crate) use tokio::io::{AsyncRead, AsyncReadExt, AsyncSeek, AsyncWrite, ReadBuf};
pub(crate) use tokio::sync::{Mutex, Notify, oneshot};
