//! The one allocation of a task: header, scheduler, and the future or what came of it.

use super::join::{Outcome, Unheard};
use super::panic::caught;
use super::runnable::{Ran, Runnable};
use super::state::{Complete, Rest, Start};
use super::waker::borrowed;
use super::{Header, Join, Payload, Scheduler, Vtable, owned};
use crate::prim;
use core::alloc::Layout;
use core::cell::UnsafeCell;
use core::mem::{ManuallyDrop, offset_of};
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};
use std::alloc::handle_alloc_error;

#[repr(C)]
struct Cell<F: Future, S> {
    header: Header,
    scheduler: S,
    stage: UnsafeCell<Stage<F>>,
}

/// The future until the task ends; then the outcome, if anybody wants it. The state word says which: there
/// is nothing here when it is COMPLETE and the join handle has gone or has taken the outcome.
#[repr(C)]
union Stage<F: Future> {
    future: ManuallyDrop<F>,
    outcome: ManuallyDrop<Outcome<F::Output>>,
}

/// A new task in state SCHEDULED: its queue entry, and the handle that waits for it.
pub fn new<F, S>(future: F, scheduler: S) -> (Runnable, Join<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    S: Scheduler,
{
    // SAFETY: future and output may be sent.
    unsafe { new_local(future, scheduler) }
}

/// As [`new`], for a future that has to stay on this thread.
///
/// # Safety
/// 1. Unless the future may be sent, the [`Runnable`], and every later one that the scheduler is given, is
///    run or dropped on this thread, and the list that the scheduler names is closed on this thread.
/// 2. Unless the output may be sent, the same holds, and the [`Join`] stays on this thread (which the
///    compiler sees to).
pub unsafe fn new_local<F, S>(future: F, scheduler: S) -> (Runnable, Join<F::Output>)
where
    F: Future + 'static,
    F::Output: 'static,
    S: Scheduler,
{
    let header = Cell::allocate(future, scheduler);
    // SAFETY: the state word counts one reference for either.
    let runnable = unsafe { Runnable::from_raw(header) };
    // SAFETY: as above; the output's type is the task's.
    let join = unsafe { Join::from_header(header) };
    (runnable, join)
}

impl<F: Future + 'static, S: Scheduler> Cell<F, S> {
    const VTABLE: &'static Vtable = &Vtable {
        run: Self::run,
        cancel: Self::cancel,
        schedule: Self::schedule,
        layout: Layout::new::<Self>(),
        outcome: offset_of!(Self, stage),
    };

    fn allocate(future: F, scheduler: S) -> NonNull<Header> {
        let layout = Layout::new::<Self>();
        // SAFETY: the layout is not empty: a header is in it.
        let memory = unsafe { prim::alloc(layout) };
        let Some(header) = NonNull::new(memory.cast::<Header>()) else {
            handle_alloc_error(layout)
        };
        // SAFETY: the memory is ours, large enough and aligned; a cell begins with its header.
        unsafe { header.write(Header::new(Self::VTABLE)) };
        // SAFETY: the memory is ours, and this is a field of it.
        unsafe { place::<S>(header, offset_of!(Self, scheduler)).write(scheduler) };
        // SAFETY: as above; the fields of a union begin where it begins.
        unsafe { Self::stage::<F>(header).write(future) };
        header
    }

    /// The scheduler, by value: the task may go while the scheduler is at work.
    ///
    /// # Safety
    /// 1. `header` begins a live `Cell<F, S>`.
    unsafe fn scheduler(header: NonNull<Header>) -> S {
        // SAFETY: the cell is live, and nobody writes the scheduler after it was made.
        unsafe { header.cast::<Self>().as_ref() }.scheduler
    }

    /// Where the future or the outcome is.
    fn stage<T>(header: NonNull<Header>) -> *mut T {
        place(header, offset_of!(Self, stage))
    }

    /// `Vtable::schedule`.
    unsafe fn schedule(header: NonNull<Header>) {
        // SAFETY: the queue entry's reference keeps the cell alive.
        let scheduler = unsafe { Self::scheduler(header) };
        // SAFETY: the caller passes on its duty to queue the task, with the reference for it.
        scheduler.schedule(unsafe { Runnable::from_raw(header) });
    }

    /// `Vtable::run`.
    unsafe fn run(header: NonNull<Header>) -> Ran {
        // SAFETY: the run's reference keeps the cell alive until one of the ends below gives it up.
        let state = unsafe { &(*header.as_ptr()).state };
        if state.start() == Start::Cancel {
            // SAFETY: the task is RUNNING, and this thread runs it.
            unsafe { Self::cancel(header) };
            return Ran::Complete { cancelled: true };
        }
        let polled = caught(|| {
            // SAFETY: the task is RUNNING: the future is there, and this thread alone uses it.
            let future = unsafe { &mut *Self::stage::<F>(header) };
            // SAFETY: a cell stays in place until it is freed, and the future is dropped in place.
            let future = unsafe { Pin::new_unchecked(future) };
            // SAFETY: the run's reference outlives the poll.
            let waker = unsafe { borrowed(header) };
            future.poll(&mut Context::from_waker(&waker))
        });
        let outcome = match polled {
            // SAFETY: the poll was this thread's.
            Ok(Poll::Pending) => return unsafe { Self::rest(header) },
            Ok(Poll::Ready(output)) => {
                // SAFETY: the future has been polled to its end, by this thread.
                if let Err(payload) = unsafe { Self::drop_future(header) } {
                    // SAFETY: the cell is live.
                    unsafe { Self::report(header, payload) };
                }
                Outcome::Done(output)
            }
            Err(payload) => {
                // SAFETY: as above.
                if let Err(payload) = unsafe { Self::drop_future(header) } {
                    // SAFETY: the cell is live.
                    unsafe { Self::report(header, payload) };
                }
                // SAFETY: as above.
                unsafe { Self::panicked(header, payload) }
            }
        };
        // SAFETY: the task is RUNNING, this thread runs it, and its future is gone.
        unsafe { Self::finish(header, outcome) };
        Ran::Complete { cancelled: false }
    }

    /// What follows a poll that left the task pending.
    ///
    /// # Safety
    /// 1. The task is RUNNING, and the caller runs it.
    unsafe fn rest(header: NonNull<Header>) -> Ran {
        // SAFETY: the run's reference keeps the cell alive until `rest` says that it is gone.
        let state = unsafe { &(*header.as_ptr()).state };
        let word = state.load();
        let mut due = word.cancel_is_due();
        let newly_linked = !due && !word.is_linked() && !word.is_notified();
        if newly_linked {
            // SAFETY: the cell is live.
            let scheduler = unsafe { Self::scheduler(header) };
            // SAFETY: this thread runs the task, which is in no list; the list stays (Scheduler 2).
            due = !unsafe { owned::link(scheduler.owned(), header) };
        }
        if !due {
            match state.rest(newly_linked) {
                Rest::Idle => return Ran::Idle,
                // SAFETY: the task is SCHEDULED, and the run's reference is now the queue entry's.
                Rest::Again => return Ran::Again(unsafe { Runnable::from_raw(header) }),
                Rest::Cancel => {}
            }
            if newly_linked {
                // SAFETY: this thread runs the task and has put it into the list.
                unsafe { owned::unlink(header) };
            }
        }
        // SAFETY: the task is RUNNING, and this thread runs it.
        unsafe { Self::cancel(header) };
        Ran::Complete { cancelled: true }
    }

    /// `Vtable::cancel`.
    unsafe fn cancel(header: NonNull<Header>) {
        // SAFETY: the task is RUNNING and this thread runs it; its future is there.
        let outcome = match unsafe { Self::drop_future(header) } {
            Ok(()) => Outcome::Cancelled,
            // SAFETY: the cell is live.
            Err(payload) => unsafe { Self::panicked(header, payload) },
        };
        // SAFETY: as above, and now the future is gone.
        unsafe { Self::finish(header, outcome) };
    }

    /// Drops the future; a panic of its drop is returned.
    ///
    /// # Safety
    /// 1. The task is RUNNING, the caller runs it, and the future has not been dropped.
    unsafe fn drop_future(header: NonNull<Header>) -> Result<(), Payload> {
        let future = Self::stage::<F>(header);
        // SAFETY: obligation 1. A future whose drop panics counts as dropped.
        caught(|| unsafe { future.drop_in_place() })
    }

    /// Ends the task.
    ///
    /// # Safety
    /// 1. The task is RUNNING, the caller runs it and does not use it after, and the future is gone.
    unsafe fn finish(header: NonNull<Header>, mut outcome: Outcome<F::Output>) {
        // SAFETY: the run's reference keeps the cell alive until it is given up below.
        let state = unsafe { &(*header.as_ptr()).state };
        let word = state.load();
        let unlink = || {
            if word.is_linked() {
                // SAFETY: this thread runs the task, which is LINKED.
                unsafe { owned::unlink(header) };
            }
            1 + u64::from(word.is_linked())
        };
        let held = if word.is_wanted() {
            let stage = Self::stage::<Outcome<F::Output>>(header);
            // SAFETY: the future is gone, and nobody reads the outcome before COMPLETE.
            unsafe { stage.write(outcome) };
            let held = unlink();
            match state.complete(held) {
                Complete::Done => return,
                // SAFETY: the exchange kept one reference for this.
                Complete::WakeJoin => return unsafe { Self::wake_join(header) },
                Complete::Unwanted => {}
            }
            // SAFETY: the task is still RUNNING: nobody else has read the outcome, nor will.
            outcome = unsafe { stage.read() };
            // SAFETY: the cell is live.
            unsafe { Self::drop_unwanted(header, outcome) };
            held
        } else {
            // SAFETY: the cell is live.
            unsafe { Self::drop_unwanted(header, outcome) };
            unlink()
        };
        if state.complete_unwanted(held) {
            // SAFETY: those were the last references.
            unsafe { Header::free(header) };
        }
    }

    /// Wakes who waits for the task's end.
    ///
    /// # Safety
    /// 1. The exchange to COMPLETE found JOIN_WAKER, and kept a reference for the caller.
    unsafe fn wake_join(header: NonNull<Header>) {
        // SAFETY: after COMPLETE the waker is the runner's.
        let place = unsafe { header.as_ref() }.join_waker.get();
        // SAFETY: as above.
        let slot = unsafe { place.read() };
        // SAFETY: JOIN_WAKER says that it is there.
        let waker = unsafe { slot.assume_init() };
        if let Err(payload) = caught(|| waker.wake()) {
            // SAFETY: the reference keeps the cell alive.
            unsafe { Self::report(header, payload) };
        }
        // SAFETY: the reference is the caller's.
        unsafe { Header::release(header) };
    }

    /// Drops an outcome that nobody wants.
    ///
    /// # Safety
    /// 1. The cell is live, and run by the caller.
    unsafe fn drop_unwanted(header: NonNull<Header>, outcome: Outcome<F::Output>) {
        let payload = match outcome {
            Outcome::Cancelled => return,
            Outcome::Done(output) => match caught(|| drop(output)) {
                Ok(()) => return,
                Err(payload) => payload,
            },
            Outcome::Panicked(unheard) => unheard.payload,
        };
        // SAFETY: obligation 1.
        unsafe { Self::report(header, payload) };
    }

    /// The outcome of a panic.
    ///
    /// # Safety
    /// 1. The cell is live, and run by the caller.
    #[cold]
    unsafe fn panicked(header: NonNull<Header>, payload: Payload) -> Outcome<F::Output> {
        // SAFETY: obligation 1.
        let late = unsafe { Self::scheduler(header) }.late_report();
        Outcome::Panicked(Box::new(Unheard { payload, late }))
    }

    /// Tells the scheduler of a panic that nobody waits for.
    ///
    /// # Safety
    /// 1. The cell is live, and run by the caller.
    #[cold]
    unsafe fn report(header: NonNull<Header>, payload: Payload) {
        // SAFETY: obligation 1.
        unsafe { Self::scheduler(header) }.report_panic(payload);
    }
}

/// A part of a task's allocation, `offset` bytes behind the header's begin.
#[inline]
pub(super) fn place<T>(header: NonNull<Header>, offset: usize) -> *mut T {
    header.cast::<u8>().as_ptr().wrapping_add(offset).cast()
}
