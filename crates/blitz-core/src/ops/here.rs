//! `Here`: the worker that a parallel loop runs on, for `blitz-par`.
//!
//! A loop asks `Here` before each block whether a fork is wanted, and forks through `Here`, which
//! holds the worker. So neither step has to look up the worker of the current thread.

use super::join::join_on;
use crate::team::{Owner, current};
use std::fmt;

/// The worker that the current call runs on. It stays on its thread.
#[derive(Clone, Copy)]
pub struct Here<'a>(Owner<'a>);

impl<'a> Here<'a> {
    #[inline(always)]
    pub(crate) fn new(owner: Owner<'a>) -> Here<'a> {
        Here(owner)
    }

    /// Whether some worker is idle and this worker has no public job for it. Always true in a pool
    /// that publishes each fork, such as that of an analysis.
    #[inline(always)]
    #[must_use]
    pub fn wanted(self) -> bool {
        self.0.jobs().is_fork_wanted_here()
    }

    /// How many workers the pool has. Inside [`analyze`](crate::analyze) this is the number for the
    /// pool in which `analyze` was called.
    #[inline]
    #[must_use]
    pub fn workers(self) -> usize {
        self.0.team().width()
    }

    /// Runs both closures, potentially at once, as [`join`](crate::join) does. `a` runs right here
    /// and need not be `Send`.
    ///
    /// The first argument of each closure is the worker that runs it. The second argument of `b`
    /// says whether a thief has taken `b`.
    ///
    /// # Panics
    /// If a closure panics, the other closure still runs to its end, and then the panic continues
    /// here. If both panic, the panic of `a` continues.
    #[inline]
    pub fn join<A, B, RA, RB>(self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(Here<'_>) -> RA,
        B: FnOnce(Here<'_>, bool) -> RB + Send,
        RB: Send,
    {
        let mine = Mine(self);
        join_on(self.0, false, |_| a(self), move |stolen| b(mine.or_thief(stolen), stolen))
    }
}

impl fmt::Debug for Here<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Here").field(&self.0.index()).finish()
    }
}

/// The worker that has forked, as seen inside the fork.
struct Mine<'a>(Here<'a>);

// SAFETY: a thief does not use the value; `or_thief` uses it only on the thread of its worker.
unsafe impl Send for Mine<'_> {}

impl<'a> Mine<'a> {
    /// The worker that runs the fork: the one that has forked, unless the fork was stolen.
    #[inline(always)]
    fn or_thief(self, stolen: bool) -> Here<'a> {
        if !stolen {
            return self.0;
        }
        match current() {
            Some(owner) => Here(owner),
            None => unreachable!("jobs of a pool run on its workers"),
        }
    }
}
