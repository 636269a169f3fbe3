//! Lists of waiting tasks, which otherwise only wakers would reach.

use super::state::Kill;
use super::{Header, TaskRef};
use crate::prim::{Mutex, MutexGuard, Step, broken};
use crate::tuning::LIST_PART;
use core::fmt;
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};

/// Tasks that wait, or have waited and not ended yet. Holds a reference to each.
///
/// A task joins at the end of the first poll that leaves it waiting, and leaves when it ends.
pub struct Owned {
    list: Mutex<List>,
}

struct List {
    first: *mut Header,
    len: usize,
    closed: bool,
}

/// A task's neighbours in its list; null at either end. A task that has left is its own `before`.
#[derive(Clone, Copy)]
pub(super) struct Neighbours {
    before: *mut Header,
    after: *mut Header,
}

// SAFETY: the list is behind a lock, and any thread that closes it may end its tasks: `new`
// requires `Send` futures, and `new_local` requires that the list is closed on its thread.
unsafe impl Send for Owned {}
// SAFETY: as above.
unsafe impl Sync for Owned {}

impl Owned {
    /// An empty list.
    pub fn new() -> Owned {
        Owned { list: Mutex::new(List { first: null_mut(), len: 0, closed: false }) }
    }

    /// How many tasks are in the list.
    pub fn len(&self) -> usize {
        self.lock().len
    }

    /// Whether no task is in the list.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Closes the list and cancels every task in it, even shielded ones.
    ///
    /// A waiting task is ended here. A task that is in a queue, on its way there, or being polled
    /// is marked and left to the thread that has it. Returns the number of marked tasks;
    /// [`len`](Owned::len) returns how many of them have not ended yet. A task that would join
    /// later is cancelled instead.
    pub fn close_and_cancel(&self) -> usize {
        let (mut taken, left) = self.close();
        while let Some(task) = NonNull::new(taken) {
            // SAFETY: the list's reference is now the run's, and keeps the task alive.
            let cancel = unsafe { task.as_ref() }.vtable.get().cancel;
            // SAFETY: the task is RUNNING, run by this thread, which has taken it out of the list.
            taken = unsafe { neighbours(task) }.after;
            // SAFETY: as above.
            unsafe { cancel(task) };
        }
        left
    }

    /// Closes the list; returns the tasks to end here, and how many are left to other threads.
    fn close(&self) -> (*mut Header, usize) {
        let mut taken = null_mut();
        let mut list = self.lock();
        list.closed = true;
        let mut at = list.first;
        while let Some(task) = NonNull::new(at) {
            // SAFETY: a task in the list is alive, since the thread that ends it takes it out
            // first.
            let header = unsafe { task.as_ref() };
            // SAFETY: the lock is held.
            at = unsafe { neighbours(task) }.after;
            if header.state.kill() == Kill::Cancel {
                // SAFETY: the lock is held, and the task is in this list.
                unsafe { list.remove(task) };
                let place = Neighbours { before: null_mut(), after: taken };
                // SAFETY: the task is RUNNING, run by this thread, and in no list.
                unsafe { set_neighbours(task, place) };
                taken = task.as_ptr();
            }
        }
        (taken, list.len)
    }

    /// Returns the tasks in the list: all that were there during the whole call, and some that came
    /// or left meanwhile. If the list is closed during the call, some tasks may be missing.
    ///
    /// The list is locked for [`LIST_PART`] tasks at a time, so that no worker waits for long.
    pub fn tasks(&self) -> Vec<TaskRef> {
        let mut tasks = Vec::new();
        while self.more_tasks(&mut tasks) {}
        tasks
    }

    /// Adds the next tasks of the list to `tasks`; returns whether there may be more.
    fn more_tasks(&self, tasks: &mut Vec<TaskRef>) -> bool {
        // Reserve before taking the lock, because moving a long vector takes long.
        tasks.reserve(LIST_PART);
        let list = self.lock();
        // New tasks come in front, and tasks that leave do not come back. Take the last of the seen
        // tasks that are still here: the tasks after it have not been seen. Once the list is
        // closed, a task's neighbours do not show whether the task is in the list. So a reader that
        // has seen tasks stops then, since few tasks are left.
        let is_here = |task: &TaskRef| {
            // SAFETY: the lock is held, and the place was set: the task is in the list or was.
            let place = unsafe { neighbours(task.header()) };
            !list.closed && place.before != task.header().as_ptr()
        };
        let mut at = match tasks.iter().rposition(is_here) {
            // SAFETY: the lock is held, and the task is in the list.
            Some(last) => unsafe { neighbours(tasks[last].header()) }.after,
            None if list.closed && !tasks.is_empty() => null_mut(),
            None => list.first,
        };
        for _ in 0..LIST_PART {
            let Some(task) = NonNull::new(at) else { return false };
            debug_assert!(tasks.len() < tasks.capacity(), "no allocation under the lock");
            // SAFETY: a task in the list is alive while the list is locked.
            tasks.push(unsafe { TaskRef::from_header(task) });
            // SAFETY: the lock is held.
            at = unsafe { neighbours(task) }.after;
        }
        !at.is_null()
    }

    /// Calls `f` for every task in the list, under its lock: `f` must not use the list, nor end a
    /// task.
    pub fn for_each(&self, mut f: impl FnMut(NonNull<Header>)) {
        let list = self.lock();
        let mut at = list.first;
        while let Some(task) = NonNull::new(at) {
            f(task);
            // SAFETY: the lock is held.
            at = unsafe { neighbours(task) }.after;
        }
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        // Only `for_each` calls foreign code under the lock, and it changes nothing.
        self.list.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Default for Owned {
    fn default() -> Owned {
        Owned::new()
    }
}

impl fmt::Debug for Owned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owned").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// Puts a task into `owned`; returns whether the list is still open.
///
/// # Safety
/// 1. The task is RUNNING, run by the caller, and in no list.
/// 2. The list stays alive and in place until the task is out of it.
pub(super) unsafe fn link(owned: &Owned, task: NonNull<Header>) -> bool {
    let mut list = owned.lock();
    if list.closed && !broken(Step::TaskLinkLooks) {
        return false;
    }
    // SAFETY: the lock is held, and the task is in no list.
    unsafe { list.insert(task) };
    true
}

/// Takes a task out of its list.
///
/// # Safety
/// 1. The task is RUNNING, run by the caller, and in this list.
pub(super) unsafe fn unlink(owned: &Owned, task: NonNull<Header>) {
    // SAFETY: the lock is held, and the task is in this list.
    unsafe { owned.lock().remove(task) };
}

impl List {
    /// Puts a task in front.
    ///
    /// # Safety
    /// 1. The task is alive and in no list, and this list's lock is held.
    unsafe fn insert(&mut self, task: NonNull<Header>) {
        let place = Neighbours { before: null_mut(), after: self.first };
        // SAFETY: the lock is held.
        unsafe { set_neighbours(task, place) };
        if let Some(second) = NonNull::new(self.first) {
            // SAFETY: the lock is held, and the task is in this list.
            let after = unsafe { neighbours(second) }.after;
            let place = Neighbours { before: task.as_ptr(), after };
            // SAFETY: as above.
            unsafe { set_neighbours(second, place) };
        }
        self.first = task.as_ptr();
        self.len += 1;
    }

    /// Takes a task out.
    ///
    /// # Safety
    /// 1. The task is in this list, whose lock is held.
    unsafe fn remove(&mut self, task: NonNull<Header>) {
        // SAFETY: obligation 1.
        let Neighbours { before, after } = unsafe { neighbours(task) };
        match NonNull::new(before) {
            None => self.first = after,
            Some(previous) => {
                // SAFETY: a neighbour is in this list, too.
                let further = unsafe { neighbours(previous) }.before;
                // SAFETY: as above.
                unsafe { set_neighbours(previous, Neighbours { before: further, after }) };
            }
        }
        if let Some(next) = NonNull::new(after) {
            // SAFETY: a neighbour is in this list, too.
            let further = unsafe { neighbours(next) }.after;
            // SAFETY: as above.
            unsafe { set_neighbours(next, Neighbours { before, after: further }) };
        }
        self.len -= 1;
        // The task is its own neighbour now, which tells a reader that the task has left.
        let gone = Neighbours { before: task.as_ptr(), after: null_mut() };
        // SAFETY: the lock is held.
        unsafe { set_neighbours(task, gone) };
    }
}

/// A task's place in its list.
///
/// # Safety
/// 1. The task is in a list, or was in one, and the caller holds the lock of that list; or the
///    caller has taken the task out and runs it.
/// 2. The task's place was set.
unsafe fn neighbours(task: NonNull<Header>) -> Neighbours {
    // SAFETY: a task in a list is alive, and so is one that is run.
    let place = unsafe { task.as_ref() }.neighbours.get();
    // SAFETY: no other thread uses the place (obligation 1).
    let place = unsafe { place.read() };
    // SAFETY: it was set (obligation 2).
    unsafe { place.assume_init() }
}

/// Changes a task's place.
///
/// # Safety
/// 1. The task is alive. Either it is in a list, about to join it or just out of it, and the caller
///    holds the lock of that list; or the caller has taken the task out and runs it.
unsafe fn set_neighbours(task: NonNull<Header>, place: Neighbours) {
    // SAFETY: obligation 1.
    let cell = unsafe { task.as_ref() }.neighbours.get();
    // SAFETY: no other thread uses the place (obligation 1).
    unsafe { cell.write(MaybeUninit::new(place)) };
}

#[cfg(all(test, not(blitz_loom)))]
mod tests {
    use crate::task::rig::Rig;
    use crate::tuning::LIST_PART;
    use core::future::pending;

    #[test]
    fn a_reader_finds_its_place_again_after_tasks_have_left() {
        let rig = Rig::new();
        let joins: Vec<_> = (0..3 * LIST_PART).map(|_| rig.spawn(pending::<()>())).collect();
        assert_eq!(rig.run_all(), joins.len());
        let mut seen = Vec::new();
        assert!(rig.owned.more_tasks(&mut seen));
        assert_eq!(seen.len(), LIST_PART);
        // The newest come first. Of the seen tasks, only the first stays.
        let gone: Vec<_> = seen[1..].iter().map(|task| task.serial()).collect();
        joins.iter().filter(|join| gone.contains(&join.task().serial())).for_each(|j| j.abort());
        assert_eq!(rig.run_all(), gone.len());
        assert!(rig.owned.more_tasks(&mut seen));
        // All seen tasks leave.
        seen.iter().for_each(|task| task.abort());
        rig.run_all();
        while rig.owned.more_tasks(&mut seen) {}
        let serials: Vec<_> = seen.iter().map(|task| task.serial()).collect();
        let expected: Vec<_> = joins.iter().rev().map(|join| join.task().serial()).collect();
        assert_eq!(serials, expected, "each task once, the newest first");
        rig.owned.close_and_cancel();
        seen.truncate(1);
        assert!(!rig.owned.more_tasks(&mut seen));
        assert_eq!(seen.len(), 1, "a closed list has nothing new");
        drop(seen);
        assert!(rig.is_well_and_done());
    }
}
