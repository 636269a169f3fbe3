//! Drives a local set beside a pool.

#![forbid(unsafe_code)]

use super::handle::Handle;
use crate::task::LocalSet;
use std::future::Future;

impl LocalSet {
    /// Runs `future` and the tasks of the set on this thread until `future` is ready. Tasks that
    /// these spawn outside the set go to the given pool, runtime or handle.
    ///
    /// ```
    /// let runtime = blitz::Runtime::new().unwrap();
    /// let set = blitz::LocalSet::new();
    /// let here = std::thread::current().id();
    /// set.block_on(&runtime, async move {
    ///     let local = blitz::spawn_local(async { std::thread::current().id() });
    ///     assert_eq!(local.await.unwrap(), here);
    ///     let elsewhere = blitz::spawn(async { std::thread::current().id() });
    ///     assert_ne!(elsewhere.await.unwrap(), here);
    /// });
    /// ```
    ///
    /// # Blocking
    /// A thread outside every pool blocks. A worker does what it does in
    /// [`block_on`](crate::block_on).
    pub fn block_on<F: Future>(&self, on: impl Into<Handle>, future: F) -> F::Output {
        on.into().block_on(self.run_until(future))
    }
}
