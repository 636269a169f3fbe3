//! Where runnable tasks wait that no worker has, as in `sched/shared` and `sched/signal`: a queue or the signal tree.
//! Which of the two a runtime has, the schedule decides, unless a canary needs all of them for one.

use super::team::Team;
use super::worker::Worker;
use crate::bitmap::{Bitmap, Cursor, Marked, Sleeper, SlotCache, SlotId, Told};
use crate::prim::{Step, any_below, broken};
use crate::queue::{Chain, Queue};
use crate::task::{Header, Place, Runnable};
use crate::tuning::SIGNAL_BATCH;
use core::cell::{Cell, RefCell};
use core::ptr::NonNull;

/// What all workers take tasks from.
#[expect(clippy::large_enum_variant, reason = "as in blitz-core")]
pub(super) enum Shared {
    Queue(Queue),
    Bitmap(Bitmap),
}

/// One worker's part in the signal scheduler; its own thread only.
pub(super) struct SignalPart {
    stock: RefCell<SlotCache>,
    cursor: Cursor,
    round: Cursor,
    /// How many tasks of the yield queue go before the next of the tree.
    queue_turns: Cell<usize>,
}

impl SignalPart {
    pub(super) fn new(index: usize) -> SignalPart {
        SignalPart {
            stock: RefCell::new(SlotCache::of_worker(index)),
            cursor: Cursor::default(),
            round: Cursor::default(),
            queue_turns: Cell::new(0),
        }
    }
}

impl Shared {
    pub(super) fn any(workers: usize) -> Shared {
        match any_below(2) {
            0 => Shared::queue(),
            _ => Shared::signals(workers),
        }
    }

    pub(super) fn signals(workers: usize) -> Shared {
        Shared::Bitmap(Bitmap::new(workers))
    }

    pub(super) fn queue() -> Shared {
        Shared::Queue(Queue::new())
    }

    /// Whether a task may wait.
    pub(super) fn may_have(&self) -> bool {
        match self {
            Shared::Queue(queue) => !queue.is_empty(),
            Shared::Bitmap(signals) => signals.has_task(),
        }
    }

    /// Any task.
    fn take_one(&self) -> Option<Runnable> {
        match self {
            Shared::Queue(queue) => queue.pop_batch(1).next(),
            Shared::Bitmap(signals) => signals.take_left(),
        }
    }

    /// Asserts that nobody sleeps, and that no wake-up is on its way.
    pub(super) fn assert_over(&self) {
        if let Shared::Bitmap(signals) = self {
            let tree = signals.tree();
            assert_eq!((tree.sleepers(), tree.permits()), (0, 0), "sleepers and permits");
            assert_eq!(signals.count(), 0, "a signal is left");
        }
    }
}

/// Sees to it that a task has a slot; on any thread.
fn settle(signals: &Bitmap, task: &Runnable) {
    if task.place().is_none() {
        task.set_place(signals.reserve_outside(task.header()));
    }
}

impl Team {
    /// The signal tree, if this team has one.
    pub(super) fn signals(&self) -> Option<&Bitmap> {
        match &self.tasks {
            Shared::Bitmap(signals) => Some(signals),
            Shared::Queue(_) => None,
        }
    }

    /// Puts a task where all workers look, from any thread that keeps the team alive.
    pub(super) fn share(&self, task: Runnable) {
        match &self.tasks {
            Shared::Queue(queue) => match queue.push(task) {
                Ok(_) => self.tell_of_queued(),
                Err(task) => self.cancel(task),
            },
            Shared::Bitmap(signals) => {
                settle(signals, &task);
                self.signal(signals, task);
            }
        }
    }

    /// `Team::queue_all`.
    pub(super) fn queue_all(&self, chain: Chain) {
        let Shared::Queue(queue) = &self.tasks else { unreachable!("a tree has no rows") };
        match queue.push_chain(chain) {
            Ok(_) => self.tell_of_queued(),
            Err(chain) => chain.for_each(|task| self.cancel(task)),
        }
    }

    fn tell_of_queued(&self) {
        self.sleep.new_jobs(1, true);
        self.tell_guests_of_task();
    }

    /// Puts a task where whoever ends the team finds it, and tells nobody.
    pub(super) fn leave_to_the_end(&self, task: Runnable) {
        match &self.tasks {
            Shared::Queue(queue) => {
                if let Err(task) = queue.push(task) {
                    self.cancel(task);
                }
            }
            Shared::Bitmap(signals) => {
                settle(signals, &task);
                if signals.signal(task, || true).told == Told::Closed {
                    self.cancel_queued();
                }
            }
        }
    }

    /// Takes no more tasks, and cancels those that are there.
    pub(super) fn close_tasks(&self) {
        match &self.tasks {
            Shared::Queue(queue) => queue.close().for_each(|task| self.cancel(task)),
            Shared::Bitmap(signals) => {
                signals.close();
                self.cancel_queued();
            }
        }
    }

    /// Cancels what no worker has, one by one, and returns how many there were.
    pub(super) fn cancel_queued(&self) -> usize {
        let mut cancelled = 0;
        while let Some(task) = self.tasks.take_one() {
            self.cancel(task);
            cancelled += 1;
        }
        cancelled
    }

    /// Bitmap a task that has a slot, from any thread that keeps the team alive.
    fn signal(&self, signals: &Bitmap, task: Runnable) {
        let signalled = signals.signal(task, || self.sleep.somebody_looks());
        self.act_on(signalled.told);
    }

    /// Wakes a sleeper for which there is a permit, if there is one, and the guests that hear of tasks.
    fn act_on(&self, told: Told) {
        self.tell_guests_of_task();
        match told {
            Told::Nobody => {}
            Told::WakeOne => {
                if !broken(Step::RuntimeSignalTells) {
                    self.sleep.wake_one();
                }
            }
            Told::Closed => {
                self.cancel_queued();
            }
        }
    }

    /// Somebody has to be told of tasks that a look has found again.
    fn tell_again(&self, signals: &Bitmap, again: Option<Marked>) {
        if let Some(marked) = again {
            self.act_on(signals.tell(marked, || self.sleep.somebody_looks()));
        }
    }
}

impl Worker<'_> {
    /// Puts a task into the tree.
    pub(super) fn signal_task(self, signals: &Bitmap, task: Runnable) {
        if task.place().is_none() {
            task.set_place(self.reserve_slot(signals, task.header()));
        }
        self.team().signal(signals, task);
    }

    /// A slot for a task.
    pub(super) fn reserve_slot(self, signals: &Bitmap, task: NonNull<Header>) -> Place {
        let mut stock = self.signal_part().stock.borrow_mut();
        signals.reserve(&mut stock, self.team().workers.len(), task)
    }

    /// The slot of a task that is about to be run, if it has one.
    pub(super) fn slot_of(self, task: &Runnable) -> Option<SlotId> {
        let signals = self.team().signals()?;
        task.place().map(|place| signals.identity(place))
    }

    /// The task of a slot has ended.
    pub(super) fn free_slot(self, slot: SlotId) {
        if let Some(signals) = self.team().signals() {
            let freed = signals.free(&mut self.signal_part().stock.borrow_mut(), slot);
            assert!(freed, "a slot is freed once");
        }
    }

    /// `Worker::next_signalled`: the next task when the LIFO slot has had its turn.
    pub(super) fn next_signalled(self, signals: &Bitmap) -> Option<Runnable> {
        let part = self.signal_part();
        let turns = part.queue_turns.get();
        if turns > 0 {
            if let Some(task) = self.pop_ring() {
                part.queue_turns.set(turns - 1);
                return Some(task);
            }
        }
        if let Some(task) = self.take_own(signals) {
            let room = self.ring().room().min(SIGNAL_BATCH);
            let keep = |task| self.put_back(task, false);
            let behind = signals.take_behind(&part.cursor, room, keep);
            part.queue_turns.set(1 + behind);
            let untold = behind > 0 && broken(Step::RuntimeBehindTells);
            if !untold && !broken(Step::RuntimeFairTells) {
                self.tell_of_ring();
            }
            return Some(task);
        }
        part.queue_turns.set(1);
        if turns > 0 { None } else { self.pop_ring() }
    }

    fn take_own(self, signals: &Bitmap) -> Option<Runnable> {
        let (team, cursor) = (self.team(), &self.signal_part().cursor);
        let scan = signals.take_own(cursor, self.index(), team.workers.len());
        team.tell_again(signals, scan.again);
        scan.task
    }

    /// `Worker::take_signalled`: a task of any part of the tree.
    pub(super) fn take_signalled(self, signals: &Bitmap) -> Option<Runnable> {
        let start = self.any_of(signals.tree().leaf_count());
        let scan = signals.take_any(&self.signal_part().cursor, start);
        self.team().tell_again(signals, scan.again);
        if let Some(place) = scan.task.as_ref().and_then(Runnable::place) {
            let keep = |task| self.put_back(task, false);
            if signals.take_beside(place, self.ring().room(), keep) > 0 {
                self.tell_of_ring();
            }
        }
        scan.task
    }

    /// `Worker::take_in_turn`: the next task of the whole tree.
    pub(super) fn take_in_turn(self, signals: &Bitmap) -> Option<Runnable> {
        let scan = signals.take_in_turn(&self.signal_part().round);
        self.team().tell_again(signals, scan.again);
        scan.task
    }

    /// This worker is about to look for the last time before it sleeps.
    pub(super) fn lie_down(self) -> Option<Sleeper> {
        self.team().signals().map(Bitmap::lie_down)
    }

    /// This worker may have slept, or been notified.
    pub(super) fn get_up(self, sleeper: Option<Sleeper>) {
        let Some(signals) = self.team().signals() else { return };
        match sleeper {
            Some(sleeper) => drop(signals.get_up(sleeper)),
            None => drop(signals.try_acquire()),
        }
    }
}
