//! A counted reference to a task of any kind.

use super::state::{Glance, Wake};
use super::{Header, Serial};
use crate::prim::Relaxed;
use core::fmt;
use core::panic::{Location, RefUnwindSafe, UnwindSafe};
use core::ptr::NonNull;

/// A counted reference to a task: its identity, and the right to abort and to shield it.
pub struct TaskRef(NonNull<Header>);

// SAFETY: a reference changes a task only by atomics, and freeing the task drops no user value.
unsafe impl Send for TaskRef {}
// SAFETY: as above.
unsafe impl Sync for TaskRef {}

// A panic leaves no reference half changed: references change one word only.
impl UnwindSafe for TaskRef {}
impl RefUnwindSafe for TaskRef {}

impl TaskRef {
    /// Creates another reference to a task.
    ///
    /// # Safety
    /// 1. The task is alive: the caller has a reference, or is inside its poll.
    pub unsafe fn from_header(header: NonNull<Header>) -> TaskRef {
        // SAFETY: obligation 1.
        unsafe { header.as_ref() }.state.add_reference();
        TaskRef(header)
    }

    /// Cancels the task: its future is dropped at the end of its current poll, or before the next
    /// one. A shield delays that. A task that has ended is not changed.
    pub fn abort(&self) {
        // SAFETY: `self` is a reference.
        unsafe { abort(self.0) };
    }

    /// Whether the task has ended.
    pub fn is_finished(&self) -> bool {
        self.as_header().state.is_complete()
    }

    /// Whether the task has a shield, at some recent moment.
    pub fn is_shielded(&self) -> bool {
        self.as_header().state.load().is_shielded()
    }

    /// The state at some recent moment, as text.
    pub fn state(&self) -> impl fmt::Display {
        self.as_header().state.load()
    }

    /// The name of the future's type.
    pub fn type_name(&self) -> &'static str {
        (self.as_header().vtable.get().type_name)()
    }

    /// The state of the task and the number of its wakers, at some recent moment.
    pub fn glance(&self) -> Glance {
        self.as_header().state.load().glance()
    }

    /// Where the task was spawned.
    pub fn site(&self) -> &'static Location<'static> {
        self.as_header().site.location()
    }

    /// The task's serial number: no other task of this process ever has it.
    pub fn serial(&self) -> Serial {
        self.as_header().serial()
    }

    /// Where the task is in memory: unique while a reference to it exists.
    pub fn address(&self) -> usize {
        self.0.addr().get()
    }

    /// The address of the task that awaits this one through its join handle, at some recent moment.
    /// `None` if no task of this crate awaits this task, or if this task has ended.
    pub fn awaited_by(&self) -> Option<usize> {
        let word = self.as_header().state.load();
        let waits = word.has_join_waker() && !word.is_complete();
        self.as_header().join_waker.task().filter(|_| waits)
    }

    /// The scheduler's last stamp, at some recent moment.
    pub fn stamp(&self) -> u32 {
        self.as_header().stamp.load(Relaxed)
    }

    pub(super) fn as_header(&self) -> &Header {
        // SAFETY: the reference keeps the task alive.
        unsafe { self.0.as_ref() }
    }

    pub(super) fn header(&self) -> NonNull<Header> {
        self.0
    }
}

impl Clone for TaskRef {
    fn clone(&self) -> TaskRef {
        // SAFETY: `self` is a reference.
        unsafe { TaskRef::from_header(self.0) }
    }
}

impl Drop for TaskRef {
    fn drop(&mut self) {
        // SAFETY: `self` owns the reference and is being dropped.
        unsafe { Header::release(self.0) };
    }
}

impl PartialEq for TaskRef {
    fn eq(&self, other: &TaskRef) -> bool {
        self.0 == other.0
    }
}

impl Eq for TaskRef {}

impl fmt::Debug for TaskRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {} {:?}", self.serial(), self.as_header())
    }
}

/// Cancels a task.
///
/// # Safety
/// 1. The caller has a reference.
pub(super) unsafe fn abort(header: NonNull<Header>) {
    // SAFETY: obligation 1.
    if unsafe { header.as_ref() }.state.abort() == Wake::Schedule {
        // SAFETY: the exchange made the task SCHEDULED, with a reference for the queue entry.
        unsafe { Header::schedule(header) };
    }
}
