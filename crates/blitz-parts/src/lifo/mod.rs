//! Holds the task that a worker scheduled last. Its data is still in the cache, so it usually runs
//! next.
//!
//! # Who calls it
//! Its worker (the owner): `put`, `take`. The watch, if the owner is stuck in one poll: `take`. A
//! thread that cancels all tasks at the end: `take`.
//!
//! # State
//! | value | meaning | who sets |
//! |---|---|---|
//! | null | nothing | the taker of a task, by exchange |
//! | a task | runs next | the owner only |
//!
//! # Transitions
//! ```text
//!  null ──put (store)──▶ a ──put (swap)──▶ b, a evicted
//!                        └──take (exchange)──▶ null
//! ```
//!
//! # Invariants
//! - **LIFO-1** Every task that was put leaves once: taken, or evicted by the next.
//! - **LIFO-2** Only the owner fills the slot: a slot that the owner saw empty is still empty when
//!   the owner fills it.
//! - **LIFO-3** What was written before `put` is visible to the taker of the task.
//! - **LIFO-4** A task that is still in the slot when the slot is dropped is cancelled.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | store or exchange in `put` | Release | O2 | LIFO-3 |
//! | O2 | exchange in `take` | Acquire | O1 | LIFO-3 |
//!
//! # What this does not do
//! It wakes no worker. Workers that go to sleep do not look into the slots of others: the owner
//! takes the task before it sleeps itself, or another thread relieves the owner.
//!
//! # Lineage
//! The tasks document of `docs/coverage.md`, corrected: there another thread may fill the slot of a
//! worker that is about to park, and the task is lost.

#[cfg(all(test, blitz_loom))]
mod model;
#[cfg(all(test, not(blitz_loom)))]
mod test;

use crate::prim::{Acquire, AtomicPtr, Relaxed, Release, Step, Turns, broken, model_has_failed};
use crate::task::{Header, Runnable};
use core::ptr::{NonNull, null_mut};

/// Room for the task that a worker runs next.
#[derive(Debug)]
pub struct LifoSlot {
    task: AtomicPtr<Header>,
    turns: Turns,
}

impl LifoSlot {
    /// Creates an empty slot.
    ///
    /// ```
    /// use blitz_parts::lifo::LifoSlot;
    /// let slot = LifoSlot::new();
    /// assert!(slot.is_empty() && slot.take().is_none());
    /// ```
    pub fn new() -> LifoSlot {
        LifoSlot { task: AtomicPtr::new(null_mut()), turns: Turns::default() }
    }

    /// Puts `task` into the slot and returns the task that it replaces.
    ///
    /// # Safety
    /// 1. At any time at most one thread calls this for one slot. If another thread takes over,
    ///    some other synchronisation orders its calls after those of the thread before it.
    #[inline]
    pub unsafe fn put(&self, task: Runnable) -> Option<Runnable> {
        let task = task.into_raw().as_ptr();
        let order = if broken(Step::LifoPutRelease) { Relaxed } else { Release };
        self.turns.take();
        let before = self.task.load(Relaxed);
        self.turns.take();
        if before.is_null() || broken(Step::LifoEvictExchange) {
            // Other threads only take, so the slot stays empty (LIFO-2).
            self.task.store(task, order); // O1
            return taken(before);
        }
        taken(self.task.swap(task, order)) // O1
    }

    /// Takes the task, if there is one.
    #[inline]
    pub fn take(&self) -> Option<Runnable> {
        self.turns.take();
        let mut seen = self.task.load(Relaxed);
        while !seen.is_null() {
            if broken(Step::LifoTakeExchange) {
                self.task.store(null_mut(), Relaxed);
                return taken(seen);
            }
            // The exchange never writes null over null. So each null except the first comes from a
            // thread that took a task.
            self.turns.take();
            match self.task.compare_exchange(seen, null_mut(), Acquire, Relaxed) {
                Ok(task) => return taken(task), // O2
                Err(now) => seen = now,
            }
        }
        None
    }

    /// Whether there is no task, at some recent moment.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.task.load(Relaxed).is_null()
    }
}

/// Converts the word that an exchange took out of a slot.
fn taken(task: *mut Header) -> Option<Runnable> {
    // SAFETY: the task came from `Runnable::into_raw`, and by LIFO-1 it leaves the slot once.
    NonNull::new(task).map(|task| unsafe { Runnable::from_raw(task) })
}

impl Default for LifoSlot {
    fn default() -> Self {
        LifoSlot::new()
    }
}

impl Drop for LifoSlot {
    fn drop(&mut self) {
        if !model_has_failed() {
            drop(self.take());
        }
    }
}
