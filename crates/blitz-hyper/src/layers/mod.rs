//! What other crates do with Tokio's timers and files, on Blitz's: limits of time, comments that
//! keep a stream of events open, files of a folder.

mod files;
mod keep_alive;
mod timeout;

pub use files::{FileBody, Files};
pub use keep_alive::{KeepAlive, keep_alive};
pub use timeout::{Timeout, TimeoutFuture, TimeoutLayer};
