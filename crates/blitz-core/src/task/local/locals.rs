//! The tasks of a local set, and its inbox.
//!
//! A task points to the inbox without a reference count: the set outlives its tasks. A waker may be
//! on any thread, and keeps the inbox alive while it wakes.

use crate::base::context::{self, Polling};
use crate::base::panic::{Payload, discard};
use crate::task::JoinHandle;
use crate::team::Team;
use crate::worker;
use blitz_parts::prim::{Mutex, MutexGuard, Step, broken, thread_local, yield_now};
use blitz_parts::task::{self, LateReport, Owned, Place, Ran, Runnable, Scheduler};
use blitz_parts::trim::outgrown;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::{Arc, PoisonError};
use std::task::Waker;

/// The tasks of a set, for its own thread.
pub(crate) struct Locals {
    inbox: Arc<Inbox>,
    /// Runnable tasks, taken from the inbox all at once.
    batch: RefCell<VecDeque<Runnable>>,
    /// How many tasks are not complete.
    len: Cell<usize>,
    /// How many drivers there have been so far.
    drivers: Cell<u64>,
    /// Whether the set is dropped, or about to be.
    closed: Cell<bool>,
}

/// The queue of runnable tasks, for any thread.
pub(super) struct Inbox {
    state: Mutex<State>,
    /// Tasks that wait, or have waited and not ended yet.
    owned: Owned,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Runnable>,
    /// The drivers that wait for a task to be queued: their numbers and wakers.
    waiting: VecDeque<(u64, Waker)>,
}

impl Locals {
    pub(super) fn new() -> Locals {
        let inbox = Inbox { state: Mutex::default(), owned: Owned::new() };
        Locals {
            inbox: Arc::new(inbox),
            batch: RefCell::default(),
            len: Cell::new(0),
            drivers: Cell::new(0),
            closed: Cell::new(false),
        }
    }

    pub(super) fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// How many tasks are not complete.
    pub(super) fn len(&self) -> usize {
        self.len.get()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of a new driver.
    pub(super) fn number(&self) -> u64 {
        let number = self.drivers.get();
        self.drivers.set(number + 1);
        number
    }

    #[track_caller]
    pub(super) fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        // SAFETY: `Locals` stays on its thread. This call and all later wakes put the task into the
        // inbox. Only `Locals`, on its own thread, takes tasks out, runs and drops them, and closes
        // the list `owned`. The inbox is not freed while a task is in it: `close` runs before that,
        // or never.
        let (task, join) =
            unsafe { task::new_local(Location::caller(), future, Home::of(&self.inbox)) };
        let handle = JoinHandle::of_task(join);
        if self.closed.get() {
            // The task is cancelled before it began.
            drop(task);
        } else {
            self.len.set(self.len.get() + 1);
            self.inbox.post(task);
        }
        handle
    }

    /// The next task to be polled.
    pub(super) fn next(&self) -> Option<Runnable> {
        let mut batch = self.batch.borrow_mut();
        if batch.is_empty() {
            drop(outgrown(&mut batch));
            std::mem::swap(&mut self.inbox.lock().queue, &mut *batch);
        }
        batch.pop_front()
    }

    pub(super) fn poll(&self, task: Runnable) {
        let polling = Polling::begin(task.header());
        let ran = task.run();
        drop(polling);
        match ran {
            Ran::Idle => {}
            Ran::Complete | Ran::Cancelled => self.len.set(self.len.get() - 1),
            // Post the task to the inbox, not to the batch: it goes behind the tasks in the inbox.
            Ran::Again(task) => self.inbox.post(task),
        }
    }

    /// Cancels all tasks. Futures may wake, spawn and abort tasks while they are dropped.
    pub(super) fn close(&self) {
        self.closed.set(true);
        loop {
            let on_their_way = self.inbox.owned.close_and_cancel();
            let queued = std::iter::from_fn(|| self.next()).map(drop).count();
            if on_their_way == 0 && queued == 0 {
                break;
            }
            // A thread that wakes a task may have changed the task's word and not posted the task
            // yet.
            yield_now();
        }
        self.len.set(0);
    }

    /// Makes this the current set of the thread until the guard is dropped.
    pub(super) fn enter(self: &Rc<Self>) -> Entered {
        Entered::new(self.clone())
    }
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No user code runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a task into the queue and notifies every driver. Any thread may call it.
    fn post(&self, task: Runnable) {
        let mut state = self.lock();
        state.queue.push_back(task);
        if broken(Step::LocalPostWakes) {
            return;
        }
        // Notify only the drivers that are registered now: a driver that registers again meanwhile
        // has found the queue empty, so the task was taken.
        for _ in 0..state.waiting.len() {
            let Some((_, waker)) = state.waiting.pop_front() else { break };
            drop(state);
            // The waker comes from the future that awaits the set, so it may panic.
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
                report(worker::current_team(), payload);
            }
            state = self.lock();
        }
    }

    /// Registers `waker` for driver `number`, to be woken when a task is posted. Returns false if a
    /// task is queued already.
    pub(super) fn try_wait(&self, number: u64, waker: Waker) -> bool {
        let mut state = self.lock();
        let empty = state.queue.is_empty();
        if empty {
            state.waiting.push_back((number, waker));
        }
        empty
    }

    /// Takes back the waker of driver `number`.
    pub(super) fn withdraw(&self, number: u64) -> Option<Waker> {
        let mut state = self.lock();
        let at = state.waiting.iter().position(|(whose, _)| *whose == number)?;
        state.waiting.remove(at).map(|(_, waker)| waker)
    }
}

/// The inbox of a task's set, in one word.
#[derive(Clone, Copy)]
struct Home(NonNull<Inbox>);

// SAFETY: an inbox is shared between threads; the pointer is followed only while the inbox is
// alive.
unsafe impl Send for Home {}
// SAFETY: as above.
unsafe impl Sync for Home {}

impl Home {
    /// Points to `inbox`, which must stay alive until the task is complete.
    fn of(inbox: &Arc<Inbox>) -> Home {
        match NonNull::new(Arc::as_ptr(inbox).cast_mut()) {
            Some(inbox) => Home(inbox),
            None => unreachable!("an Arc is not null"),
        }
    }

    fn keep(&self) -> Arc<Inbox> {
        let inbox = self.0.as_ptr().cast_const();
        // SAFETY: the pointer came from an `Arc`. The caller has a task that is not complete, so
        // the set, which holds a count, is not gone.
        unsafe { Arc::increment_strong_count(inbox) };
        // SAFETY: as above; this is the count that was just added.
        unsafe { Arc::from_raw(inbox) }
    }
}

// SAFETY: 1 and 2: a set's drop ends all its tasks before it gives up its count of the inbox, which
// holds the list; a forgotten set keeps the count for ever. 3: user code is called under
// `catch_unwind`.
unsafe impl Scheduler for Home {
    fn schedule(&self, task: Runnable) {
        // Once the task is in the inbox, it may end, and the set may be dropped: keep the inbox.
        self.keep().post(task);
    }

    #[inline]
    fn has_yielded(&self) -> bool {
        context::has_yielded()
    }

    fn owned(&self, _: Place) -> &Owned {
        // SAFETY: the caller runs a task on the thread of its set, and the set is not dropped
        // meanwhile.
        &unsafe { self.0.as_ref() }.owned
    }

    fn report_panic(&self, payload: Payload) {
        report(worker::current_team(), payload);
    }

    fn late_report(&self) -> Option<LateReport> {
        let team = worker::current_team();
        Some(Box::new(move |payload| report(team, payload)))
    }
}

/// Passes a panic to the panic handler of `team`, the pool that was current. No join handle returns
/// this panic. Without a pool, drops the payload: the panic hook has reported the panic.
fn report(team: Option<Arc<Team>>, payload: Payload) {
    match team {
        Some(team) => team.report_panic_of("a detached local task", payload),
        None => discard(payload),
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Inside>> = const { RefCell::new(None) };
}

/// The current set of a thread.
#[derive(Clone)]
struct Inside {
    locals: Rc<Locals>,
    /// The aside in which the set was entered. The set is current only in that aside.
    aside: u64,
}

/// Returns the current set of this thread, if there is one.
pub(crate) fn current() -> Option<Rc<Locals>> {
    let inside = CURRENT.try_with(|current| current.borrow().clone()).ok().flatten()?;
    (inside.aside == context::aside()).then_some(inside.locals)
}

/// Keeps a set current on this thread until this is dropped.
pub(crate) struct Entered {
    before: Option<Inside>,
}

impl Entered {
    fn new(locals: Rc<Locals>) -> Entered {
        let inside = Some(Inside { locals, aside: context::aside() });
        Entered { before: CURRENT.try_with(|current| current.replace(inside)).ok().flatten() }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let before = self.before.take();
        // Drop `left` separately, after the borrow of the cell has ended.
        let left = CURRENT.try_with(|current| current.replace(before));
        drop(left);
    }
}
