//! Modules that know nothing of pools: errors, panics, ids, and which task a thread polls.

pub(crate) mod ambient;
pub(crate) mod context;
mod error;
pub(crate) mod events;
mod id;
pub(crate) mod panic;

pub use error::{BuildError, JoinError, TryCurrentError};
pub use id::Id;
