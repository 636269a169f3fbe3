//! Modules that do not depend on pools: errors, panics, ids, and the current task of a thread.

pub(crate) mod ambient;
pub(crate) mod context;
mod error;
pub(crate) mod events;
mod id;
pub(crate) mod panic;

pub use error::{BuildError, JoinError, TryCurrentError};
pub use id::Id;
