//! The interface between a handle and its job.

#![forbid(unsafe_code)]

use crate::base::{Id, JoinError};
use std::sync::Arc;
use std::task::{Context, Poll};

/// Methods of a job's handle that do not depend on the type of its result.
pub(crate) trait Joinable: Send + Sync {
    fn abort(&self);
    fn is_finished(&self) -> bool;
    fn id(&self) -> Id;
}

/// Methods that do not depend on the type of the closure.
pub(crate) trait JobHandle<T>: Joinable {
    /// Ready when the job has ended.
    fn poll_finished(&self, cx: &mut Context<'_>) -> Poll<()>;
    /// Ready with the result when the job has ended. Panics if the result was taken already.
    fn poll(&self, cx: &mut Context<'_>) -> Poll<Result<T, JoinError>>;
    /// Waits, and helps with the pool's work if the thread can.
    fn join(&self) -> Result<T, JoinError>;
    fn detach(&self);
    /// Whether the job should be listed among those that tasks await, but is not listed yet.
    fn is_to_be_listed(&self) -> bool;
    /// Lists the job among those that tasks await, until the job has ended.
    fn list(self: Arc<Self>);
    fn to_joinable(self: Arc<Self>) -> Arc<dyn Joinable>;
}
