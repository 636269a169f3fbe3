//! Tasks: futures that the workers poll.

mod abort;
mod bell;
mod block_on;
mod blocking;
pub(crate) mod budget;
mod id;
mod join;
mod join_handle;
mod join_set;
mod joinable;
pub(crate) mod local;
mod packet;
mod shield;
mod sleepers;
mod spawn;
mod task_local;
mod waits;
mod yield_now;

pub use crate::base::JoinError;
pub use abort::AbortHandle;
pub(crate) use block_on::{block_on, block_on_in};
pub(crate) use blocking::spawn_blocking_in;
pub use budget::{Cooperative, cooperative, has_budget_remaining};
pub use budget::{Unconstrained, consume_budget, unconstrained};
pub use id::{Id, id, try_id};
pub use join_handle::JoinHandle;
pub use join_set::JoinSet;
pub(crate) use joinable::{JobHandle, Joinable, Polled};
pub use local::{LocalEnterGuard, LocalSet, spawn_local};
pub(crate) use packet::Packet;
pub use shield::{Shield, shield};
pub use sleepers::is_prompt;
pub use spawn::TrySpawnError;
pub(crate) use spawn::{spawn_in, spawn_on, try_spawn_in};
#[doc(hidden)]
pub use task_local::LocalCell;
pub use task_local::{AccessError, LocalKey, TaskLocalFuture};
pub use yield_now::{YieldNow, yield_now};
