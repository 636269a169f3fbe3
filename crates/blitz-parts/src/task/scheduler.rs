//! The interface between a task and its runtime.

use super::{Header, Owned, Payload, Place, Runnable};
use core::ptr::NonNull;

/// Reports a panic after its task has ended, when the scheduler may be gone.
pub type LateReport = Box<dyn FnOnce(Payload) + Send>;

/// The interface between a task and its runtime. It is usually a pointer; every task has a copy.
///
/// # Safety
/// 1. The target of a copy is alive until each of its tasks has ended and the call that ended it
///    has returned: [`Runnable::run`], the drop of a `Runnable`, or [`Owned::close_and_cancel`]. It
///    need not outlive wakers, join handles and other references.
/// 2. The list that [`owned`](Scheduler::owned) returns stays in place as long, and is the same for
///    the same place; so is the one that [`settle`](Scheduler::settle) returns with the place.
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

    /// Puts a task that a waker or an abort made runnable where it will be run. Called on any
    /// thread.
    ///
    /// When the call begins the task has not ended. As soon as `task` is handed on it may end on
    /// another thread, and the runtime may go with its last task. An implementation that touches
    /// more than the queue after that has to keep the rest alive itself.
    fn schedule(&self, task: Runnable);

    /// Whether the poll that has just left its task waiting has asked for another poll. That works
    /// like a wake, without an exchange. Called on the thread that polled. By default it returns
    /// false.
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

    /// Takes back the `place` of a task that was just [settled](Scheduler::settle): it was
    /// cancelled meanwhile, and ends. Called on the same thread.
    fn unsettle(&self, _place: Place) {}

    /// The list of those tasks that are kept in `place`.
    fn owned(&self, place: Place) -> &Owned;

    /// Reports a panic of user code that no handle waits for.
    fn report_panic(&self, payload: Payload);

    /// Returns how to report a task's panic if its join handle is dropped without taking the
    /// outcome. The report must not need the scheduler to be alive. By default such a panic is
    /// dropped: the panic hook has reported it.
    fn late_report(&self) -> Option<LateReport> {
        None
    }
}
