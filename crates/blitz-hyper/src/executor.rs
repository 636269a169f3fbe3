//! Starting tasks for hyper.

#![forbid(unsafe_code)]

use hyper::rt::Executor;
use std::future::Future;

/// Starts hyper's tasks on the current pool, or on the global one.
///
/// ```
/// use hyper::rt::Executor;
///
/// # blitz::block_on(async {
/// let (send, receive) = blitz::sync::oneshot::channel();
/// blitz_hyper::BlitzExecutor::new().execute(async move { send.send(7) });
/// assert_eq!(receive.await, Ok(7));
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct BlitzExecutor;

impl BlitzExecutor {
    /// Creates an executor; all executors are the same.
    #[must_use]
    pub fn new() -> BlitzExecutor {
        BlitzExecutor
    }
}

impl<F> Executor<F> for BlitzExecutor
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    fn execute(&self, future: F) {
        drop(blitz::spawn(future));
    }
}
