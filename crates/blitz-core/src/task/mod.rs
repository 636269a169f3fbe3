//! Tasks: futures that the workers poll.

mod abort;
pub(crate) mod budget;
pub(crate) mod context;
mod id;
mod join_handle;
mod join_set;
pub(crate) mod local;
mod shield;
mod spawn;
mod task_local;
mod yield_now;

pub use crate::error::JoinError;
pub use abort::AbortHandle;
pub use budget::{Unconstrained, consume_budget, unconstrained};
pub use id::{Id, id, try_id};
pub use join_handle::JoinHandle;
pub(crate) use join_handle::{JobHandle, Joinable};
pub use join_set::JoinSet;
pub use local::{LocalSet, spawn_local};
pub(crate) use shield::Sections;
pub use shield::{Shield, shield};
pub use spawn::TrySpawnError;
#[doc(hidden)]
pub use task_local::LocalCell;
pub use task_local::{AccessError, LocalKey, TaskLocalFuture};
pub use yield_now::{YieldNow, yield_now};
