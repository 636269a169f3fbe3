//! The interface between a task and its runtime.

use super::{Header, Owned, Payload, Place, Runnable};
use core::ptr::NonNull;

/// Reports a panic after its task has ended, when the scheduler may be gone.
pub type LateReport = Box<dyn FnOnce(Payload) + Send>;

/// The interface between a task and its runtime. The implementing type is usually a pointer to the
/// runtime; every task has a copy of the pointer.
///
/// # Safety
/// 1. The target of the pointer is alive until every task that has a copy has ended, and until the
///    call that ended the task has returned: [`Runnable::run`], the drop of a `Runnable`, or
///    [`Owned::close_and_cancel`]. The target need not outlive wakers, join handles and other
///    references.
/// 2. The list that [`owned`](Scheduler::owned) returns is not moved or freed during that time.
///    Each call with the same [`Place`] returns the same list, and [`settle`](Scheduler::settle)
///    returns that list together with the `Place`.
/// 3. No method unwinds.
///
/// # Examples
/// A scheduler that lives as long as the program:
///
/// ```
/// use blitz_parts::task::{self, Owned, Payload, Place, Ran, Runnable, Scheduler};
/// use std::sync::Mutex;
///
/// struct Queue {
///     entries: Mutex<Vec<Runnable>>,
///     owned: Owned,
/// }
///
/// // SAFETY: the queue is never freed, and its methods do not unwind.
/// unsafe impl Scheduler for &'static Queue {
///     fn schedule(&self, task: Runnable) {
///         self.entries.lock().unwrap().push(task);
///     }
///     fn owned(&self, _: Place) -> &Owned {
///         &self.owned
///     }
///     fn report_panic(&self, _payload: Payload) {}
/// }
///
/// let queue = Queue { entries: Mutex::new(Vec::new()), owned: Owned::new() };
/// let queue: &'static Queue = Box::leak(Box::new(queue));
/// let site = std::panic::Location::caller();
/// let (runnable, mut join) = task::new(site, async { 6 * 7 }, queue);
/// assert!(matches!(runnable.run(), Ran::Complete));
/// assert!(matches!(join.try_take(), Some(Ok(42))));
/// ```
pub unsafe trait Scheduler: Copy + Send + Sync + 'static {
    /// Whether [`schedule`](Scheduler::schedule) runs no user code, neither wakers nor drops, when
    /// a waker calls it. The default promises nothing.
    const ONLY_QUEUES: bool = false;

    /// Enqueues a task that a waker or an abort has made runnable. Called on any thread.
    ///
    /// The task has not ended when the call begins. Once `task` is in a queue, it may end on
    /// another thread, and the end of the last task may free the runtime. If an implementation
    /// touches other parts of the runtime after that, it has to keep these parts alive itself.
    fn schedule(&self, task: Runnable);

    /// Returns whether the poll that has just returned pending asked for another poll. Such a
    /// request works like a wake, but needs no atomic exchange. Called on the thread that polled.
    /// The default is false.
    fn has_yielded(&self) -> bool {
        false
    }

    /// Chooses the place of a task that waits for the first time and has none yet. Returns the
    /// place and the list of the tasks that are kept there. Called on the thread that polled. By
    /// default all tasks are kept in one place.
    fn settle(&self, _task: NonNull<Header>) -> (Place, &Owned) {
        let place = Place::new(0);
        (place, self.owned(place))
    }

    /// Takes back the `place` of a task that was just [settled](Scheduler::settle), because the
    /// task was cancelled meanwhile and ends. Called on the thread that called `settle`.
    fn unsettle(&self, _place: Place) {}

    /// The list of those tasks that are kept in `place`.
    fn owned(&self, place: Place) -> &Owned;

    /// Reports a panic of user code. No join handle returns this panic.
    fn report_panic(&self, payload: Payload);

    /// Returns how to report a task's panic if its join handle is dropped without taking the
    /// outcome. The report must not need the scheduler to be alive. By default such a panic is
    /// dropped: the panic hook has reported it.
    fn late_report(&self) -> Option<LateReport> {
        None
    }
}
