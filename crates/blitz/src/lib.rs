//! One pool for parallel and async Rust.
//!
//! One set of worker threads runs two kinds of work. Jobs are closures that compute ([`join`],
//! [`scope`], [`spawn_cpu`]). Tasks are futures that wait ([`spawn`], [`block_on`]) for each other
//! or for the outside world ([`net`], [`time`], [`fs`], [`process`], [`signal`]). A fork that no
//! thief takes costs a few nanoseconds, and an idle pool costs nothing.
//!
//! ```
//! fn sum(numbers: &[u64]) -> u64 {
//!     if numbers.len() <= 1_000 {
//!         return numbers.iter().sum();
//!     }
//!     let (left, right) = numbers.split_at(numbers.len() / 2);
//!     let (left, right) = blitz::join(|| sum(left), || sum(right));
//!     left + right
//! }
//!
//! # fn main() -> Result<(), blitz::BuildError> {
//! let numbers: Vec<u64> = (0..100_000).collect();
//! // On the global pool, which is built when first used …
//! assert_eq!(sum(&numbers), 4_999_950_000);
//! // … or on one of your own.
//! let pool = blitz::Pool::builder().workers(2).build()?;
//! assert_eq!(pool.install(|| sum(&numbers)), 4_999_950_000);
//! println!("{}", pool.metrics());
//! # Ok(())
//! # }
//! ```
//!
//! Parallel code may be called right inside async code. It runs on the worker that polls the
//! task, and idle workers take a part:
//!
//! ```
//! use blitz::sync::mpsc;
//!
//! #[blitz::main]
//! async fn main() -> Result<(), blitz::JoinError> {
//!     let (send, mut receive) = mpsc::channel(8);
//!     let squares = blitz::spawn(async move {
//!         for n in 1..=3u64 {
//!             let (square, cube) = blitz::join(|| n * n, || n * n * n);
//!             send.send((square, cube)).await.unwrap();
//!         }
//!     });
//!     let mut sum = (0, 0);
//!     while let Some((square, cube)) = receive.recv().await {
//!         sum = (sum.0 + square, sum.1 + cube);
//!     }
//!     squares.await?;
//!     assert_eq!(sum, (14, 36));
//!     Ok(())
//! }
//! ```
//!
//! # Which function
//! | to compute | call |
//! |---|---|
//! | loop over a collection in parallel | [`par`], [`prelude`] |
//! | run two closures, potentially at once | [`join`], [`join_context`] |
//! | spawn any number of jobs that borrow, and wait for all | [`scope`], [`scope_fifo`], [`in_place_scope`], [`in_place_scope_fifo`] |
//! | start a job and fetch its result later, or never | [`spawn_cpu`] |
//! | start a job and forget it | [`spawn_detached`], [`spawn_detached_fifo`] |
//! | run something once on every worker | [`broadcast`], [`spawn_broadcast`] |
//! | run a closure inside a pool | [`install`], [`Pool::install`] |
//! | let other jobs go first | [`yield_job`], [`yield_local`] |
//!
//! | to wait | call |
//! |---|---|
//! | start a program or a test that is async | [`#[blitz::main]`](macro@main), [`#[blitz::test]`](macro@test) |
//! | run a future to its end, from anywhere | [`block_on`], [`Runtime::block_on`] |
//! | start a task and fetch its result later, or never | [`spawn`] |
//! | start many and take results as they come | [`JoinSet`], with keys [`task::JoinMap`] |
//! | wait until all tasks of a kind have ended | [`task::TaskTracker`] |
//! | start tasks that cannot be sent | [`spawn_local`] in a [`LocalSet`] |
//! | compute without keeping the task's worker | [`spawn_cpu`], whose handle can be awaited |
//! | call a function that blocks | [`spawn_blocking`] |
//! | cancel a task | [`JoinHandle::abort`], [`AbortHandle`] |
//! | finish a section even if the task is cancelled | [`task::shield`] |
//! | let other tasks go first | [`task::yield_now`], [`task::consume_budget`] |
//! | give a task values of its own | [`task_local!`] |
//! | pass values between tasks | [`sync`] |
//! | wait for several futures in one task | `select!`, `try_join!`, `macros::join!`: Tokio's, with the feature `macros` |
//! | use sockets, or any other descriptor | [`net`], [`io`] |
//! | read and write files | [`fs::read`], [`fs::write`], [`fs::File`] |
//! | start other programs | [`process::Command`] |
//! | wait for Ctrl+C, or for other signals | [`signal::ctrl_c`], [`signal::unix::signal()`] |
//! | end servers and tasks in order | [`shutdown::Shutdown`] |
//! | sleep, limit a wait, tick | [`time::sleep`], [`time::timeout`], [`time::interval`] |
//! | set how late timers may be | [`Builder::timer_slack`] |
//! | keep many values until their deadlines | [`time::DelayQueue`] |
//! | test timeouts without waiting | [`time::pause`], [`Builder::start_paused`] |
//! | refuse tasks rather than queue without end | [`try_spawn`] |
//!
//! | for either | call |
//! |---|---|
//! | build a pool with its own workers | [`Runtime::builder`], [`Pool::builder`] |
//! | reach a pool from anywhere | [`Runtime::handle`], [`Handle::current`], [`Handle::enter`] |
//! | ask which worker this thread is | [`current_worker_index`], [`current_num_workers`] |
//! | set up or look at the global pool | [`PoolBuilder::build_global`], [`global`] |
//! | use crates that need a Tokio runtime | `Builder::tokio_guest`, with the feature `tokio-guest` |
//! | see what the workers do | [`Pool::metrics`], [`Pool::dump`], [`Pool::tasks`], [`Pool::stalls`], [`Pool::explain`], [`Pool::trace`], [`region`], [`diagnostics()`] |
//! | learn how parallel a computation is | [`analyze`] |
//!
//! # One type, three ways to call it
//! A [`Runtime`] is a [`Pool`], and a [`Builder`] is a [`PoolBuilder`]: each type has one name for
//! programs that wait and one for programs that compute. A [`Handle`] reaches a pool from anywhere
//! and does not keep it alive. These operations are methods of [`Pool`] and [`Handle`], and nearly
//! all are free functions, too:
//!
//! | on a [`Pool`] | on a [`Handle`] | on the current pool |
//! |---|---|---|
//! | [`install`](Pool::install) | [`install`](Handle::install) | [`install`] |
//! | [`join`](Pool::join), [`join_context`](Pool::join_context) | [`join`](Handle::join), [`join_context`](Handle::join_context) | [`join`], [`join_context`] |
//! | [`scope`](Pool::scope), [`scope_fifo`](Pool::scope_fifo) | [`scope`](Handle::scope), [`scope_fifo`](Handle::scope_fifo) | [`scope`], [`scope_fifo`] |
//! | [`in_place_scope`](Pool::in_place_scope), [`in_place_scope_fifo`](Pool::in_place_scope_fifo) | [`in_place_scope`](Handle::in_place_scope), [`in_place_scope_fifo`](Handle::in_place_scope_fifo) | [`in_place_scope`], [`in_place_scope_fifo`] |
//! | [`broadcast`](Pool::broadcast), [`spawn_broadcast`](Pool::spawn_broadcast) | [`broadcast`](Handle::broadcast), [`spawn_broadcast`](Handle::spawn_broadcast) | [`broadcast`], [`spawn_broadcast`] |
//! | [`spawn_cpu`](Pool::spawn_cpu) | [`spawn_cpu`](Handle::spawn_cpu) | [`spawn_cpu`] |
//! | [`spawn_detached`](Pool::spawn_detached), [`spawn_detached_fifo`](Pool::spawn_detached_fifo) | [`spawn_detached`](Handle::spawn_detached), [`spawn_detached_fifo`](Handle::spawn_detached_fifo) | [`spawn_detached`], [`spawn_detached_fifo`] |
//! | [`yield_job`](Pool::yield_job), [`yield_local`](Pool::yield_local) | [`yield_job`](Handle::yield_job), [`yield_local`](Handle::yield_local) | [`yield_job`], [`yield_local`] |
//! | [`spawn`](Pool::spawn), [`try_spawn`](Pool::try_spawn) | [`spawn`](Handle::spawn), [`try_spawn`](Handle::try_spawn) | [`spawn`], [`try_spawn`] |
//! | [`spawn_blocking`](Pool::spawn_blocking) | [`spawn_blocking`](Handle::spawn_blocking) | [`spawn_blocking`] |
//! | [`block_on`](Pool::block_on) | [`block_on`](Handle::block_on) | [`block_on`] |
//! | [`num_workers`](Pool::num_workers) | [`num_workers`](Handle::num_workers) | [`current_num_workers`] |
//! | [`current_worker_index`](Pool::current_worker_index) | [`current_worker_index`](Handle::current_worker_index) | [`current_worker_index`] |
//! | [`scheduler`](Pool::scheduler) | [`scheduler`](Handle::scheduler) | [`scheduler()`] |
//! | [`metrics`](Pool::metrics), [`dump`](Pool::dump) | [`metrics`](Handle::metrics), [`dump`](Handle::dump) | [`metrics()`], [`dump()`] |
//! | [`tasks`](Pool::tasks) | [`tasks`](Handle::tasks) | [`tasks()`] |
//! | [`stalls`](Pool::stalls), [`explain`](Pool::explain), [`probe`](Pool::probe) | [`stalls`](Handle::stalls), [`explain`](Handle::explain), [`probe`](Handle::probe) | [`stalls()`], [`explain()`], [`probe()`] |
//! | [`trace`](Pool::trace) | [`trace`](Handle::trace) | [`trace()`] |
//! | [`unfinished`](Pool::unfinished) | [`unfinished`](Handle::unfinished) | [`unfinished()`] |
//! | [`enter`](Pool::enter) | [`enter`](Handle::enter) | |
//! | [`handle`](Pool::handle) | `clone` | [`Handle::current`] |
//!
//! Free functions use the current pool: the one that was entered, or that the current thread works
//! for, else the global one. On a worker, [`join`], [`join_context`] and parallel loops use the
//! worker's own pool, even if the thread has entered another one. The global pool has
//! `BLITZ_WORKERS` workers, or one per core. If it is needed and cannot be built, the functions
//! panic: call [`global`] at start-up to get the error as a value. [`Handle::current`] does not
//! fall back to the global pool: outside every pool it panics.
//!
//! # Panics
//! A panic in a closure or a task goes to the caller that waits in `join`, `scope`, `install` or
//! `broadcast`, or to the [`JoinHandle`]. If there is neither, it goes to
//! [`PoolBuilder::panic_handler`]. A panic never ends a worker.
//!
//! # The end
//! Dropping a runtime or a pool cancels the tasks that are left, lets shielded sections and jobs
//! end, and waits for the threads. When the drop returns, each future has been dropped once. A drop
//! on one of the pool's own threads does not wait, and no drop waits with
//! [`PoolBuilder::detach_on_drop`].

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

// Pools, which are runtimes, too.
pub use blitz_core::driver::IoBackend;
pub use blitz_core::{
    BuildError, Builder, EnterGuard, Handle, Pool, PoolBuilder, Runtime, Scheduler, SleepPolicy,
    ThreadBuilder, TryCurrentError, WaitPolicy, global,
};
// Fork and join.
pub use blitz_core::{FnContext, install, join, join_context};
pub use blitz_core::{Scope, in_place_scope, scope};
pub use blitz_core::{ScopeFifo, in_place_scope_fifo, scope_fifo};
// Jobs of their own.
pub use blitz_core::{BroadcastContext, broadcast, spawn_broadcast};
pub use blitz_core::{JoinError, JoinHandle, spawn_cpu, spawn_detached, spawn_detached_fifo};
// The current worker.
pub use blitz_core::{Yield, current_num_workers, current_worker_index, yield_job, yield_local};
// Parallel loops.
pub use blitz_par as par;
pub use blitz_par::prelude;
// Tasks.
pub use blitz_core::{AbortHandle, JoinSet, LocalSet, TrySpawnError, block_in_place, block_on};
pub use blitz_core::{spawn, spawn_blocking, spawn_local, task_local, try_spawn};
// Async functions as programs and tests.
pub use blitz_macros::{main, test};
// Channels, locks and other meeting points of tasks.
#[doc(no_inline)]
pub use tokio::sync;
// Waiting for several futures in one task; `join!` is in `macros`, because `join` is a function
// here.
#[cfg(feature = "macros")]
#[doc(no_inline)]
pub use tokio::{pin, select, try_join};
// The outside world.
pub use blitz_io::{Backend, BackendChoice, fs, io, net, process, shutdown, signal, time};
// Looking inside.
pub use blitz_core::{
    Analysis, Diagnostics, Dump, Explanation, Exposition, Histogram, MarkKind, PoolMetrics,
    RegionMetrics, SignalDump, SignalMetrics, SliceKind, StallKind, StallReport, StateTimes,
    TaskDump, TaskFrame, TaskInfo, TaskList, TaskMetrics, TaskStack, TaskState, Trace, TraceMark,
    TraceMetrics, TraceSlice, TraceTrack, TraceTrigger, TypeMetrics, Unfinished, WaitEdge,
    WaitKind, WaitingTask, WorkerDump, WorkerMetrics, analyze, diagnostics, dump, explain, metrics,
    probe, region, scheduler, stalls, tasks, trace, unfinished,
};

/// A page that shows pools to browsers and tools: see [`Builder::inspect`].
///
/// ```
/// let pool = blitz::Pool::builder().workers(1).inspect("127.0.0.1:0").build()?;
/// println!("look inside at {}", blitz::inspect::pages()[0].url());
/// # drop(pool);
/// # Ok::<(), blitz::BuildError>(())
/// ```
#[cfg(feature = "inspect")]
pub mod inspect {
    pub use blitz_core::{Inspect, Page, Token, pages, tool_folder, tool_socket};
}

mod attributes;
#[cfg(feature = "metrics")]
pub mod bridge;
pub mod runtime;
pub mod task;

/// Tokio's macros for several futures in one task.
///
/// `join!` is here only: in the crate's root [`join`] is a function, and documentation cannot link
/// to a name that means two things.
///
/// ```
/// # blitz::block_on(async {
/// assert_eq!(blitz::macros::join!(async { 1 }, async { 2 }), (1, 2));
/// # });
/// ```
#[cfg(feature = "macros")]
pub mod macros {
    #[doc(no_inline)]
    pub use tokio::{join, pin, select, try_join};
}

/// tokio-util's items under the same paths, without a Tokio guest.
///
/// `tokio_util::` becomes `blitz::util::`. [`CancellationToken`](util::sync::CancellationToken) and
/// the other items of `util::sync` are tokio-util's own. The items of `util::task` and `util::time`
/// come from [`task`] and [`time`], because tokio-util's versions spawn and sleep with Tokio.
///
/// ```
/// use blitz::util::sync::CancellationToken;
/// use blitz::util::task::TaskTracker;
///
/// # blitz::block_on(async {
/// let (token, tracker) = (CancellationToken::new(), TaskTracker::new());
/// let child = token.child_token();
/// tracker.spawn(async move { child.cancelled().await });
/// tracker.close();
/// token.cancel();
/// tracker.wait().await;
/// # });
/// ```
#[cfg(feature = "util")]
pub mod util {
    /// Cancellation.
    pub mod sync {
        #[doc(no_inline)]
        pub use tokio_util::sync::{
            CancellationToken, DropGuard, DropGuardRef, WaitForCancellationFuture,
            WaitForCancellationFutureOwned,
        };
    }

    /// Sets of tasks.
    pub mod task {
        #[doc(no_inline)]
        pub use crate::task::{JoinMap, TaskTracker, TaskTrackerToken, TrackedFuture};
    }

    /// Queues of delays.
    pub mod time {
        #[doc(no_inline)]
        pub use crate::time::{DelayQueue, delay_queue};
    }
}

/// Items that the attributes expand to; not part of the public API.
#[doc(hidden)]
pub mod __macros {
    pub use crate::attributes::{run, with_guest};
}

#[cfg(doctest)]
mod guide;
#[cfg(doctest)]
mod misuse;

/// The program of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}

/// The programs of the guide from Rayon.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/from-rayon.md")]
mod from_rayon {}

/// The programs of the page about looking inside.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/insight.md")]
mod insight {}

/// The program of the page about schedulers.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/schedulers.md")]
mod schedulers {}

/// The program of the page about crates that need a guest.
#[cfg(all(doctest, feature = "tokio-guest"))]
#[doc = include_str!("../../../docs/crates.md")]
mod crates {}
