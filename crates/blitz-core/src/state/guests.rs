//! Workers that park without looking for work and still hear of jobs from outside.
//!
//! They are not among the workers that the sleep protocol chooses from. A guest counts itself in
//! before it looks for the last time; a poster fences between its push and the look at the count.

#![forbid(unsafe_code)]

use blitz_parts::prim::{AcqRel, AtomicUsize, Mutex, MutexGuard, Relaxed};
use std::sync::PoisonError;

/// What a guest hears of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hears {
    /// Jobs from outside of the team.
    Jobs,
    /// Those, and tasks that are put where all workers look.
    JobsAndTasks,
}

/// The guests of a team.
#[derive(Default)]
pub(crate) struct Guests {
    list: Mutex<Vec<Guest>>,
    count: AtomicUsize,
    /// How many of them hear of tasks.
    task_count: AtomicUsize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Guest {
    worker: usize,
    hears: Hears,
}

impl Guests {
    /// Whether a guest has to be notified of a job. The caller has fenced since its push.
    #[inline]
    pub(crate) fn hear_of_jobs(&self) -> bool {
        self.count.load(Relaxed) > 0
    }

    /// Whether a guest has to be notified of a task. The caller has fenced since its push.
    #[inline]
    pub(crate) fn hear_of_tasks(&self) -> bool {
        self.task_count.load(Relaxed) > 0
    }

    /// Calls `notify` with the index of every guest, or of those that hear of tasks.
    #[cold]
    pub(crate) fn notify_all(&self, of: Hears, notify: impl Fn(usize)) {
        let list = self.lock();
        let chosen = list.iter().filter(|guest| of == Hears::Jobs || guest.hears == of);
        chosen.for_each(|guest| notify(guest.worker));
    }

    /// Adds `worker` to the guests.
    pub(crate) fn add(&self, worker: usize, hears: Hears) {
        self.lock().push(Guest { worker, hears });
        self.count.fetch_add(1, AcqRel);
        self.task_count.fetch_add(tasks(hears), AcqRel);
    }

    /// Takes one place of `worker` back. A worker has one per nested wait.
    pub(crate) fn remove(&self, worker: usize, hears: Hears) {
        let mut list = self.lock();
        if let Some(at) = list.iter().position(|&guest| guest == Guest { worker, hears }) {
            list.swap_remove(at);
        }
        drop(list);
        self.count.fetch_sub(1, AcqRel);
        self.task_count.fetch_sub(tasks(hears), AcqRel);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Guest>> {
        // No user code runs under the lock.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tasks(hears: Hears) -> usize {
    usize::from(hears == Hears::JobsAndTasks)
}
