//! The context of another runtime, which every thread of a pool enters.

#![forbid(unsafe_code)]

use blitz_parts::prim::thread_local;
use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;

/// The context of another runtime, which a pool keeps for its threads.
pub(crate) trait Ambient: Any + Send + Sync {
    /// Enters the context on this thread until the guard is dropped.
    ///
    /// The guard must be dropped on this thread, before any older guard. Returns `None` if this
    /// context is already current, or if the thread's locals are being destroyed.
    fn enter(&self) -> Option<AmbientGuard>;

    /// Returns whether the current thread belongs to the other runtime.
    fn is_here(&self) -> bool;

    /// Ends the other runtime. Waits for its threads, unless it is called on one of them.
    ///
    /// Called once, when the pool has no tasks left, by the last worker that leaves. If no worker
    /// has ever run, the thread that drops the pool calls it.
    fn end(&self);

    /// Returns how many tasks of the other runtime are left while that runtime ends, at least 1.
    ///
    /// Returns 0 before the other runtime begins to end, and after it has ended.
    fn unfinished(&self) -> usize;
}

/// Leaves the context when dropped. It must stay on its thread.
pub(crate) type AmbientGuard = Box<dyn Any>;

thread_local! {
    /// The context of the pool that this thread is a worker of.
    static OWN: RefCell<Option<Arc<dyn Ambient>>> = const { RefCell::new(None) };
}

/// Sets the context that [`enter_own`] enters on this thread, and returns the old one.
pub(crate) fn replace_own(ambient: Option<Arc<dyn Ambient>>) -> Option<Arc<dyn Ambient>> {
    OWN.try_with(|own| own.replace(ambient)).ok().flatten()
}

/// Enters the context of the pool that this thread is a worker of, unless it is already current.
#[cold]
pub(super) fn enter_own() -> Option<AmbientGuard> {
    let own = OWN.try_with(|own| own.borrow().clone()).ok().flatten();
    own?.enter()
}
