//! Wakers: a counted reference to a task, in one word.

use super::state::Wake;
use super::{Header, probe};
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use core::task::{RawWaker, RawWakerVTable, Waker};

/// One table for all kinds of tasks, so that two wakers can be compared by their two words.
pub(super) static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop);

/// The table of wakers in the polls of a probed task. No other table equals this one, so a future
/// that keeps a waker from an earlier poll takes a new clone.
pub(super) static PROBED: RawWakerVTable =
    RawWakerVTable::new(clone_probed, wake, wake_by_ref, drop);

/// Creates a waker of `table`, one of those above, that borrows the caller's reference.
///
/// # Safety
/// 1. The caller has a reference that outlives the returned waker.
#[inline]
pub(super) unsafe fn borrowed(
    header: NonNull<Header>,
    table: &'static RawWakerVTable,
) -> ManuallyDrop<Waker> {
    let raw = RawWaker::new(header.as_ptr().cast_const().cast(), table);
    // SAFETY: the functions below keep the contract of a waker, for a header with a reference.
    ManuallyDrop::new(unsafe { Waker::from_raw(raw) })
}

/// Returns the task that `waker` wakes, if it is an ordinary waker of this module. The waker that a
/// probed task is polled with is not, but its clones are.
#[inline]
pub(super) fn header_of(waker: &Waker) -> Option<NonNull<Header>> {
    let ours = core::ptr::eq(waker.vtable(), &VTABLE);
    // SAFETY: a waker of this table was made by `raw` or `borrowed`.
    ours.then(|| unsafe { header(waker.data()) })
}

/// Returns the address of the task that `waker` wakes, if it is an ordinary waker of this module: a
/// task's waker, but not the one that a probed task is polled with. The address is the same as
/// [`TaskRef::address`](super::TaskRef::address).
///
/// ```
/// assert_eq!(blitz_parts::task::task_of(core::task::Waker::noop()), None);
/// ```
pub fn task_of(waker: &Waker) -> Option<usize> {
    header_of(waker).map(|header| header.addr().get())
}

/// Whether `waker` is the task's own waker, and not a wrapper of another future around it. Returns
/// false for the waker that a probed task is polled with.
///
/// ```
/// use core::{ptr::NonNull, task::Waker};
/// assert!(!blitz_parts::task::is_own(Waker::noop(), NonNull::dangling()));
/// ```
#[inline]
pub fn is_own(waker: &Waker, header: NonNull<Header>) -> bool {
    header_of(waker) == Some(header)
}

/// Whether a wake with `waker` is known to only queue a task. Any other waker may run any code: it
/// may block, call Blitz, or panic.
///
/// ```
/// use core::task::Waker;
/// assert!(!blitz_parts::task::only_queues(Waker::noop()));
/// ```
#[inline]
pub fn only_queues(waker: &Waker) -> bool {
    // SAFETY: the waker's reference keeps the task alive.
    header_of(waker).is_some_and(|header| unsafe { header.as_ref() }.vtable.get().only_queues)
}

fn raw(header: NonNull<Header>) -> RawWaker {
    RawWaker::new(header.as_ptr().cast_const().cast(), &VTABLE)
}

/// Converts a waker's data to the header.
///
/// # Safety
/// 1. `data` belongs to a waker of this module.
#[inline]
unsafe fn header(data: *const ()) -> NonNull<Header> {
    // SAFETY: `raw` or `borrowed` made it from a pointer that is not null.
    unsafe { NonNull::new_unchecked(data.cast_mut().cast()) }
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: `data` belongs to a waker.
    let header = unsafe { header(data) };
    // SAFETY: the waker's reference keeps the task alive.
    unsafe { header.as_ref() }.state.add_reference();
    raw(header)
}

/// Notes the current stack, and makes an ordinary waker.
unsafe fn clone_probed(data: *const ()) -> RawWaker {
    probe::note_clone(data.addr());
    // SAFETY: `data` belongs to a waker.
    unsafe { clone(data) }
}

unsafe fn wake(data: *const ()) {
    // SAFETY: `data` belongs to a waker.
    let header = unsafe { header(data) };
    // SAFETY: the waker, which is consumed, owns the reference.
    unsafe { wake_task(header) };
}

/// Wakes a task, and consumes a reference.
///
/// # Safety
/// 1. The caller owns the reference and does not use the task afterwards.
#[inline]
pub(super) unsafe fn wake_task(header: NonNull<Header>) {
    // SAFETY: the reference keeps the task alive until the exchange passes it on (obligation 1).
    match unsafe { &(*header.as_ptr()).state }.wake_by_value() {
        Wake::Nothing => {}
        // SAFETY: the exchange made the task SCHEDULED, and passed the reference to the queue
        // entry.
        Wake::Schedule => unsafe { Header::schedule(header) },
        // SAFETY: the reference was the last.
        Wake::Free => unsafe { Header::free(header) },
    }
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: `data` belongs to a waker.
    let header = unsafe { header(data) };
    // SAFETY: the waker's reference keeps the task alive.
    if unsafe { header.as_ref() }.state.wake_by_ref() == Wake::Schedule {
        // SAFETY: the exchange made the task SCHEDULED, with a reference for the queue entry.
        unsafe { Header::schedule(header) };
    }
}

unsafe fn drop(data: *const ()) {
    // SAFETY: `data` belongs to a waker.
    let header = unsafe { header(data) };
    // SAFETY: the waker owns a reference, which is given up together with the waker.
    unsafe { Header::release(header) };
}
