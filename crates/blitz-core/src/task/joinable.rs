//! The interface between a handle and its job or task.

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
    /// Ready when it has ended.
    fn poll_finished(&self, cx: &mut Context<'_>) -> Poll<()>;
    /// Ready once, with the result.
    fn poll(&self, cx: &mut Context<'_>) -> Poll<Result<T, JoinError>>;
    /// Waits, and helps with the pool's work if the thread can.
    fn join(&self) -> Result<T, JoinError>;
    fn detach(&self);
    /// Whether it should be listed among the jobs that tasks await, and is not.
    fn is_to_be_listed(&self) -> bool;
    /// Lists it there until it has ended.
    fn list(self: Arc<Self>);
    fn to_joinable(self: Arc<Self>) -> Arc<dyn Joinable>;
}
