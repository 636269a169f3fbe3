//! Waits for a handle in code that is not async.

#![forbid(unsafe_code)]

use super::block_on::block_on;
use super::{JoinError, JoinHandle};
use std::sync::Arc;

impl<T> JoinHandle<T> {
    /// Waits for the result, in code that is not async.
    ///
    /// A worker runs a job of its own pool right here if the job has not begun. Otherwise it helps
    /// with other work of that pool while it waits. A thread outside every pool blocks.
    ///
    /// # Errors
    /// If the task or job was cancelled or panicked. [`JoinError::into_panic`] returns the payload
    /// of a panic.
    ///
    /// # Blocking
    /// A thread outside every pool blocks; a worker of another pool goes on with its pool's work.
    pub fn join(self) -> Result<T, JoinError> {
        match self.as_job() {
            Some(job) => job.try_join().unwrap_or_else(|| Arc::clone(job).join()),
            None => block_on(self),
        }
    }
}
