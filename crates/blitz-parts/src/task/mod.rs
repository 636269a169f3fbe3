//! Async tasks: one word of state, one allocation, wakers of one word.

mod cell;
mod join;
mod owned;
mod panic;
mod reference;
#[cfg(test)]
pub(crate) mod rig;
mod runnable;
mod scheduler;
mod shield;
mod state;
#[cfg(all(test, not(blitz_loom)))]
mod test;
mod waker;

pub use cell::{new, new_local};
pub use join::{Failure, Join};
pub use owned::Owned;
pub use panic::Payload;
pub use reference::TaskRef;
pub use runnable::{Ran, Runnable};
pub use scheduler::{LateReport, Scheduler};
pub use shield::TooDeep;

use crate::prim;
use core::alloc::Layout;
use core::cell::UnsafeCell;
use core::fmt;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::task::Waker;
use state::State;

/// The first field of every task; its address is the task's identity.
#[repr(C)]
pub struct Header {
    state: State,
    vtable: &'static Vtable,
    /// For whoever holds the task's [`Runnable`]: a queue. Not even initialised otherwise.
    link: UnsafeCell<MaybeUninit<*mut Header>>,
    /// For whoever holds the task's [`Runnable`]: when it was scheduled, or zero.
    stamp: UnsafeCell<u64>,
    /// The list that the task is in, if it is LINKED. Only the runner uses it.
    list: UnsafeCell<MaybeUninit<NonNull<Owned>>>,
    /// Guarded by the list's lock.
    neighbours: UnsafeCell<MaybeUninit<owned::Neighbours>>,
    /// The join handle's, until JOIN_WAKER is set; then nobody's, and the runner's after COMPLETE.
    join_waker: UnsafeCell<MaybeUninit<Waker>>,
}

/// What differs between kinds of tasks.
struct Vtable {
    /// Polls a task that is SCHEDULED, with the queue entry's reference.
    run: unsafe fn(NonNull<Header>) -> Ran,
    /// Drops the future of a task that is RUNNING and ends it, with the run's reference.
    cancel: unsafe fn(NonNull<Header>),
    /// Hands a task that is SCHEDULED to its scheduler, with the queue entry's reference.
    schedule: unsafe fn(NonNull<Header>),
    /// Of the whole allocation.
    layout: Layout,
    /// Where the outcome is, from the header.
    outcome: usize,
}

impl Header {
    fn new(vtable: &'static Vtable) -> Header {
        Header {
            state: State::new(),
            vtable,
            link: UnsafeCell::new(MaybeUninit::uninit()),
            stamp: UnsafeCell::new(0),
            list: UnsafeCell::new(MaybeUninit::uninit()),
            neighbours: UnsafeCell::new(MaybeUninit::uninit()),
            join_waker: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Links the task to `next` while a queue owns it.
    ///
    /// # Safety
    /// 1. The caller alone has the task's [`Runnable`].
    #[inline]
    pub(crate) unsafe fn set_next(&self, next: *mut Header) {
        // SAFETY: nobody else reads or writes the link (obligation 1).
        unsafe { self.link.get().write(MaybeUninit::new(next)) };
    }

    /// The task that this one is linked to.
    ///
    /// # Safety
    /// 1. The caller alone has the task's [`Runnable`].
    /// 2. `set_next` was called before.
    #[inline]
    pub(crate) unsafe fn next(&self) -> *mut Header {
        // SAFETY: nobody else reads or writes the link (obligation 1).
        let link = unsafe { self.link.get().read() };
        // SAFETY: it was written (obligation 2).
        unsafe { link.assume_init() }
    }

    /// Hands the task to its scheduler.
    ///
    /// # Safety
    /// 1. The task is SCHEDULED, and the caller has the duty to queue it, with one reference for it.
    unsafe fn schedule(this: NonNull<Header>) {
        // SAFETY: the reference keeps the task alive.
        let schedule = unsafe { this.as_ref() }.vtable.schedule;
        // SAFETY: obligation 1 is passed on.
        unsafe { schedule(this) };
    }

    /// Gives up one reference, and frees the task if it was the last.
    ///
    /// # Safety
    /// 1. The reference is the caller's, who does not use the task after.
    unsafe fn release(this: NonNull<Header>) {
        // SAFETY: the reference keeps the task alive until it is given up.
        let last = unsafe { &(*this.as_ptr()).state }.release();
        if last {
            // SAFETY: that was the last reference.
            unsafe { Header::free(this) };
        }
    }

    /// Frees the allocation.
    ///
    /// # Safety
    /// 1. Nobody has a reference any more.
    unsafe fn free(this: NonNull<Header>) {
        // SAFETY: nobody else has the task (obligation 1).
        let layout = unsafe { this.as_ref() }.vtable.layout;
        // SAFETY: as above. A complete task has neither future nor waker, and whoever could want its
        // outcome has taken it, so the header is all there is to drop.
        unsafe { this.drop_in_place() };
        // SAFETY: `new` allocated it with this layout.
        unsafe { prim::dealloc(this.as_ptr().cast(), layout) };
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state.fmt(f)
    }
}
