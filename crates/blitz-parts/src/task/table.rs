//! Which table of functions a task has.

use super::Vtable;
use crate::prim::{AtomicPtr, Relaxed};
use core::ptr;

/// The table of a task's functions: the ordinary one, or its twin while the task is probed.
///
/// Both tables are statics, and a run may use either of them at any time. But only a run with the
/// twin is of use to a probe. A worker loads the table after it has taken the task from a queue.
/// That queue passes the task from the thread that made it SCHEDULED to the worker. So the worker
/// sees the twin if the probe's own wake made the task SCHEDULED. If another wake did, the worker
/// may have loaded the ordinary table before the probe replaced it; in that case the probe does not
/// begin. Once a probe has begun, later runs see the twin, too, because the exchanges on the task's
/// word order each run before the next one.
pub(super) struct Table(AtomicPtr<Vtable>);

impl Table {
    #[inline]
    pub(super) fn new(ordinary: &'static Vtable) -> Table {
        Table(AtomicPtr::new(ptr::from_ref(ordinary).cast_mut()))
    }

    #[inline]
    pub(super) fn get(&self) -> &'static Vtable {
        // SAFETY: the pointer comes from a reference to a static.
        unsafe { &*self.0.load(Relaxed) } // O12
    }

    /// Replaces the ordinary table by its twin, and returns the ordinary one. `None` if the twin is
    /// there already.
    pub(super) fn begin_probe(&self) -> Option<&'static Vtable> {
        let ordinary = self.get();
        let twin = ptr::from_ref(ordinary.probed?).cast_mut();
        let before = ptr::from_ref(ordinary).cast_mut();
        let replaced = self.0.compare_exchange(before, twin, Relaxed, Relaxed); // O12
        replaced.is_ok().then_some(ordinary)
    }

    pub(super) fn end_probe(&self, ordinary: &'static Vtable) {
        self.0.store(ptr::from_ref(ordinary).cast_mut(), Relaxed); // O12
    }
}
