//! The bitmap scheduler: runnable tasks are bits in a tree; see `blitz_parts::bitmap`.
//!
//! ```text
//!  woken or spawned on a worker ─▶ its LIFO slot ─evicts─▶ the tree
//!  woken during its own poll ────▶ its yield queue (the ring) ─overflows─▶ the tree
//!  woken or spawned elsewhere ───────────────────────────────────────────▶ the tree
//!
//!  a worker takes: LIFO slot (three in a row at most), yield queue and its own part of the tree in
//!  turns, then any part of the tree, then half of another's yield queue; once per interval the next
//!  task of the whole tree, or half of the yield queue of a worker that is stuck
//! ```
//!
//! A worker that takes a task of its own part as its next own task also moves the tasks behind it
//! in the same signal word into its yield queue. A worker that has no task of its own takes one of
//! another worker's part, and moves half of the others in that signal word into its yield queue. In
//! a turn of the queue or of other work, a worker takes a single task from the tree.
//!
//! A task gets a slot when it first needs one: when it is put into the tree, or begins to wait. So
//! a task that ends in its first poll, on the worker that spawned it, never gets one. Waking a
//! waiting task allocates nothing.

#![forbid(unsafe_code)]

use super::own::Tasks;
use super::trace;
use crate::state::OwnBitmap;
use crate::team::{OwnMarks, Team};
use blitz_parts::bitmap::{Bitmap, Marked, Position, Scan, Sleeper, SummaryTree, Told};
use blitz_parts::counter::Counter;
use blitz_parts::prim::{Step, broken};
use blitz_parts::task::{Header, Place, Runnable};
use blitz_parts::tuning::{RING_SLOTS, SIGNAL_BATCH};
use std::ptr::NonNull;

/// Signals a task that has a slot, from any thread that keeps the team alive.
pub(super) fn signal(team: &Team, bitmap: &Bitmap, task: Runnable) {
    let place = task.place();
    let signalled = bitmap.signal(task, || team.sleep().is_any_looking());
    trace::signal_set(place, signalled.activated);
    if signalled.activated {
        team.bitmap_totals.activated.add_shared(1);
    }
    act_on(team, signalled.told);
}

/// Notifies the guests that take tasks, and wakes a sleeper if a permit was given for one.
fn act_on(team: &Team, told: Told) {
    team.notify_guests_of_task();
    match told {
        Told::Nobody => team.watch_work(),
        Told::WakeOne => {
            team.bitmap_totals.permits_given.add_shared(1);
            if !broken(Step::RuntimeSignalTells) {
                team.sleep().wake_one();
            }
        }
        // The team has ended, and its tasks with it.
        Told::Closed => team.tasks.cancel_rest(),
    }
}

/// Notifies a worker of tasks that a scan found when it looked again.
fn notify_again(team: &Team, bitmap: &Bitmap, again: Option<Marked>) {
    if let Some(marked) = again {
        act_on(team, bitmap.tell(marked, || team.sleep().is_any_looking()));
    }
}

/// A worker's part in the tree.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    tree: &'a Bitmap,
    marks: OwnMarks<'a>,
    own: &'a OwnBitmap,
}

impl<'a> Tasks<'a> {
    /// This worker's part in the tree; `None` in the stealing scheduler.
    #[inline]
    pub(super) fn part(self) -> Option<Part<'a>> {
        let own = self.own().tasks.bitmap.as_deref()?;
        let marks = self.own_marks()?;
        Some(Part { tree: self.worker().team().bitmap()?, marks, own })
    }

    /// The index of this worker's part of the tree. A spare shares the part of another worker.
    fn part_index(self) -> usize {
        self.team().part_of(self.index())
    }

    /// Puts a task into the tree.
    pub(super) fn signal_task(self, part: Part<'_>, task: Runnable) {
        if task.place().is_none() {
            task.set_place(self.reserve_slot(part, task.header()));
        }
        signal(self.team(), part.tree, task);
    }

    /// Puts the older half of a full yield queue, and a task that did not fit, into the tree. It
    /// moves them one by one, because a chain would need an allocation.
    pub(super) fn overflow_into_tree(self, part: Part<'_>, task: Runnable) {
        let older = std::iter::from_fn(|| self.pop_ring()).take(RING_SLOTS / 2);
        for task in older.chain([task]) {
            self.queues.counters.overflowed.add(1);
            self.signal_task(part, task);
        }
    }

    /// Reserves a slot for a task.
    pub(super) fn reserve_slot(self, part: Part<'_>, task: NonNull<Header>) -> Place {
        let mut slots = part.own.slots.borrow_mut();
        part.tree.reserve(&mut slots, self.team().num_workers(), task)
    }

    /// Frees the slot of a task that has ended in a run of this worker, if it had one. `place` is
    /// the task's place before that run.
    #[inline]
    pub(super) fn free_slot_of(self, place: Option<Place>) {
        // Only the bitmap scheduler's places are slots.
        if self.own().tasks.bitmap.is_some() {
            if let Some(slot) = place {
                self.free_slot(slot);
            }
        }
    }

    /// Frees the slot of a task that has ended in a run of this worker. Until now no other thread
    /// could free it.
    pub(super) fn free_slot(self, place: Place) {
        if let Some(part) = self.part() {
            let slot = part.tree.identity(place);
            let freed = part.tree.free(&mut part.own.slots.borrow_mut(), slot);
            debug_assert!(freed, "a slot is freed once");
        }
    }

    /// The next task of the bitmap scheduler, when the LIFO slot has had its turn.
    pub(super) fn next_signalled(self, part: Part<'_>) -> Option<Runnable> {
        let turns = part.own.queue_turns.get();
        if turns > 0 {
            if let Some(task) = self.pop_yielded(part) {
                part.own.queue_turns.set(turns - 1);
                return Some(task);
            }
        }
        if let Some(task) = self.take_own(part) {
            part.own.queue_turns.set(1 + self.take_behind(part));
            // Yielded tasks stay unannounced while this worker polls them next. Now another poll
            // comes first, so announce them. The tasks taken along were also invisible to other
            // threads while they moved.
            if !broken(Step::RuntimeBehindTells) {
                self.notify_of_ring();
            }
            return Some(task);
        }
        part.own.queue_turns.set(1);
        if turns > 0 { None } else { self.pop_yielded(part) }
    }

    fn pop_yielded(self, part: Part<'_>) -> Option<Runnable> {
        let task = self.pop_ring();
        if task.is_none() {
            part.marks.own_waker().try_unmark_yield();
        }
        task
    }

    /// Takes a task from this worker's own part of the tree.
    pub(super) fn take_own(self, part: Part<'_>) -> Option<Runnable> {
        let workers = self.team().num_workers();
        let scan = part.tree.take_own(&part.own.cursor, self.part_index(), workers);
        self.found(part, scan, |_| true)
    }

    /// Moves the tasks behind the one that was just taken from this worker's part into the yield
    /// queue; returns how many. Leaves half of the queue free for tasks that yield.
    fn take_behind(self, part: Part<'_>) -> usize {
        let most = self.room_for_others().saturating_sub(RING_SLOTS / 2).min(SIGNAL_BATCH);
        let keep = |task| self.keep_signalled(task);
        let taken = part.tree.take_behind(&part.own.cursor, most, keep);
        count_kept(self.team(), part, &part.marks.taken_own, taken);
        taken
    }

    /// Takes a task from any part of the tree, for a worker that has found none in its own part.
    pub(super) fn take_signalled(self, part: Part<'_>) -> Option<Runnable> {
        let start = self.own().rng.below(part.tree.tree().leaf_count());
        let scan = part.tree.take_any(&part.own.cursor, start);
        let task = self.found(part, scan, |task| self.owns(task))?;
        if !self.owns(&task) {
            self.take_beside(part, &task);
        }
        Some(task)
    }

    /// Counts the task that a scan has taken, and notifies a worker of the tasks that the scan
    /// found when it looked again.
    fn found(
        self,
        part: Part<'_>,
        scan: Scan,
        is_own: impl FnOnce(&Runnable) -> bool,
    ) -> Option<Runnable> {
        notify_again(self.team(), part.tree, scan.again);
        let task = scan.task?;
        let marks = part.marks;
        let taken = if is_own(&task) { &marks.taken_own } else { &marks.taken_elsewhere };
        taken.add(1);
        trace::task_acquired(task.place(), self.index());
        Some(task)
    }

    /// Whether a task's slot is in this worker's part of the tree.
    fn owns(self, task: &Runnable) -> bool {
        let workers = self.team().num_workers();
        let owner = |place| SummaryTree::compute_partition_owner(Position::of(place).leaf, workers);
        task.place().map(owner) == Some(self.part_index())
    }

    /// Moves half of the tasks beside `task`, which was taken from another worker's part, into the
    /// yield queue.
    fn take_beside(self, part: Part<'_>, task: &Runnable) {
        let Some(place) = task.place() else { return };
        let keep = |task| self.keep_signalled(task);
        let taken = part.tree.take_beside(place, self.room_for_others(), keep);
        count_kept(self.team(), part, &part.marks.taken_elsewhere, taken);
        // No other thread could see these tasks while they moved.
        self.notify_of_ring();
    }

    /// How many further tasks to take along with one task. Zero without stealing, because no other
    /// worker would take them from this worker's queue.
    fn room_for_others(self) -> usize {
        if self.team().config.stealing { self.own_ring().room() } else { 0 }
    }

    fn keep_signalled(self, task: Runnable) {
        trace::task_acquired(task.place(), self.index());
        self.put_back(task, false);
    }

    /// Takes the next task of the whole tree, in turn. The worker whose part has this task may be
    /// stuck, and all others may be busy with their own parts.
    pub(super) fn take_in_turn(self, part: Part<'_>) -> Option<Runnable> {
        let scan = part.tree.take_in_turn(&part.own.round);
        self.found(part, scan, |task| self.owns(task))
    }

    /// Counts this worker as a sleeper of the tree: it is about to look for the last time.
    pub(crate) fn lie_down(self) -> Option<Sleeper> {
        let part = self.part()?;
        let sleeper = part.tree.lie_down();
        let workers = self.team().num_workers();
        part.marks.own_waker().sync_partition_summary(part.tree.tree(), self.part_index(), workers);
        Some(sleeper)
    }

    /// Takes a permit, if there is one, because this worker may have slept or been notified.
    pub(crate) fn get_up(self, sleeper: Option<Sleeper>) {
        let Some(part) = self.part() else { return };
        let permit = match sleeper {
            Some(sleeper) => part.tree.get_up(sleeper),
            // A waker does not know whether this worker counts as a sleeper, so look for a permit.
            None => part.tree.try_acquire(),
        };
        if permit.is_some() {
            part.marks.permits_taken.add(1);
            trace::permit_taken(self.index());
        }
    }
}

fn count_kept(team: &Team, part: Part<'_>, counter: &Counter, taken: usize) {
    if taken > 0 {
        counter.add(taken as u64);
        part.marks.own_waker().mark_yield();
        team.watch_left();
    }
}
