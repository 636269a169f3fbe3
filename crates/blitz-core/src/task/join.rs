//! Waiting for a handle on a thread.

#![forbid(unsafe_code)]

use super::block_on::block_on;
use super::{JoinError, JoinHandle};

impl<T> JoinHandle<T> {
    /// Waits for the result: what `.await` does, for code that is not async.
    ///
    /// On a worker, a job of the worker's own pool that has not begun is run right here, and
    /// otherwise the wait helps with other work of that pool. A thread outside of every pool
    /// blocks.
    ///
    /// # Errors
    /// If it panicked ([`JoinError::into_panic`] has the payload) or was cancelled.
    ///
    /// # Blocking
    /// A thread outside of the pool blocks.
    pub fn join(self) -> Result<T, JoinError> {
        match self.as_job() {
            Some(job) => job.join(),
            None => block_on(self),
        }
    }
}
