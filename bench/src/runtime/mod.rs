//! The contestants of the async workloads: one file per runtime, each with the smallest adapter
//! that the workloads need.
//!
//! A workload is written once, generic over [`Runtime`]. A running task starts others through
//! [`Runtime::Tasks`]. That type has no fields for runtimes that are found through a thread-local;
//! for smol it holds a reference to the executor.

mod blitz;
mod forte;
pub mod hybrid;
mod outside;
mod smol;
mod tokio;

pub use blitz::{Blitz, BlitzSignal};
pub use forte::Forte;
pub use hybrid::{Hybrid, Job, Jobs};
pub use outside::{Outside, Timers};
pub use smol::Smol;
pub use tokio::Tokio;

use std::future::Future;

use crate::rival::Build;

/// A runtime that polls tasks on threads of its own.
pub trait Runtime: Build + 'static {
    /// Starts tasks from inside.
    type Tasks: Tasks;

    /// Whether a foreign thread that starts or wakes a task runs that task itself. Such a runtime
    /// does not hand work over, so workloads about handing over refuse it.
    const CALLER_RUNS_TASKS: bool = false;

    /// Returns the value with which tasks start tasks. It works in a task and in the future given
    /// to [`block_on`](Self::block_on), and nowhere else.
    fn tasks(&self) -> Self::Tasks;

    /// Polls `future` on the calling thread, which is not a worker, until it is done.
    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future<Output: Send> + Send;
}

/// Starts tasks of one runtime.
pub trait Tasks: Copy + Send + Sync + 'static {
    /// Starts a task at once; the returned future waits for its output.
    fn spawn<F>(self, future: F) -> impl Future<Output = F::Output> + Send + 'static
    where
        F: Future<Output: Send> + Send + 'static;

    /// Starts a detached task.
    fn detach<F>(self, future: F)
    where
        F: Future<Output = ()> + Send + 'static;

    /// Lets other tasks go first, with the runtime's own yield.
    fn yield_now(self) -> impl Future<Output = ()> + Send;
}

/// Evaluates an expression with `$runtime` standing for the type of an async rival.
macro_rules! with_runtime {
    ($kind:expr, $runtime:ident => $body:expr) => {{
        use $crate::rival::RivalKind;
        match $kind {
            RivalKind::Blitz => {
                type $runtime = $crate::runtime::Blitz;
                $body
            }
            RivalKind::Signal => {
                type $runtime = $crate::runtime::BlitzSignal;
                $body
            }
            RivalKind::Tokio => {
                type $runtime = $crate::runtime::Tokio;
                $body
            }
            RivalKind::Smol => {
                type $runtime = $crate::runtime::Smol;
                $body
            }
            RivalKind::Forte => {
                type $runtime = $crate::runtime::Forte;
                $body
            }
            kind => Err(format!("{} has no tasks", kind.name())),
        }
    }};
}
pub(crate) use hybrid::with_hybrid;
pub(crate) use outside::{BUFFER, with_outside};
pub(crate) use with_runtime;
