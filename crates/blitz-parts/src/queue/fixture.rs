//! Tasks for the tests of queues.

use crate::task::{self, Header, Owned, Payload, Place, Ran, Runnable, Scheduler};
use core::ops::Range;
use core::panic::Location;
use core::ptr::NonNull;

/// A task that calls `work` in its only poll, or drops `work` uncalled if the task is cancelled. No
/// thread waits for the task.
pub(crate) fn task(work: impl FnOnce() + Send + 'static) -> Runnable {
    task::new(Location::caller(), async move { work() }, Nobody).0
}

/// Polls a task made by [`task`].
pub(crate) fn run(task: Runnable) {
    assert!(matches!(task.run(), Ran::Complete));
}

/// The scheduler of tasks that end in their first poll.
#[derive(Clone, Copy)]
struct Nobody;

// SAFETY: this scheduler points to nothing, and its methods are never called.
unsafe impl Scheduler for Nobody {
    fn schedule(&self, _: Runnable) {
        unreachable!("no thread wakes this task")
    }

    fn owned(&self, _: Place) -> &Owned {
        unreachable!("this task never waits")
    }

    fn report_panic(&self, _: Payload) {
        unreachable!("this task does not panic")
    }
}

/// Tasks that do nothing and are identified by numbers from zero on.
///
/// They are plain addresses here. So if no taker gets a task, or two takers do, the test fails
/// before the task is dropped twice or outside the model checker.
#[derive(Clone)]
pub(crate) struct Numbered(Vec<NonNull<Header>>);

// SAFETY: the addresses are only compared. They become tasks again only where a test ensures that
// no other thread has them.
unsafe impl Send for Numbered {}
// SAFETY: as above.
unsafe impl Sync for Numbered {}

impl Numbered {
    pub(crate) fn new(count: usize) -> Numbered {
        Numbered((0..count).map(|_| task(|| ()).into_raw()).collect())
    }

    /// The task of this number, for the caller to put into a queue.
    pub(crate) fn give(&self, number: usize) -> Runnable {
        // SAFETY: `new` or `take` turned the task into an address, and tests give each task to one
        // queue.
        unsafe { Runnable::from_raw(self.0[number]) }
    }

    /// The tasks of these numbers.
    pub(crate) fn give_all(&self, numbers: Range<usize>) -> impl Iterator<Item = Runnable> + '_ {
        numbers.map(|number| self.give(number))
    }

    /// The number of a task that has left every queue.
    pub(crate) fn take(&self, task: Runnable) -> usize {
        let task = task.into_raw();
        self.0.iter().position(|&known| known == task).expect("a task of this test")
    }

    /// The numbers of tasks that have left every queue.
    pub(crate) fn take_all(&self, tasks: impl IntoIterator<Item = Runnable>) -> Vec<usize> {
        tasks.into_iter().map(|task| self.take(task)).collect()
    }

    /// Asserts that `taken` are all tasks, each once, in any order, and cancels them.
    pub(crate) fn assert_each_once(&self, mut taken: Vec<usize>) {
        taken.sort_unstable();
        assert_eq!(taken, (0..self.0.len()).collect::<Vec<_>>());
        self.give_all(0..self.0.len()).for_each(drop);
    }
}
