//! The API of `rayon-core` 1.13 on a Blitz pool.
//!
//! Everything that uses Rayon runs on Blitz if the application's manifest says so:
//!
//! ```toml
//! [patch.crates-io]
//! rayon-core = { path = "…/shims/rayon-core" }
//! ```
//!
//! This crate maps names to `blitz-core`, whose documentation says more. A program that uses both
//! has one global pool, built by the first use.
//!
//! # Variables
//! | variable | meaning |
//! |---|---|
//! | `RAYON_NUM_THREADS`, else `RAYON_RS_NUM_CPUS` | the number of threads, for pools without a setting |
//! | `BLITZ_WAIT=descendants` | a waiting thread runs only descendants of the job that it waits for; another value is an error |
//! | `BLITZ_SHIM_PROOF=FILE` | the process appends a line with its pools' counters when it ends |
//!
//! An empty `BLITZ_WAIT` counts as unset. `BLITZ_SCHEDULER` and `BLITZ_STALLS` mean the same as for
//! other pools of `blitz-core`.
//!
//! # What differs from the original
//! - [`ThreadPoolBuilder::breadth_first`] is accepted and ignored.
//! - Threads that the pool starts itself are named `blitz-0` … unless `thread_name` says otherwise.
//! - [`yield_now`] and [`yield_local`] run the oldest local job, not the newest.
//! - With `use_current_thread`, dropping the pool releases the thread, which can then join another
//!   pool. The jobs that are left still run: on that thread if it drops the pool, else on another.
//! - Jobs that threads outside the pool spawn in a burst start in no particular order.
//! - There is no fallback for targets without threads.

mod broadcast;
mod builder;
mod error;
mod global;
mod pool;
mod proof;
mod registry;
mod scope;

pub use blitz_core::FnContext;
pub use broadcast::{BroadcastContext, broadcast, spawn_broadcast};
#[allow(deprecated)]
pub use builder::{Configuration, ThreadPoolBuilder, initialize};
pub use error::ThreadPoolBuildError;
pub use global::{
    Yield, current_num_threads, current_thread_has_pending_tasks, current_thread_index, join,
    join_context, max_num_threads, spawn, spawn_fifo, yield_local, yield_now,
};
pub use pool::ThreadPool;
pub use registry::ThreadBuilder;
pub use scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo};
