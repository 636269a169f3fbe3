//! The interface between a handle and its job.

#![forbid(unsafe_code)]

use crate::base::{Id, JoinError};
use std::sync::Arc;
use std::task::Context;

/// Methods of a job's handle that do not depend on the type of its result.
pub(crate) trait Joinable: Send + Sync {
    fn abort(&self);
    fn is_finished(&self) -> bool;
    fn id(&self) -> Id;
}

/// The result of a poll of a job's handle.
#[must_use]
pub(crate) enum Polled<R> {
    Ready(R),
    Pending {
        /// Whether the job should be listed among those that tasks await, but is not listed yet.
        unlisted: bool,
    },
}

/// Methods that do not depend on the type of the closure.
pub(crate) trait JobHandle<T>: Joinable {
    /// Ready when the job has ended.
    fn poll_finished(&self, cx: &mut Context<'_>) -> Polled<()>;
    /// Ready with the result when the job has ended. Panics if the result was taken already.
    fn poll(&self, cx: &mut Context<'_>) -> Polled<Result<T, JoinError>>;
    /// Returns the result if the job has ended. Runs the job if it has not begun and the thread
    /// can run it.
    fn try_join(&self) -> Option<Result<T, JoinError>>;
    /// Waits, and helps with the pool's work if the thread can.
    fn join(self: Arc<Self>) -> Result<T, JoinError>;
    fn detach(&self);
    /// Lists the job among those that tasks await, until the job has ended.
    fn list(self: Arc<Self>);
    fn to_joinable(self: Arc<Self>) -> Arc<dyn Joinable>;
}
