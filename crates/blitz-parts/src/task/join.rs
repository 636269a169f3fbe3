//! The handle that waits for a task's end.

use super::join_waker::JoinWaker;
use super::reference::abort;
use super::scheduler::LateReport;
use super::state::{Ended, JoinSlot, Leave};
use super::{Header, Payload, Serial, TaskRef, waker};
use crate::panic::discard;
use crate::prim::model_has_failed;
use core::fmt;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::ptr::NonNull;
use core::task::{Context, Poll, Waker};

/// The join side of a task: one per task. Dropping it detaches the task. An output that exists
/// already is dropped with the handle. A panic that was not fetched goes to the scheduler's
/// [late report](super::Scheduler::late_report), if there is one.
///
/// A handle is one word, so that it moves in a register. A flag beside the pointer would be written
/// as one byte and read together with its neighbours, and the processor would stall on that read.
pub struct Join<T> {
    /// The task's header, plus [`TAKEN`] once the outcome has been given out.
    header: NonNull<Header>,
    output: PhantomData<T>,
}

/// Headers are aligned, so this bit of their addresses is free.
const TAKEN: usize = 1;

// SAFETY: the handle takes the output to its thread. Atomics guard everything else of the task that
// it uses.
unsafe impl<T: Send> Send for Join<T> {}
// SAFETY: through a shared reference a handle does only what a `TaskRef` does.
unsafe impl<T: Send> Sync for Join<T> {}

impl<T> Unpin for Join<T> {}

// A panic leaves no handle half changed: handles change one word only.
impl<T> UnwindSafe for Join<T> {}
impl<T> RefUnwindSafe for Join<T> {}

/// The kind of waker that a handle has left in its task.
#[derive(Clone, Copy)]
enum Left {
    // The first two are numbered as the cases of `JoinSlot`, so the frequent way needs no mapping.
    /// A waker of a task.
    Task,
    /// None: the task has ended.
    Nothing,
    /// Any other waker.
    Foreign,
}

impl Left {
    #[inline(always)]
    fn if_left(self, registered: JoinSlot) -> Left {
        match registered {
            JoinSlot::Yes => self,
            JoinSlot::Complete => Left::Nothing,
        }
    }
}

/// Why a task has no output.
#[derive(Debug)]
pub enum Failure {
    /// The task was cancelled.
    Cancelled,
    /// The task panicked, with this payload.
    Panicked(Payload),
}

/// The stored reason why a task has no output: it panicked, or else was cancelled.
pub(super) type Reason = Option<Box<Unheard>>;

/// A panic for the join handle, and how to report it if the handle is dropped.
pub(super) struct Unheard {
    pub(super) payload: Payload,
    pub(super) late: Option<LateReport>,
}

impl<T> Join<T> {
    /// Creates the handle of a new task.
    ///
    /// # Safety
    /// 1. The task's output is a `T`; the handle gets one reference to it, and its JOIN_INTEREST.
    pub(super) unsafe fn from_header(header: NonNull<Header>) -> Join<T> {
        Join { header, output: PhantomData }
    }

    /// Returns the outcome. If the task has not ended, the context's waker is woken when it does.
    ///
    /// # Panics
    /// If the outcome has been given out before.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<T, Failure>> {
        self.poll_finished(context).map(|()| self.take())
    }

    /// Whether the task has ended; if not, the context's waker is woken when it does. The outcome
    /// stays.
    #[inline]
    pub fn poll_finished(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.poll_finished_or(context, |_| ())
    }

    /// Works like [`poll_finished`](Self::poll_finished), and calls `foreign` with the task's
    /// number if it has left a clone of a waker that is not a task's. No clone that the handle left
    /// before is alive then.
    #[inline]
    pub fn poll_finished_or(
        &mut self,
        context: &mut Context<'_>,
        foreign: impl FnOnce(Serial),
    ) -> Poll<()> {
        if self.is_finished() {
            return Poll::Ready(());
        }
        // The first case is the frequent one.
        match self.register(context.waker()) {
            Left::Task => return Poll::Pending,
            Left::Nothing => return Poll::Ready(()),
            Left::Foreign => foreign(self.as_header().serial()),
        }
        Poll::Pending
    }

    /// The outcome if the task has ended. Leaves no waker in the header.
    ///
    /// # Panics
    /// If the outcome has been given out before.
    pub fn try_take(&mut self) -> Option<Result<T, Failure>> {
        self.is_finished().then(|| self.take())
    }

    /// Whether the task has ended.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.as_header().state.is_complete()
    }

    /// A reference to the task.
    pub fn task(&self) -> TaskRef {
        // SAFETY: the handle has a reference.
        unsafe { TaskRef::from_header(self.header()) }
    }

    /// As [`TaskRef::abort`].
    pub fn abort(&self) {
        // SAFETY: the handle has a reference.
        unsafe { abort(self.header()) };
    }

    /// Leaves a waker in the header, unless a waker of the same task is there. It is a separate
    /// function, so that polls of a handle whose task has ended save no registers for it.
    #[inline(never)]
    fn register(&mut self, waker: &Waker) -> Left {
        if self.as_header().state.load().has_join_waker() {
            return self.register_again(waker);
        }
        let Some(task) = waker::header_of(waker) else { return self.register_foreign(waker) };
        // SAFETY: the waker's reference keeps the task alive.
        let waker = unsafe { JoinWaker::of_task(task) };
        // SAFETY: while JOIN_WAKER is not set, the handle owns the place, which is empty.
        unsafe { self.leave_waker(waker) };
        Left::Task.if_left(self.announce_waker())
    }

    /// Does the work of `register` for a waker that is not a task's.
    #[cold]
    fn register_foreign(&mut self, waker: &Waker) -> Left {
        // SAFETY: while JOIN_WAKER is not set, the handle owns the place, which is empty.
        unsafe { self.leave_waker(JoinWaker::of_foreign(waker.clone())) };
        Left::Foreign.if_left(self.announce_waker())
    }

    /// Does the work of `register` if a waker is in the header.
    fn register_again(&mut self, waker: &Waker) -> Left {
        self.as_header().uses.join_waker.read();
        if self.as_header().join_waker.is_of_same_task(waker) {
            return Left::Task;
        }
        let left = if waker::header_of(waker).is_some() { Left::Task } else { Left::Foreign };
        let new = JoinWaker::of(waker);
        if self.as_header().state.unset_join_waker() == JoinSlot::Complete {
            return Left::Nothing;
        }
        // SAFETY: the exchange gave the waker back to the handle.
        let outdated = unsafe { self.unregister() };
        // SAFETY: as above.
        unsafe { self.leave_waker(new) };
        let registered = self.announce_waker();
        drop(outdated);
        left.if_left(registered)
    }

    /// Announces that a waker is in the header, or takes it out if the task has ended.
    fn announce_waker(&self) -> JoinSlot {
        let registered = self.as_header().state.set_join_waker();
        if registered == JoinSlot::Complete {
            // SAFETY: JOIN_WAKER was not set at the task's end, so the handle still owns the place.
            drop(unsafe { self.unregister() });
        }
        registered
    }

    /// Writes a waker into the header.
    ///
    /// # Safety
    /// 1. There is no waker in the header, and the handle owns the place.
    unsafe fn leave_waker(&self, waker: JoinWaker) {
        let header = self.as_header();
        header.uses.join_waker.write();
        // SAFETY: obligation 1.
        unsafe { header.join_waker.put(waker) };
    }

    /// Takes the waker out of the header.
    ///
    /// # Safety
    /// 1. There is a waker in the header, and the handle owns the place.
    unsafe fn unregister(&self) -> JoinWaker {
        self.as_header().uses.join_waker.write();
        // SAFETY: obligation 1.
        unsafe { self.as_header().join_waker.take() }
    }

    /// The outcome of a task that has ended.
    ///
    /// # Panics
    /// If the outcome has been given out before, or the task has not ended.
    #[inline]
    pub fn take(&mut self) -> Result<T, Failure> {
        assert!(
            !self.is_taken(),
            "a join handle gives the task's outcome once, and was asked again"
        );
        self.as_header().uses.stage.write();
        let word = self.as_header().state.load(); // O5
        assert!(word.is_complete(), "a join handle gives the outcome of a task that has ended");
        self.header = self.header.map_addr(|address| address | TAKEN);
        match word.ended() {
            // SAFETY: the task is COMPLETE with interest, so its output is there; it is read once.
            Ended::Output => Ok(unsafe { self.stage::<T>().read() }),
            // SAFETY: as above, for the reason.
            Ended::Failure => Err(match unsafe { self.stage::<Reason>().read() } {
                Some(unheard) => Failure::Panicked(unheard.payload),
                None => Failure::Cancelled,
            }),
        }
    }

    /// Drops the outcome of a task that has ended. An output is dropped in place, since it may be
    /// large.
    ///
    /// # Safety
    /// 1. The outcome is there, and no caller uses it afterwards.
    unsafe fn drop_untaken(&self) {
        self.as_header().uses.stage.write();
        let unheard = match self.as_header().state.load().ended() {
            // SAFETY: obligation 1.
            Ended::Output => return unsafe { self.stage::<T>().drop_in_place() },
            // SAFETY: obligation 1.
            Ended::Failure => unsafe { self.stage::<Reason>().read() },
        };
        match unheard.map(|unheard| (unheard.late, unheard.payload)) {
            Some((Some(report), payload)) => report(payload),
            Some((None, payload)) => discard(payload),
            None => {}
        }
    }

    /// Where the output or the reason is once the task has ended.
    fn stage<U>(&self) -> *mut U {
        Header::part(self.header(), self.as_header().vtable.get().stage)
    }

    fn as_header(&self) -> &Header {
        // SAFETY: the handle's reference keeps the task alive.
        unsafe { self.header().as_ref() }
    }

    fn header(&self) -> NonNull<Header> {
        let header = self.header.as_ptr().map_addr(|address| address & !TAKEN);
        // SAFETY: the pointer to a header is not null, and aligned.
        unsafe { NonNull::new_unchecked(header) }
    }

    fn is_taken(&self) -> bool {
        self.header.addr().get() & TAKEN != 0
    }
}

impl<T> Join<T> {
    /// Gives up a handle whose task may have begun, or ended.
    ///
    /// # Safety
    /// 1. The handle is not used afterwards, and the outcome has not been given out.
    unsafe fn leave(&mut self) {
        /// Gives up the handle's reference, even if the drop of an output unwinds.
        struct Reference(NonNull<Header>);
        impl Drop for Reference {
            fn drop(&mut self) {
                // SAFETY: the handle, which is being dropped, owns it.
                unsafe { Header::release(self.0) };
            }
        }

        // SAFETY: the handle's reference keeps the task alive until it is given up.
        match unsafe { &(*self.header().as_ptr()).state }.leave() {
            Leave::Gone => {}
            Leave::TakeWaker => {
                // SAFETY: the exchange gave the waker back to the handle.
                let waker = unsafe { self.unregister() };
                drop(Reference(self.header()));
                drop(waker);
            }
            Leave::Complete => {
                let _reference = Reference(self.header());
                // SAFETY: the task is COMPLETE with interest, and the outcome was not taken.
                unsafe { self.drop_untaken() };
            }
        }
    }
}

impl<T> Drop for Join<T> {
    #[inline]
    fn drop(&mut self) {
        if model_has_failed() {
            return;
        }
        if self.is_taken() {
            // SAFETY: the handle, which is being dropped, owns the reference.
            return unsafe { Header::release(self.header()) };
        }
        // A detached task has usually just been made. SAFETY: the handle's reference keeps the task
        // alive until it is given up.
        if !unsafe { &(*self.header().as_ptr()).state }.leave_new() {
            // SAFETY: the handle is being dropped, and has not given the outcome out.
            unsafe { self.leave() };
        }
    }
}

impl<T> fmt::Debug for Join<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "join of {:?}", self.as_header())
    }
}
