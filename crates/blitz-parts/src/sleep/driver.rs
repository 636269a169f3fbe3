//! The driver slot, in which one worker at a time sleeps until an event or a notice comes.

use super::WORKERS_MAX;
use crate::prim::{AcqRel, AtomicUsize, Relaxed, Release, model_has_failed};
use std::any::{Any, TypeId};
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Waits for the outside world on behalf of a pool's tasks: for sockets and timers.
///
/// Only the thread that has the [`DriverLease`] calls `block`, `poll` and `dispatch`.
pub trait Driver: Any + Send + Sync {
    /// Blocks until an event has to be dispatched, and returns true; or until `wake`, and returns
    /// false. It collects events and wakes no task.
    fn block(&self) -> bool;

    /// Makes the current or the next `block` return. Any thread may call it.
    fn wake(&self);

    /// As [`block`](Driver::block), but does not block.
    fn poll(&self) -> bool;

    /// Whether `block` would return at once, as far as the system can tell without waiting. Any
    /// thread may call it.
    fn has_news(&self) -> bool {
        false
    }

    /// Wakes the tasks that wait for the noted events. Keeps every waker that may run user code.
    /// Returns whether it keeps any.
    fn dispatch(&self) -> bool;

    /// Calls the wakers that [`dispatch`](Driver::dispatch) has kept, until none is left. If one of
    /// them panics, the next call continues after it. Any thread may call it, several at once.
    /// While any waker is kept, `poll` and `block` return true.
    fn call_kept(&self) {}

    /// A worker that is about to sleep calls this if no worker is active any more. It is also
    /// called if all workers sleep when the last closure that may block has ended.
    fn pool_is_idle(&self) {}

    /// Returns the events that tasks of pools wait for, as far as the driver knows them. Any thread
    /// may call it; it calls no waker, and does not delay a worker for long.
    fn waits(&self) -> Vec<DriverWait> {
        Vec::new()
    }

    /// Called when the pool has ended and no worker calls `block` any more. Ends all waits.
    fn shut_down(&self) {}
}

/// A task that waits for the outside world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverWait {
    /// The task's address: what [`task_of`](crate::task::task_of) returns for its waker.
    pub task: usize,
    /// The awaited event.
    pub event: Awaited,
}

/// What a task waits for in the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A descriptor, or an operation on one, in words.
    Io(String),
    /// A moment, as the time that is left until then.
    Timer(Duration),
}

/// Casts the driver to `D`, if it is one.
#[inline]
pub fn downcast<D: Driver>(driver: &dyn Driver) -> Option<&D> {
    if driver.type_id() != TypeId::of::<D>() {
        return None;
    }
    // SAFETY: the driver's type id shows that it is a `D`.
    Some(unsafe { &*std::ptr::from_ref(driver).cast::<D>() })
}

/// As [`downcast`], for a driver in an `Arc`.
pub fn downcast_arc<D: Driver>(driver: Arc<dyn Driver>) -> Option<Arc<D>> {
    downcast::<D>(&*driver)?;
    // SAFETY: the driver is a `D`, and the pointer comes from an `Arc` of that driver.
    Some(unsafe { Arc::from_raw(Arc::into_raw(driver).cast::<D>()) })
}

/// The bits of the word that name the holder of the lease: `i + 1` stands for worker `i`. The bits
/// above them count visits.
const HOLDER: usize = (1 << 17) - 1;
const VISIT: usize = HOLDER + 1;
/// There is a driver, and no worker has the lease.
const FREE: usize = 0;
/// There is no driver yet. No worker has this number.
const NONE: usize = usize::MAX;
const _: () = assert!(WORKERS_MAX < HOLDER);

/// The pool's driver once there is one, which worker has the lease, and how often workers had it.
pub(super) struct DriverSlot {
    word: AtomicUsize,
    driver: OnceLock<Arc<dyn Driver>>,
}

impl DriverSlot {
    pub(super) fn new() -> DriverSlot {
        DriverSlot { word: AtomicUsize::new(NONE), driver: OnceLock::new() }
    }

    /// Plugs a driver in; returns false if there was one already.
    pub(super) fn plug(&self, driver: Arc<dyn Driver>) -> bool {
        let first = self.driver.set(driver).is_ok();
        if first {
            self.word.store(FREE, Release); // O8
        }
        first
    }

    /// Leases the driver to worker `index`, if no worker has it.
    pub(super) fn try_take(&self, index: usize) -> Option<DriverLease<'_>> {
        let mut word = self.word.load(Relaxed);
        while word & HOLDER == FREE {
            match self.word.compare_exchange(word, word | (index + 1), AcqRel, Relaxed) {
                Ok(_) => return Some(DriverLease { lease: self, visits: word }), // O9
                // Another worker had the lease meanwhile, and may have left.
                Err(now) => word = now,
            }
        }
        None
    }

    /// The worker that has the lease, if a worker has it.
    pub(super) fn holder(&self) -> Option<usize> {
        match self.word.load(Relaxed) & HOLDER {
            FREE | HOLDER => None,
            taken => Some(taken - 1),
        }
    }

    /// How often a worker has had the lease, if there is a driver and no worker has it now.
    pub(super) fn visits_if_free(&self) -> Option<usize> {
        // Visit counts are only compared with each other: they give no access to the driver.
        let word = self.word.load(Relaxed);
        (word & HOLDER == FREE).then_some(word / VISIT)
    }

    pub(super) fn driver(&self) -> Option<&Arc<dyn Driver>> {
        self.driver.get()
    }
}

impl fmt::Debug for DriverSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DriverSlot").field("holder", &self.holder()).finish_non_exhaustive()
    }
}

/// The right to wait in the driver and to dispatch its events. Dropping it frees the driver for
/// other workers.
#[derive(Debug)]
#[must_use = "the driver's events have to be dispatched"]
pub struct DriverLease<'a> {
    lease: &'a DriverSlot,
    /// The word without its holder.
    visits: usize,
}

impl Drop for DriverLease<'_> {
    fn drop(&mut self) {
        // After a failure the checker's objects are gone.
        if !model_has_failed() {
            self.lease.word.store(self.visits.wrapping_add(VISIT), Release); // O9
        }
    }
}
