//! The one allocation of a task: header, scheduler, and the future or its outcome.

use super::birth::Birth;
use super::join::{Reason, Unheard};
use super::probe::ProbedPoll;
use super::runnable::{Ran, Runnable};
use super::state::{Complete, Ended, Rest, Start};
use super::waker::{self, borrowed};
use super::{Header, Join, Payload, Place, Scheduler, Vtable, owned};
use crate::panic::caught;
use crate::prim::{Step, broken};
use crate::stock;
use core::cell::UnsafeCell;
use core::mem::{ManuallyDrop, MaybeUninit, offset_of};
use core::panic::Location;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll, RawWakerVTable};

#[repr(C)]
struct Cell<F: Future, S> {
    header: Header,
    scheduler: S,
    stage: UnsafeCell<Stage<F>>,
}

/// The future until the task ends; then, if a handle wants it, the output or the reason why there
/// is no output. The state word says which of these is here. The stage is empty when the task is
/// COMPLETE and the join handle is gone or has taken the outcome.
#[repr(C)]
union Stage<F: Future> {
    future: ManuallyDrop<F>,
    output: ManuallyDrop<F::Output>,
    failure: ManuallyDrop<Reason>,
}

/// Creates a task in state SCHEDULED, spawned at `site`. Returns its queue entry and its join
/// handle.
#[inline]
pub fn new<F, S>(
    site: &'static Location<'static>,
    future: F,
    scheduler: S,
) -> (Runnable, Join<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    S: Scheduler,
{
    // SAFETY: future and output may be sent.
    unsafe { new_local(site, future, scheduler) }
}

/// As [`new`], for a future that has to stay on this thread.
///
/// # Safety
/// 1. Unless the future may be sent, the [`Runnable`], and every later one that the scheduler is
///    given, is run or dropped on this thread, and the list that the scheduler returns is closed on
///    this thread.
/// 2. Unless the output may be sent, the restrictions of obligation 1 hold, too, and the [`Join`]
///    stays on this thread (the compiler enforces the latter).
pub unsafe fn new_local<F, S>(
    site: &'static Location<'static>,
    future: F,
    scheduler: S,
) -> (Runnable, Join<F::Output>)
where
    F: Future + 'static,
    F::Output: 'static,
    S: Scheduler,
{
    let header = Cell::allocate(site, future, scheduler);
    // SAFETY: the state word counts one reference for the entry and one for the handle.
    let runnable = unsafe { Runnable::from_raw(header) };
    // SAFETY: as above; `T` is the type of the task's output.
    let join = unsafe { Join::from_header(header) };
    (runnable, join)
}

impl<F: Future + 'static, S: Scheduler> Cell<F, S> {
    const VTABLE: &'static Vtable =
        &Vtable { run: Self::run, probed: Some(Self::PROBED), ..Self::COMMON };

    const PROBED: &'static Vtable =
        &Vtable { run: Self::run_probed, cancel: Self::cancel_probed, ..Self::COMMON };

    const COMMON: Vtable = Vtable {
        run: Self::run,
        cancel: Self::cancel,
        schedule: Self::schedule,
        type_name: core::any::type_name::<F>,
        only_queues: S::ONLY_QUEUES,
        memory: Self::MEMORY,
        stage: offset_of!(Self, stage),
        probed: None,
    };

    const MEMORY: stock::Kind = stock::Kind::of::<Self>();

    #[inline]
    fn allocate(site: &'static Location<'static>, future: F, scheduler: S) -> NonNull<Header> {
        // All slow steps are behind one branch: calls on the fast path would cost every spawn
        // registers.
        match Birth::quick(site).and_then(|birth| Some((birth, stock::take(Self::MEMORY)?))) {
            Some((birth, memory)) => Self::begin(memory, birth, future, scheduler),
            None => Self::allocate_slowly(site, future, scheduler),
        }
    }

    #[cold]
    #[inline(never)]
    fn allocate_slowly(
        site: &'static Location<'static>,
        future: F,
        scheduler: S,
    ) -> NonNull<Header> {
        Self::begin(stock::alloc(Self::MEMORY), Birth::of(site), future, scheduler)
    }

    /// Creates a task in memory that was allocated for it.
    #[inline(always)]
    fn begin(memory: NonNull<u8>, birth: Birth, future: F, scheduler: S) -> NonNull<Header> {
        let header = memory.cast::<Header>();
        // SAFETY: this thread owns the memory, which is large enough and aligned; a cell begins
        // with its header.
        unsafe { header.write(Header::new(Self::VTABLE, birth)) };
        // SAFETY: this thread owns the memory, and this is a field of it.
        unsafe { Header::part::<S>(header, offset_of!(Self, scheduler)).write(scheduler) };
        // SAFETY: as above; the fields of a union begin where it begins.
        unsafe { Self::stage::<F>(header).write(future) };
        header
    }

    /// Returns the scheduler by value, because the task may be freed while the scheduler is at
    /// work.
    ///
    /// # Safety
    /// 1. `header` begins a live `Cell<F, S>`.
    unsafe fn scheduler(header: NonNull<Header>) -> S {
        // SAFETY: the cell is live, and no thread writes the scheduler after it was made.
        unsafe { Header::part::<S>(header, offset_of!(Self, scheduler)).read() }
    }

    /// The place of the future, and later of the output or the failure.
    fn stage<T>(header: NonNull<Header>) -> *mut T {
        Header::part(header, offset_of!(Self, stage))
    }

    /// `Vtable::schedule`.
    unsafe fn schedule(header: NonNull<Header>) {
        // SAFETY: the queue entry's reference keeps the cell alive.
        let scheduler = unsafe { Self::scheduler(header) };
        // SAFETY: the caller passes on its duty to queue the task, with the reference for it.
        scheduler.schedule(unsafe { Runnable::from_raw(header) });
    }

    /// `Vtable::run`. Not inlined into `run_probed`: the closure below would then have two callers,
    /// and the compiler would inline it into neither.
    #[inline(never)]
    unsafe fn run(header: NonNull<Header>, table: &'static RawWakerVTable) -> Ran {
        // SAFETY: the run's reference keeps the cell alive until one of the ends below gives it up.
        let state = unsafe { &(*header.as_ptr()).state };
        if state.start() == Start::Cancel {
            // SAFETY: the task is RUNNING, and this thread runs it.
            unsafe { Self::cancel(header) };
            return Ran::Cancelled;
        }
        // SAFETY: as above.
        unsafe { header.as_ref() }.uses.stage.write();
        let mut output = MaybeUninit::<F::Output>::uninit();
        let polled = caught(|| {
            // SAFETY: the task is RUNNING: the future is there, and this thread alone uses it.
            let future = unsafe { &mut *Self::stage::<F>(header) };
            // SAFETY: a cell stays in place until it is freed, and the future is dropped in place.
            let future = unsafe { Pin::new_unchecked(future) };
            // SAFETY: the run's reference outlives the poll.
            let waker = unsafe { borrowed(header, table) };
            match future.poll(&mut Context::from_waker(&waker)) {
                Poll::Pending => false,
                // An output may be large: it is moved as rarely as possible.
                Poll::Ready(value) => {
                    output.write(value);
                    true
                }
            }
        });
        if let Ok(false) = polled {
            // SAFETY: the task is RUNNING, and this thread runs it.
            return unsafe { Self::rest(header) };
        }
        // SAFETY: the task is RUNNING, this thread runs it, and the future was not dropped yet.
        if let Err(payload) = unsafe { Self::drop_future(header) } {
            // SAFETY: the cell is live.
            unsafe { Self::report(header, payload) };
        }
        match polled {
            Ok(_) => {
                // SAFETY: the poll has written the output, and the future has made room.
                unsafe {
                    Self::stage::<MaybeUninit<F::Output>>(header).copy_from(&raw const output, 1)
                };
                // SAFETY: the task is RUNNING, this thread runs it, and its output is in place.
                unsafe { Self::finish(header, Ended::Output) };
            }
            // SAFETY: as above, and its future is gone.
            Err(payload) => unsafe { Self::fail(header, Some(payload)) },
        }
        Ran::Complete
    }

    /// `Vtable::run` of a task that is probed.
    unsafe fn run_probed(header: NonNull<Header>, _: &'static RawWakerVTable) -> Ran {
        let poll = ProbedPoll::begin(header.addr().get());
        // SAFETY: the caller's obligations are those of `run`.
        let ran = unsafe { Self::run(header, &waker::PROBED) };
        poll.end();
        ran
    }

    /// Handles a poll that left the task pending.
    ///
    /// # Safety
    /// 1. The task is RUNNING, and the caller runs it.
    unsafe fn rest(header: NonNull<Header>) -> Ran {
        // SAFETY: the run's reference keeps the cell alive until `rest` gives it up.
        let state = unsafe { &(*header.as_ptr()).state };
        let word = state.load();
        let mut due = word.cancel_is_due();
        // SAFETY: the cell is live.
        let yielded = unsafe { Self::scheduler(header) }.has_yielded();
        let newly_linked = !due && !word.is_linked() && !word.is_notified() && !yielded;
        // SAFETY: this thread runs the task.
        let newly_settled = newly_linked && unsafe { Self::place_of(header) }.is_none();
        if newly_linked && !broken(Step::TaskLinkFirst) {
            // SAFETY: this thread runs the task, which is in no list; the list stays in place
            // (Scheduler 2).
            due = !unsafe { Self::link(header) };
        }
        if !due {
            match state.rest(newly_linked, yielded) {
                Rest::Idle => {
                    if newly_linked && broken(Step::TaskLinkFirst) {
                        // SAFETY: none; this is a canary.
                        unsafe { Self::link(header) };
                    }
                    return Ran::Idle;
                }
                // SAFETY: the task is SCHEDULED, and the run's reference is now the queue entry's.
                Rest::Again => return Ran::Again(unsafe { Runnable::from_raw(header) }),
                Rest::Cancel => {}
            }
            if newly_linked {
                // SAFETY: this thread runs the task and has put it into the list.
                unsafe { Self::unlink(header) };
            }
        }
        if newly_settled {
            // SAFETY: this thread runs the task, which is in no list.
            unsafe { Self::unsettle(header) };
        }
        // SAFETY: the task is RUNNING, and this thread runs it.
        unsafe { Self::cancel(header) };
        Ran::Cancelled
    }

    /// The place of the task, if it has one.
    ///
    /// # Safety
    /// 1. The task is RUNNING, and the caller runs it.
    unsafe fn place_of(header: NonNull<Header>) -> Option<Place> {
        // SAFETY: the run's reference keeps the cell alive.
        let place = unsafe { header.as_ref() }.place.get();
        // SAFETY: only the runner uses the place.
        unsafe { place.read() }
    }

    /// Gives up the place that the task got in this run.
    ///
    /// # Safety
    /// 1. The task is RUNNING, run by the caller, and in no list.
    unsafe fn unsettle(header: NonNull<Header>) {
        // SAFETY: the run's reference keeps the cell alive.
        let place = unsafe { header.as_ref() }.place.get();
        // SAFETY: only the runner uses the place.
        if let Some(settled) = unsafe { place.replace(None) } {
            // SAFETY: the cell is live.
            unsafe { Self::scheduler(header) }.unsettle(settled);
        }
    }

    /// Puts the task into its list, and gives it a place if it has none. Returns whether the list
    /// is still open.
    ///
    /// # Safety
    /// 1. The task is RUNNING, run by the caller, and in no list.
    unsafe fn link(header: NonNull<Header>) -> bool {
        // SAFETY: the cell is live.
        let scheduler = unsafe { Self::scheduler(header) };
        // SAFETY: obligation 1.
        let owned = match unsafe { Self::place_of(header) } {
            Some(place) => scheduler.owned(place),
            None => {
                let (place, owned) = scheduler.settle(header);
                // SAFETY: the run's reference keeps the cell alive.
                let at = unsafe { header.as_ref() }.place.get();
                // SAFETY: only the runner uses the place.
                unsafe { at.write(Some(place)) };
                owned
            }
        };
        // SAFETY: obligation 1; the list stays in place (Scheduler 2).
        unsafe { owned::link(owned, header) }
    }

    /// Takes the task out of its list.
    ///
    /// # Safety
    /// 1. The task is RUNNING, run by the caller, and in its list.
    unsafe fn unlink(header: NonNull<Header>) {
        // SAFETY: the cell is live.
        let scheduler = unsafe { Self::scheduler(header) };
        // SAFETY: obligation 1.
        let Some(place) = (unsafe { Self::place_of(header) }) else {
            unreachable!("a task keeps the place that it has had since it was put into the list");
        };
        // SAFETY: obligation 1; a place has one list.
        unsafe { owned::unlink(scheduler.owned(place), header) };
    }

    /// `Vtable::cancel`.
    unsafe fn cancel(header: NonNull<Header>) {
        // SAFETY: the task is RUNNING and this thread runs it; its future is there.
        let payload = unsafe { Self::drop_future(header) }.err();
        // SAFETY: as above, and now the future is gone.
        unsafe { Self::fail(header, payload) };
    }

    /// `Vtable::cancel` of a task that is probed. The cancellation counts as a poll, since no poll
    /// follows.
    unsafe fn cancel_probed(header: NonNull<Header>) {
        let poll = ProbedPoll::begin(header.addr().get());
        // SAFETY: the caller's obligations are those of `cancel`.
        unsafe { Self::cancel(header) };
        if !broken(Step::TaskProbeCancelled) {
            poll.end();
        }
    }

    /// Ends the task without an output: it panicked, or was cancelled if there is no payload.
    ///
    /// # Safety
    /// 1. The task is RUNNING, the caller runs it and does not use it after, and the future is
    ///    gone.
    #[cold]
    unsafe fn fail(header: NonNull<Header>, payload: Option<Payload>) {
        let reason = payload.map(|payload| {
            // SAFETY: the run's reference keeps the cell alive.
            let late = unsafe { Self::scheduler(header) }.late_report();
            Box::new(Unheard { payload, late })
        });
        // SAFETY: the future has made room (obligation 1).
        unsafe { Self::stage::<Reason>(header).write(reason) };
        // SAFETY: obligation 1.
        unsafe { Self::finish(header, Ended::Failure) };
    }

    /// Drops the future; a panic of its drop is returned.
    ///
    /// # Safety
    /// 1. The task is RUNNING, the caller runs it, and the future has not been dropped.
    unsafe fn drop_future(header: NonNull<Header>) -> Result<(), Payload> {
        // SAFETY: the run's reference keeps the cell alive.
        unsafe { header.as_ref() }.uses.stage.write();
        let future = Self::stage::<F>(header);
        // SAFETY: obligation 1. A future whose drop panics counts as dropped.
        caught(|| unsafe { future.drop_in_place() })
    }

    /// Ends the task.
    ///
    /// # Safety
    /// 1. The task is RUNNING, the caller runs it and does not use it after.
    /// 2. The outcome is in place.
    unsafe fn finish(header: NonNull<Header>, ended: Ended) {
        // SAFETY: the run's reference keeps the cell alive until it is given up below.
        let state = unsafe { &(*header.as_ptr()).state };
        let word = state.load();
        let held = 1 + u64::from(word.is_linked());
        let unlink = || {
            if word.is_linked() {
                // SAFETY: this thread runs the task, which is LINKED.
                unsafe { Self::unlink(header) };
            }
        };
        if word.is_wanted() {
            unlink();
            match state.complete(held, ended) {
                Complete::Done => return,
                // SAFETY: the exchange kept one reference for this call.
                Complete::WakeJoin => return unsafe { Self::wake_join(header) },
                // SAFETY: the task is still RUNNING: no other thread has read the outcome, or will.
                Complete::Unwanted => unsafe { Self::drop_unwanted(header, ended) },
            }
        } else {
            // SAFETY: as above.
            unsafe { Self::drop_unwanted(header, ended) };
            if !broken(Step::TaskUnlinkFirst) {
                unlink();
            }
        }
        if state.complete_unwanted(held) {
            // SAFETY: those were the last references.
            unsafe { Header::free(header) };
        }
        if broken(Step::TaskUnlinkFirst) {
            unlink();
        }
    }

    /// Wakes the waiter for the task's end.
    ///
    /// # Safety
    /// 1. The exchange to COMPLETE found JOIN_WAKER, and kept a reference for the caller.
    unsafe fn wake_join(header: NonNull<Header>) {
        // SAFETY: after COMPLETE the runner owns the waker.
        let task = unsafe { header.as_ref() };
        // For the checker this is a read: at the same time the join handle may read the waker, to
        // compare it with another.
        task.uses.join_waker.read();
        // SAFETY: as above; JOIN_WAKER says that there is a waker.
        let waker = unsafe { task.join_waker.take() };
        if let Err(payload) = caught(|| waker.wake()) {
            // SAFETY: the reference keeps the cell alive.
            unsafe { Self::report(header, payload) };
        }
        // SAFETY: the caller passes its reference on (obligation 1).
        unsafe { Header::release(header) };
    }

    /// Drops the task's outcome, since no handle wants it.
    ///
    /// # Safety
    /// 1. The task is RUNNING, run by the caller, and the outcome is in place.
    unsafe fn drop_unwanted(header: NonNull<Header>, ended: Ended) {
        let panicked = match ended {
            Ended::Output => {
                let output = Self::stage::<F::Output>(header);
                // SAFETY: obligation 1.
                caught(|| unsafe { output.drop_in_place() }).err()
            }
            Ended::Failure => {
                // SAFETY: obligation 1.
                let reason = unsafe { Self::stage::<Reason>(header).read() };
                reason.map(|unheard| unheard.payload)
            }
        };
        if let Some(payload) = panicked {
            // SAFETY: obligation 1.
            unsafe { Self::report(header, payload) };
        }
    }

    /// Reports to the scheduler a panic for which no handle waits.
    ///
    /// # Safety
    /// 1. The cell is live, and run by the caller.
    #[cold]
    unsafe fn report(header: NonNull<Header>, payload: Payload) {
        // SAFETY: obligation 1.
        unsafe { Self::scheduler(header) }.report_panic(payload);
    }
}
