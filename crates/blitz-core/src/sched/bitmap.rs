//! The signal scheduler: runnable tasks are bits in a tree; see `blitz_parts::bitmap`.
//!
//! ```text
//!  woken or spawned on a worker ─▶ its LIFO slot ─evicts─▶ the tree
//!  woken during its own poll ────▶ its yield queue (the ring) ─overflows─▶ the tree
//!  woken or spawned elsewhere ───────────────────────────────────────────▶ the tree
//!
//!  a worker takes: LIFO slot (three in a row at most), yield queue and its own part of the tree in turns, then any part
//!  of the tree, then half of another's yield queue; once per interval the next task of the whole tree, or half of the
//!  yield queue of one that is stuck
//! ```
//!
//! With a task of the tree come others of its signal word, into the yield queue: those behind it, or half of them if the
//! part is another's.
//!
//! A task gets a slot when it first needs one: when it is put into the tree, or begins to wait. So a task that ends
//! in its first poll, by the worker that spawned it, never has one; and waking one that waits allocates nothing.

#![forbid(unsafe_code)]

use super::trace;
use crate::team::Team;
use crate::worker::Worker;
use blitz_parts::bitmap::{
    Bitmap, Cursor, Marked, Position, Scan, SignalWaker, Sleeper, SlotCache, SummaryTree, Told,
};
use blitz_parts::counter::Counter;
use blitz_parts::task::{Header, Place, Runnable};
use blitz_parts::tuning::{RING_SLOTS, SIGNAL_BATCH};
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;

/// One worker's part in the signal scheduler. The fields below the line are touched by its own thread only.
pub(crate) struct BitmapPart {
    pub(crate) waker: SignalWaker,
    pub(crate) counters: BitmapCounters,
    // ------
    slots: RefCell<SlotCache>,
    cursor: Cursor,
    /// Goes round all parts of the tree, a task at a time.
    round: Cursor,
    /// How many tasks of the yield queue go before the next of the tree: as many as came from there the last time.
    queue_turns: Cell<usize>,
}

/// What one worker did with signals. Its own thread writes them.
#[derive(Default)]
pub(crate) struct BitmapCounters {
    /// Permits taken.
    pub(crate) permits_taken: Counter,
    /// Tasks taken from the own part of the tree.
    pub(crate) taken_own: Counter,
    /// Tasks taken from others' parts.
    pub(crate) taken_elsewhere: Counter,
}

/// What was done with signals by whomever: rare things, that any thread counts.
#[derive(Default)]
pub(crate) struct BitmapTotals {
    /// Bitmap that put their leaf into the root.
    pub(crate) activated: Counter,
    /// Permits given, each with a wake-up.
    pub(crate) permits_given: Counter,
}

impl BitmapPart {
    pub(crate) fn new(index: usize) -> BitmapPart {
        BitmapPart {
            waker: SignalWaker::new(),
            counters: BitmapCounters::default(),
            slots: RefCell::new(SlotCache::of_worker(index)),
            cursor: Cursor::default(),
            round: Cursor::default(),
            queue_turns: Cell::new(0),
        }
    }
}

impl Team {
    /// Bitmap a task that has a slot, from any thread that keeps the team alive.
    pub(super) fn signal(&self, signals: &Bitmap, task: Runnable) {
        let place = task.place();
        let signalled = signals.signal(task, || self.sleep().somebody_looks());
        trace::signal_set(place, signalled.activated);
        if signalled.activated {
            self.signal_totals.activated.add_shared(1);
        }
        self.act_on(signalled.told);
    }

    /// Wakes a sleeper for which there is a permit, if there is one, and the guests that hear of tasks.
    fn act_on(&self, told: Told) {
        self.tell_guests_of_task();
        match told {
            Told::Nobody => {}
            Told::WakeOne => {
                self.signal_totals.permits_given.add_shared(1);
                self.sleep().wake_one();
            }
            // The team has ended, and with it the task.
            Told::Closed => self.tasks.cancel_rest(),
        }
    }

    /// Somebody has to be told of tasks that a look has found again.
    fn tell_again(&self, signals: &Bitmap, again: Option<Marked>) {
        if let Some(marked) = again {
            self.act_on(signals.tell(marked, || self.sleep().somebody_looks()));
        }
    }
}

impl Worker {
    fn signal_part(&self) -> &BitmapPart {
        match &self.tasks().signal {
            Some(part) => part,
            None => unreachable!("a team with a signal tree has workers with a part in it"),
        }
    }

    /// Puts a task into the tree. Own thread only.
    pub(super) fn signal_task(&self, signals: &Bitmap, task: Runnable) {
        if task.place().is_none() {
            task.set_place(self.reserve_slot(signals, task.header()));
        }
        self.team().signal(signals, task);
    }

    /// Puts the older half of a full yield queue, and a task that finds no room there, into the tree. One by one, since
    /// a row of them would have to be allocated. Own thread only.
    pub(super) fn overflow_into_tree(&self, signals: &Bitmap, task: Runnable) {
        let older = std::iter::from_fn(|| self.pop_ring()).take(RING_SLOTS / 2);
        for task in older.chain([task]) {
            self.tasks().counters.overflowed.add(1);
            self.signal_task(signals, task);
        }
    }

    /// A slot for a task. Own thread only.
    pub(super) fn reserve_slot(&self, signals: &Bitmap, task: NonNull<Header>) -> Place {
        let mut slots = self.signal_part().slots.borrow_mut();
        signals.reserve(&mut slots, self.team().num_workers(), task)
    }

    /// The slot of a task that is about to be run, if it has one. Own thread only.
    #[inline]
    pub(super) fn slot_of(&self, task: &Runnable) -> Option<Place> {
        // Only a signal scheduler's places are slots.
        self.tasks().signal.as_ref()?;
        task.place()
    }

    /// The task of a slot has ended, in a run of this worker: until now nobody else could free the slot. Own thread
    /// only.
    pub(super) fn free_slot(&self, place: Place) {
        if let Some(signals) = self.team().signals() {
            let slot = signals.identity(place);
            let freed = signals.free(&mut self.signal_part().slots.borrow_mut(), slot);
            debug_assert!(freed, "a slot is freed once");
        }
    }

    /// The next task in signal mode, when the LIFO slot has had its turn. Own thread only.
    pub(super) fn next_signalled(&self, part: &BitmapPart) -> Option<Runnable> {
        let signals = self.team().signals()?;
        let turns = part.queue_turns.get();
        if turns > 0 {
            if let Some(task) = self.pop_yielded(part) {
                part.queue_turns.set(turns - 1);
                return Some(task);
            }
        }
        if let Some(task) = self.take_own(signals, part) {
            part.queue_turns.set(1 + self.take_behind(signals, part));
            // What yielded is not told of while this worker comes to it next; now another poll comes first. And
            // while those behind the task were on their way nobody could see them.
            self.tell_of_ring();
            return Some(task);
        }
        part.queue_turns.set(1);
        if turns > 0 { None } else { self.pop_yielded(part) }
    }

    fn pop_yielded(&self, part: &BitmapPart) -> Option<Runnable> {
        let task = self.pop_ring();
        if task.is_none() {
            part.waker.try_unmark_yield();
        }
        task
    }

    /// A task of the own part of the tree. Own thread only.
    fn take_own(&self, signals: &Bitmap, part: &BitmapPart) -> Option<Runnable> {
        let workers = self.team().num_workers();
        self.found(signals, signals.take_own(&part.cursor, self.index(), workers), |_| true)
    }

    /// The tasks behind one that was taken from the own part, into the yield queue; returns how many. Half of
    /// the queue is left to those that yield. Own thread only.
    fn take_behind(&self, signals: &Bitmap, part: &BitmapPart) -> usize {
        let most = self.room_for_others().saturating_sub(RING_SLOTS / 2).min(SIGNAL_BATCH);
        let taken = signals.take_behind(&part.cursor, most, |task| self.keep_signalled(task));
        self.count_kept(part, &part.counters.taken_own, taken);
        taken
    }

    /// A task of any part of the tree, for a worker that has found none in its own. Own thread only.
    pub(super) fn take_signalled(&self, signals: &Bitmap) -> Option<Runnable> {
        let part = self.signal_part();
        let start = self.rng.below(signals.tree().leaf_count());
        let scan = signals.take_any(&part.cursor, start);
        let task = self.found(signals, scan, |task| self.owns(task))?;
        if !self.owns(&task) {
            self.take_beside(signals, part, &task);
        }
        Some(task)
    }

    /// What a look has found, counted; and somebody told of what it has found again. Own thread only.
    fn found(
        &self,
        signals: &Bitmap,
        scan: Scan,
        is_own: impl FnOnce(&Runnable) -> bool,
    ) -> Option<Runnable> {
        self.team().tell_again(signals, scan.again);
        let task = scan.task?;
        let counters = &self.signal_part().counters;
        let taken = if is_own(&task) { &counters.taken_own } else { &counters.taken_elsewhere };
        taken.add(1);
        trace::task_acquired(task.place(), self.index());
        Some(task)
    }

    /// Whether a task's slot is in this worker's part of the tree.
    fn owns(&self, task: &Runnable) -> bool {
        let workers = self.team().num_workers();
        let owner = |place| SummaryTree::compute_partition_owner(Position::of(place).leaf, workers);
        task.place().map(owner) == Some(self.index())
    }

    /// Half of the tasks beside one that was taken from another's part, into the yield queue. Own thread only.
    fn take_beside(&self, signals: &Bitmap, part: &BitmapPart, task: &Runnable) {
        let Some(place) = task.place() else { return };
        let room = self.room_for_others();
        let taken = signals.take_beside(place, room, |task| self.keep_signalled(task));
        self.count_kept(part, &part.counters.taken_elsewhere, taken);
        // While they were on their way nobody could see them.
        self.tell_of_ring();
    }

    /// How many tasks of the tree may come with one. Without stealing none, since nobody else would come to them.
    fn room_for_others(&self) -> usize {
        if self.team().config.stealing { self.ring_room() } else { 0 }
    }

    fn keep_signalled(&self, task: Runnable) {
        trace::task_acquired(task.place(), self.index());
        self.put_back(task, false);
    }

    fn count_kept(&self, part: &BitmapPart, counter: &Counter, taken: usize) {
        if taken > 0 {
            counter.add(taken as u64);
            part.waker.mark_yield();
        }
    }

    /// The next task of the whole tree, in turn: its worker may be stuck, and all others have enough of their own.
    /// Own thread only.
    pub(super) fn take_in_turn(&self, signals: &Bitmap) -> Option<Runnable> {
        let scan = signals.take_in_turn(&self.signal_part().round);
        self.found(signals, scan, |task| self.owns(task))
    }

    /// This worker is about to look for the last time before it sleeps. Own thread only.
    pub(crate) fn lie_down(&self) -> Option<Sleeper> {
        let signals = self.team().signals()?;
        let sleeper = signals.lie_down();
        let waker = &self.signal_part().waker;
        let workers = self.team().num_workers();
        waker.sync_partition_summary(signals.tree(), self.index(), workers);
        Some(sleeper)
    }

    /// This worker may have slept, or been notified. Own thread only.
    pub(crate) fn get_up(&self, sleeper: Option<Sleeper>) {
        let Some(signals) = self.team().signals() else { return };
        let permit = match sleeper {
            Some(sleeper) => signals.get_up(sleeper),
            // Whoever wakes a worker does not know whether it is one of those that count as sleepers.
            None => signals.try_acquire(),
        };
        if permit.is_some() {
            self.signal_part().counters.permits_taken.add(1);
            trace::permit_taken(self.index());
        }
    }
}
