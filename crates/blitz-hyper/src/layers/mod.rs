//! Replacements for parts of tower-http and axum that need Tokio's timers or files.
//!
//! There are time limits, filler items that keep a stream of events open, and a service for the
//! files of a folder.

mod files;
mod keep_alive;
mod timeout;

pub use files::{FileBody, Files};
pub use keep_alive::{KeepAlive, keep_alive};
pub use timeout::{Timeout, TimeoutFuture, TimeoutLayer};
