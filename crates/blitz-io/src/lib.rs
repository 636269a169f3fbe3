//! Sockets, timers, files, signals and child processes of the Blitz runtime. Use them through
//! `blitz-rt`.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(clippy::must_use_candidate)]

mod async_fd;
mod backend;
mod batch;
mod borrowed;
mod driver;
pub mod fs;
pub mod io;
pub mod net;
mod poll;
pub mod process;
mod room;
pub mod shutdown;
pub mod signal;
pub mod task_tracker;
pub mod time;
mod timers;
mod transfer;
mod uring;

pub use backend::{Backend, BackendChoice};
pub use driver::{IoDriver, IoMetrics};
