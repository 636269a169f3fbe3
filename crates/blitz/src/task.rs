//! Tasks: futures that the workers poll.

pub use blitz_core::JoinMap;
pub use blitz_core::block_in_place;
pub use blitz_core::task::LocalEnterGuard;
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
#[doc(inline)]
pub use blitz_core::{TaskBuilder as Builder, task_name as name};
pub use blitz_io::task_tracker::{TaskTracker, TaskTrackerToken, TrackedFuture};

/// Lets other tasks go first, for tasks that never wait.
pub mod coop {
    pub use blitz_core::task::{Cooperative, cooperative, has_budget_remaining};
    #[doc(no_inline)]
    pub use blitz_core::task::{Unconstrained, consume_budget, unconstrained};
}
