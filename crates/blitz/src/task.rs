//! Tasks: futures that the workers poll.

pub use blitz_core::task::{AccessError, LocalKey, TaskLocalFuture};
pub use blitz_core::task::{Id, id, try_id};
pub use blitz_core::task::{Shield, shield};
pub use blitz_core::task::{Unconstrained, consume_budget, unconstrained};
pub use blitz_core::task::{YieldNow, yield_now};
#[doc(no_inline)]
pub use blitz_core::{
    AbortHandle, JoinError, JoinHandle, JoinSet, LocalSet, TrySpawnError, spawn, spawn_blocking,
    spawn_local,
};
