//! Workers, fork-join, tasks and sleep of the Blitz runtime. Use it through `blitz-rt`.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(clippy::must_use_candidate)]

mod base;
#[cfg(all(test, blitz_shuttle))]
mod check;
mod door;
mod ops;
mod sched;
mod state;
pub mod task;
mod team;
mod worker;

pub use base::{BuildError, JoinError, TryCurrentError};
pub use blitz_parts::sleep::SleepPolicy;
pub use door::analyze::{Analysis, analyze};
pub use door::builder::{Builder, PoolBuilder};
pub use door::current::{current_num_workers, current_worker_has_jobs, current_worker_index};
pub use door::current::{
    dump, explain, metrics, probe, scheduler, stalls, tasks, trace, unfinished,
};
pub use door::diagnostics::{Diagnostics, diagnostics};
pub use door::driver;
pub use door::dump::{Dump, SignalDump, TaskDump, WorkerDump};
pub use door::explain::{Explanation, TaskFrame, TaskStack, WaitEdge, WaitKind, WaitingTask};
pub use door::exposition::Exposition;
#[doc(hidden)]
pub use door::families::{MetricFamily, MetricKind, MetricLabel, MetricSample, MetricValue};
pub use door::global::{build_global, global, global_or_build};
pub use door::handle::{EnterGuard, Handle};
#[cfg(feature = "inspect")]
pub use door::inspect::{Inspect, Page, Token, pages, tool_folder, tool_socket};
pub use door::jobs::{broadcast, spawn_broadcast};
#[doc(hidden)]
pub use door::jobs::{enter, enter_here};
pub use door::jobs::{in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use door::jobs::{install, join, join_context};
pub use door::jobs::{spawn_cpu, spawn_detached, spawn_detached_fifo};
pub use door::jobs::{yield_job, yield_local};
pub use door::join_map::JoinMap;
pub use door::metrics::{PoolMetrics, WorkerMetrics};
pub use door::pool::{Pool, Runtime};
pub use door::region_metrics::RegionMetrics;
#[doc(hidden)]
pub use door::task_builder::{Builder as TaskBuilder, name as task_name};
pub use door::task_info::{TaskInfo, TaskList, TaskState};
pub use door::task_metrics::{SignalMetrics, TaskMetrics};
pub use door::tasks::{block_in_place, block_on, spawn, spawn_blocking, try_spawn};
pub use door::threads::ThreadBuilder;
pub use door::trace::{MarkKind, SliceKind, Trace, TraceMark, TraceSlice, TraceTrack};
pub use door::type_metrics::{TraceMetrics, TypeMetrics};
pub use door::unfinished::Unfinished;
pub use ops::broadcast::BroadcastContext;
#[doc(hidden)]
pub use ops::here::Here;
pub use ops::join::FnContext;
pub use ops::region::region;
pub use ops::scope::Scope;
pub use ops::scope_fifo::ScopeFifo;
pub use ops::yield_job::Yield;
pub use state::{
    Histogram, Scheduler, StallKind, StallReport, StateTimes, TraceTrigger, WaitPolicy,
};
pub use task::{AbortHandle, JoinHandle, JoinSet, LocalSet, TrySpawnError, spawn_local};
