//! Cancels a task from outside.

#![forbid(unsafe_code)]

use super::{Id, Joinable};
use blitz_parts::task::TaskRef;
use std::fmt;
use std::sync::Arc;

/// Cancels a task or job: see [`JoinHandle::abort_handle`](crate::JoinHandle::abort_handle).
///
/// ```
/// # blitz::block_on(async {
/// let handle = blitz::spawn(std::future::pending::<()>());
/// let abort = handle.abort_handle();
/// abort.abort();
/// assert!(handle.await.unwrap_err().is_cancelled());
/// assert!(abort.is_finished());
/// # });
/// ```
#[derive(Clone)]
pub struct AbortHandle {
    target: Target,
}

#[derive(Clone)]
enum Target {
    Task(TaskRef),
    Job(Arc<dyn Joinable>),
}

impl AbortHandle {
    pub(crate) fn of_task(task: TaskRef) -> AbortHandle {
        AbortHandle { target: Target::Task(task) }
    }

    pub(crate) fn of_job(job: Arc<dyn Joinable>) -> AbortHandle {
        AbortHandle { target: Target::Job(job) }
    }

    /// Cancels the task or job: see [`JoinHandle::abort`](crate::JoinHandle::abort).
    pub fn abort(&self) {
        match &self.target {
            Target::Task(task) => task.abort(),
            Target::Job(job) => job.abort(),
        }
    }

    /// Whether the task or job has returned, has panicked or was cancelled.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        match &self.target {
            Target::Task(task) => task.is_finished(),
            Target::Job(job) => job.is_finished(),
        }
    }

    /// Returns the id of the task or job.
    #[must_use]
    pub fn id(&self) -> Id {
        match &self.target {
            Target::Task(task) => Id::of(task),
            Target::Job(job) => job.id(),
        }
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle")
            .field("id", &self.id())
            .field("finished", &self.is_finished())
            .finish()
    }
}
