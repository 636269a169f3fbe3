//! The door: what users hold and call, on top of everything else. No other module names this one.

mod backend;
pub(crate) mod builder;
pub(crate) mod current;
pub(crate) mod diagnostics;
pub mod driver;
pub(crate) mod dump;
mod env;
pub(crate) mod global;
pub(crate) mod handle;
pub(crate) mod jobs;
mod join_set;
mod local_set;
pub(crate) mod metrics;
pub(crate) mod pool;
pub(crate) mod task_metrics;
pub(crate) mod tasks;
pub(crate) mod threads;
pub(crate) mod unfinished;
