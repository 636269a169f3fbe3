//! The queue entry of a task.

use super::{Header, Place, Serial, waker};
use crate::prim::{Relaxed, model_has_failed};
use core::fmt;
use core::mem;
use core::panic::Location;
use core::ptr::NonNull;

/// A queue entry: a task that is SCHEDULED, and one reference to it. There is at most one per task.
///
/// Dropping it without running it cancels the task at once, even if it is shielded: the future is
/// dropped, and the task's waiter is notified.
#[must_use = "a task that is dropped instead of run is cancelled"]
pub struct Runnable(NonNull<Header>);

// SAFETY: `new` requires a `Send` future; `new_local` requires that the entry stays on its thread.
unsafe impl Send for Runnable {}

/// The result of one run. It is returned in two registers; one more field would prevent that.
#[must_use]
#[derive(Debug)]
pub enum Ran {
    /// The task has ended: it returned or panicked.
    Complete,
    /// The task has ended: it was cancelled.
    Cancelled,
    /// The task waits for a wake.
    Idle,
    /// The task was woken during its own poll, or yielded, and is SCHEDULED again: put it at the
    /// back of a queue.
    Again(Runnable),
}

impl Runnable {
    /// Polls the task once, or ends it if it was cancelled. Never unwinds: a panic goes to the join
    /// handle, or else to the scheduler.
    #[inline]
    pub fn run(self) -> Ran {
        let header = self.into_raw();
        // SAFETY: the queue entry's reference keeps the task alive.
        let run = unsafe { header.as_ref() }.vtable.get().run;
        // SAFETY: the task is SCHEDULED, and this was its queue entry.
        unsafe { run(header, &waker::VTABLE) }
    }

    /// The task's identity.
    #[inline]
    pub fn header(&self) -> NonNull<Header> {
        self.0
    }

    /// The kind of task, an even number. Tasks of one type usually have the same kind; tasks of
    /// different types have different kinds.
    ///
    /// The kind is the address of the table for probes, which is the same whether the task is being
    /// probed or not. The address of a function would not do: the compiler merges functions with
    /// equal code, such as the names of two `async` blocks of one function.
    #[inline]
    pub fn kind(&self) -> usize {
        // SAFETY: the entry's reference keeps the task alive.
        let table = unsafe { self.0.as_ref() }.vtable.get();
        core::ptr::from_ref(table.probed.unwrap_or(table)).addr()
    }

    /// The name of the future's type.
    pub fn type_name(&self) -> &'static str {
        // SAFETY: the entry's reference keeps the task alive.
        (unsafe { self.0.as_ref() }.vtable.get().type_name)()
    }

    /// The task's serial number.
    #[inline]
    pub fn serial(&self) -> Serial {
        // SAFETY: the entry's reference keeps the task alive.
        unsafe { self.0.as_ref() }.serial()
    }

    /// Where the task was spawned.
    pub fn site(&self) -> &'static Location<'static> {
        // SAFETY: the entry's reference keeps the task alive.
        unsafe { self.0.as_ref() }.site.location()
    }

    /// Notes when something happened to the task, in the scheduler's own units.
    #[inline]
    pub fn set_stamp(&self, stamp: u32) {
        // SAFETY: the entry's reference keeps the task alive.
        unsafe { self.0.as_ref() }.stamp.store(stamp, Relaxed);
    }

    /// The stamp that was noted last; zero in a new task.
    #[inline]
    pub fn stamp(&self) -> u32 {
        // SAFETY: the entry's reference keeps the task alive.
        unsafe { self.0.as_ref() }.stamp.load(Relaxed)
    }

    /// The place of the task in its scheduler, if it has one.
    #[inline]
    pub fn place(&self) -> Option<Place> {
        // SAFETY: the entry's reference keeps the task alive.
        let cell = unsafe { self.0.as_ref() }.place.get();
        // SAFETY: there is one entry per task, and no worker runs a task that has one: no other
        // thread uses the place.
        unsafe { cell.read() }
    }

    /// Sets where the scheduler keeps the task. A task keeps its first place, because its list
    /// depends on it.
    ///
    /// # Panics
    /// If the task has a place already.
    #[inline]
    pub fn set_place(&self, place: Place) {
        assert!(self.place().is_none(), "a task keeps its place");
        // SAFETY: the entry's reference keeps the task alive.
        let cell = unsafe { self.0.as_ref() }.place.get();
        // SAFETY: there is one entry per task, and no worker runs a task that has one: no other
        // thread uses the place.
        unsafe { cell.write(Some(place)) };
    }

    /// Converts the entry to one word, for a queue.
    #[inline]
    pub fn into_raw(self) -> NonNull<Header> {
        let header = self.0;
        mem::forget(self);
        header
    }

    /// Turns a pointer from [`into_raw`](Runnable::into_raw) into an entry again.
    ///
    /// # Safety
    /// 1. `header` came from `into_raw`, and is turned into an entry once.
    #[inline]
    pub unsafe fn from_raw(header: NonNull<Header>) -> Runnable {
        Runnable(header)
    }
}

impl Drop for Runnable {
    fn drop(&mut self) {
        if model_has_failed() {
            return;
        }
        // SAFETY: the queue entry's reference keeps the task alive.
        let header = unsafe { self.0.as_ref() };
        let cancel = header.vtable.get().cancel;
        let _ = header.state.start();
        // SAFETY: the task is RUNNING, and the queue entry's reference is now the run's.
        unsafe { cancel(self.0) };
    }
}

impl fmt::Debug for Runnable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Runnable").field(&self.0).finish()
    }
}
