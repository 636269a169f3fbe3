//! Scopes, under Rayon's names. Each wraps a Blitz scope; only the argument type of closures
//! differs.

use crate::broadcast::BroadcastContext;
use crate::global::ready;
use std::fmt;

/// Runs `op` on a thread of the current or the global pool and waits for everything that is spawned
/// into the scope.
///
/// ```
/// let mut numbers = [1, 2, 3];
/// rayon_core::scope(|s| {
///     for number in &mut numbers {
///         s.spawn(move |_| *number *= 2);
///     }
/// });
/// assert_eq!(numbers, [2, 4, 6]);
/// ```
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    ready();
    blitz_core::scope(|scope| op(Scope::of(scope)))
}

/// Works like [`scope()`], with jobs that each thread starts in the order of their spawning.
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    ready();
    blitz_core::scope_fifo(|scope| op(ScopeFifo::of(scope)))
}

/// Works like [`scope()`], but `op` itself runs on the current thread, whichever that is.
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    ready();
    blitz_core::in_place_scope(|scope| op(Scope::of(scope)))
}

/// Works like [`scope_fifo`], but `op` itself runs on the current thread, whichever that is.
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    ready();
    blitz_core::in_place_scope_fifo(|scope| op(ScopeFifo::of(scope)))
}

/// A scope for jobs that may borrow everything that outlives `'scope`.
#[repr(transparent)]
pub struct Scope<'scope> {
    inner: blitz_core::Scope<'scope>,
}

impl<'scope> Scope<'scope> {
    pub(crate) fn of<'a>(inner: &'a blitz_core::Scope<'scope>) -> &'a Scope<'scope> {
        // SAFETY: the types have the same layout (`repr(transparent)`), and the same invariants.
        unsafe { &*std::ptr::from_ref(inner).cast::<Scope<'scope>>() }
    }

    /// Spawns a job into the scope. The spawning thread runs its jobs newest first.
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        self.inner.spawn(|scope| body(Scope::of(scope)));
    }

    /// Spawns a job into the scope for every thread of its pool.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        self.inner.spawn_broadcast(move |scope, context| {
            body(Scope::of(scope), BroadcastContext::of(context));
        });
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// A scope for jobs that start in order.
#[repr(transparent)]
pub struct ScopeFifo<'scope> {
    inner: blitz_core::ScopeFifo<'scope>,
}

impl<'scope> ScopeFifo<'scope> {
    pub(crate) fn of<'a>(inner: &'a blitz_core::ScopeFifo<'scope>) -> &'a ScopeFifo<'scope> {
        // SAFETY: the types have the same layout (`repr(transparent)`), and the same invariants.
        unsafe { &*std::ptr::from_ref(inner).cast::<ScopeFifo<'scope>>() }
    }

    /// Spawns a job into the scope; jobs of one thread start in the order of their spawning.
    pub fn spawn_fifo<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        self.inner.spawn_fifo(|scope| body(ScopeFifo::of(scope)));
    }

    /// Spawns a job into the scope for every thread of its pool.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        self.inner.spawn_broadcast(move |scope, context| {
            body(ScopeFifo::of(scope), BroadcastContext::of(context));
        });
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
