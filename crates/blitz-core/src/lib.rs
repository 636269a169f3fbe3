//! Workers, fork-join, tasks and sleep of the Blitz runtime. Use it through `blitz-rt`.

mod blocking;
mod builder;
mod diagnostics;
pub mod driver;
mod dump;
mod error;
mod global;
mod handle;
mod metrics;
mod ops;
mod panic;
mod pool;
mod sched;
mod shutdown;
pub mod task;
mod team;
mod unfinished;
mod worker;

pub use blitz_parts::sleep::SleepPolicy;
pub use blocking::spawn_blocking;
pub use builder::{PoolBuilder, ThreadBuilder, WaitPolicy};
pub use diagnostics::{Diagnostics, diagnostics};
pub use dump::{Dump, SignalDump, TaskDump, WorkerDump};
pub use error::{BuildError, JoinError};
pub use global::{
    build_global, current_num_workers, current_worker_has_jobs, current_worker_index, global,
    global_or_build,
};
pub use handle::{EnterGuard, Handle};
pub use metrics::{PoolMetrics, WorkerMetrics};
pub use ops::block_on::block_on;
pub use ops::broadcast::{BroadcastContext, broadcast, spawn_broadcast};
pub use ops::detached::{spawn_detached, spawn_detached_fifo};
pub use ops::join::{FnContext, join, join_context};
pub use ops::scope::{Scope, in_place_scope, scope};
pub use ops::scope_fifo::{ScopeFifo, in_place_scope_fifo, scope_fifo};
pub use ops::spawn::spawn_cpu;
pub use ops::yield_now::{Yield, yield_local, yield_now};
pub use pool::Pool;
pub use sched::{Histogram, Scheduler, SignalMetrics, TaskMetrics};
pub use task::{AbortHandle, JoinHandle, JoinSet, LocalSet, TrySpawnError, spawn, spawn_local};
pub use unfinished::Unfinished;
