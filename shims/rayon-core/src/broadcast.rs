//! The same closure once on every thread, under Rayon's names.

#![forbid(unsafe_code)]

use crate::global::ready;
use std::fmt;

/// Runs `op` once on every thread of the current or the global pool; returns the results by index.
///
/// ```
/// let indices = rayon_core::broadcast(|context| context.index());
/// assert!(indices.into_iter().eq(0..rayon_core::current_num_threads()));
/// ```
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    ready();
    blitz_core::broadcast(|context| op(BroadcastContext::of(context)))
}

/// Runs `op` once on every thread of the current or the global pool, later; returns at once.
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    ready();
    blitz_core::spawn_broadcast(move |context| op(BroadcastContext::of(context)));
}

/// Tells a broadcast closure about the thread that it runs on.
pub struct BroadcastContext<'a> {
    inner: blitz_core::BroadcastContext<'a>,
}

impl<'a> BroadcastContext<'a> {
    pub(crate) fn of(inner: blitz_core::BroadcastContext<'a>) -> BroadcastContext<'a> {
        BroadcastContext { inner }
    }

    /// The thread's index.
    #[inline]
    pub fn index(&self) -> usize {
        self.inner.index()
    }

    /// How many threads the pool has.
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.inner.num_workers()
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index())
            .field("num_threads", &self.num_threads())
            .finish_non_exhaustive()
    }
}
