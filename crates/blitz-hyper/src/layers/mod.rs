//! Layers that other crates have for Tokio, with Blitz's timers and files: time limits, fillers
//! that keep a stream of events open, files of a folder.

mod files;
mod keep_alive;
mod timeout;

pub use files::{FileBody, Files};
pub use keep_alive::{KeepAlive, keep_alive};
pub use timeout::{Timeout, TimeoutFuture, TimeoutLayer};
