//! What a handle needs of a job or a task.

#![forbid(unsafe_code)]

use crate::base::{Id, JoinError};
use std::sync::Arc;
use std::task::{Context, Poll};

/// What the handle of a job can do without knowing the job's result.
pub(crate) trait Joinable: Send + Sync {
    fn abort(&self);
    fn is_finished(&self) -> bool;
    fn id(&self) -> Id;
}

/// What it can do without knowing the closure's type.
pub(crate) trait JobHandle<T>: Joinable {
    /// Ready when it has ended.
    fn poll_finished(&self, cx: &mut Context<'_>) -> Poll<()>;
    /// Ready once, with the result.
    fn poll(&self, cx: &mut Context<'_>) -> Poll<Result<T, JoinError>>;
    /// Waits, helping with the pool's work where the thread can.
    fn join(&self) -> Result<T, JoinError>;
    fn detach(&self);
    fn to_joinable(self: Arc<Self>) -> Arc<dyn Joinable>;
}
