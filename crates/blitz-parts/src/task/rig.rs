//! What tests and models need: a scheduler that is a queue, and futures that tests control.

use super::{
    Failure, Header, Join, LateReport, Owned, Payload, Place, Ran, Runnable, Scheduler, TaskRef,
    new,
};
use crate::prim::{self, Mutex};
use core::future::poll_fn;
use core::panic::Location;
use core::ptr::NonNull;
use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::task::Wake;

/// A runtime, reduced to a queue. Tasks point to it, so it stays in its box until they have ended.
pub(crate) struct Rig {
    queue: Mutex<VecDeque<Runnable>>,
    pub(crate) owned: Owned,
    panics: Arc<Mutex<Vec<Payload>>>,
    late: Arc<Mutex<Vec<Payload>>>,
    /// How many times a task was put into the queue although it was in the queue already.
    mistakes: AtomicUsize,
    /// Whether each task is aborted while it is being settled.
    pub(crate) aborts_settling: AtomicBool,
    /// Whether the next poll that would leave its task waiting yields instead.
    pub(crate) yields: AtomicBool,
    /// How many places were given to tasks and not given up.
    pub(crate) settled: AtomicUsize,
}

/// The scheduler of a [`Rig`].
#[derive(Clone, Copy)]
pub(crate) struct ToRig(NonNull<Rig>);

// SAFETY: everything in a rig is atomic or behind a lock.
unsafe impl Send for ToRig {}
// SAFETY: as above.
unsafe impl Sync for ToRig {}

impl ToRig {
    fn rig(&self) -> &Rig {
        // SAFETY: tests keep their rig until its tasks have ended.
        unsafe { self.0.as_ref() }
    }
}

// SAFETY: tests keep their rig until its tasks have ended, and the methods do not unwind.
unsafe impl Scheduler for ToRig {
    fn schedule(&self, task: Runnable) {
        let mut queue = self.rig().queue.lock().unwrap();
        let twice = queue.iter().any(|queued| queued.header() == task.header());
        // Unwinding would end the task, and hide the mistake.
        if twice {
            self.rig().mistakes.fetch_add(1, Relaxed);
        }
        queue.push_back(task);
    }

    fn has_yielded(&self) -> bool {
        self.rig().yields.swap(false, Relaxed)
    }

    fn settle(&self, task: NonNull<Header>) -> (Place, &Owned) {
        self.rig().settled.fetch_add(1, Relaxed);
        if self.rig().aborts_settling.load(Relaxed) {
            // SAFETY: a task is settled by its runner.
            unsafe { TaskRef::from_header(task) }.abort();
        }
        (Place::new(0), &self.rig().owned)
    }

    fn unsettle(&self, _: Place) {
        self.rig().settled.fetch_sub(1, Relaxed);
    }

    fn owned(&self, _: Place) -> &Owned {
        &self.rig().owned
    }

    fn report_panic(&self, payload: Payload) {
        self.rig().panics.lock().unwrap().push(payload);
    }

    fn late_report(&self) -> Option<LateReport> {
        let late = self.rig().late.clone();
        Some(Box::new(move |payload| late.lock().unwrap().push(payload)))
    }
}

impl Rig {
    pub(crate) fn new() -> Arc<Rig> {
        Arc::new(Rig {
            queue: Mutex::new(VecDeque::new()),
            owned: Owned::new(),
            panics: Arc::new(Mutex::new(Vec::new())),
            late: Arc::new(Mutex::new(Vec::new())),
            mistakes: AtomicUsize::new(0),
            aborts_settling: AtomicBool::new(false),
            yields: AtomicBool::new(false),
            settled: AtomicUsize::new(0),
        })
    }

    pub(crate) fn scheduler(&self) -> ToRig {
        ToRig(NonNull::from(self))
    }

    /// A task that is not in the queue yet.
    pub(crate) fn task<F>(&self, future: F) -> (Runnable, Join<F::Output>)
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        new(Location::caller(), future, self.scheduler())
    }

    /// A task in the queue.
    pub(crate) fn spawn<F>(&self, future: F) -> Join<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (runnable, join) = self.task(future);
        self.scheduler().schedule(runnable);
        join
    }

    /// Puts an entry into the queue.
    #[cfg(not(blitz_loom))]
    pub(crate) fn put(&self, task: Runnable) {
        self.scheduler().schedule(task);
    }

    /// The oldest entry of the queue.
    pub(crate) fn pop(&self) -> Option<Runnable> {
        self.queue.lock().unwrap().pop_front()
    }

    pub(crate) fn queued(&self) -> usize {
        self.queue.lock().unwrap().len()
    }

    /// Runs the oldest entry of the queue; a task that has to run again goes to the back.
    pub(crate) fn run_one(&self) -> Option<Ran> {
        let ran = self.pop()?.run();
        if let Ran::Again(task) = ran {
            self.scheduler().schedule(task);
            return Some(Ran::Idle);
        }
        Some(ran)
    }

    /// Runs until the queue is empty; returns how many runs that took.
    pub(crate) fn run_all(&self) -> usize {
        core::iter::from_fn(|| self.run_one()).count()
    }

    /// Whether the rig has seen no mistake, and every task has ended.
    pub(crate) fn is_well_and_done(&self) -> bool {
        let quiet = self.panics().is_empty() && self.late_panics().is_empty();
        let well = self.mistakes.load(Relaxed) == 0 && quiet;
        well && self.queued() == 0 && self.owned.is_empty()
    }

    /// The messages of the panics that were reported, in order.
    pub(crate) fn panics(&self) -> Vec<String> {
        texts(&self.panics)
    }

    /// The messages of the panics that were reported after their task's end.
    pub(crate) fn late_panics(&self) -> Vec<String> {
        texts(&self.late)
    }
}

fn texts(payloads: &Mutex<Vec<Payload>>) -> Vec<String> {
    payloads.lock().unwrap().iter().map(text).collect()
}

/// The text of a panic.
pub(crate) fn text(payload: &Payload) -> String {
    let literal = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    literal.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// The outcome of a task, by a poll with a waker that does nothing.
pub(crate) fn outcome<T>(join: &mut Join<T>) -> Poll<Result<T, Failure>> {
    join.poll(&mut Context::from_waker(Waker::noop()))
}

/// A gate that a task waits for in tests. The task passes it once it is open.
pub(crate) struct Gate {
    is_open: prim::AtomicUsize,
    waker: Mutex<Option<Waker>>,
    unshield: Mutex<Option<TaskRef>>,
    futures: Drops,
}

impl Gate {
    pub(crate) fn new() -> Arc<Gate> {
        Arc::new(Gate {
            is_open: prim::AtomicUsize::new(0),
            waker: Mutex::new(None),
            unshield: Mutex::new(None),
            futures: Drops::new(),
        })
    }

    /// Passes the gate. The first poll leaves a waker. Only that waker orders the threads that open
    /// the gate and pass it. The output is the value seen in the gate.
    pub(crate) fn pass(self: &Arc<Gate>) -> impl Future<Output = usize> + Send + use<> {
        let gate = self.clone();
        let dropped = self.futures.clone();
        let mut is_first = true;
        poll_fn(move |context| {
            let _moved = &dropped;
            if core::mem::take(&mut is_first) {
                *gate.waker.lock().unwrap() = Some(context.waker().clone());
                return Poll::Pending;
            }
            if let Some(task) = gate.unshield.lock().unwrap().take() {
                task.remove_shield();
            }
            match gate.is_open.load(Relaxed) {
                0 => Poll::Pending,
                seen => Poll::Ready(seen),
            }
        })
    }

    pub(crate) fn open(&self) {
        self.is_open.store(1, Relaxed);
    }

    /// The waker that the first poll has left.
    pub(crate) fn waker(&self) -> Waker {
        self.waker.lock().unwrap().take().expect("the task was polled")
    }

    /// Drops the waker that the first poll has left, if there was one.
    #[cfg(blitz_loom)]
    pub(crate) fn forget_waker(&self) {
        let waker = self.waker.lock().unwrap().take();
        drop(waker);
    }

    /// The next poll removes a shield of `task`.
    #[cfg(blitz_loom)]
    pub(crate) fn unshield_in_poll(&self, task: TaskRef) {
        *self.unshield.lock().unwrap() = Some(task);
    }

    pub(crate) fn futures_dropped(&self) -> usize {
        self.futures.count()
    }
}

/// A value whose clones count their drops; the original does not.
#[derive(Debug)]
pub(crate) struct Drops {
    count: Arc<AtomicUsize>,
    counts: bool,
}

impl Drops {
    pub(crate) fn new() -> Drops {
        Drops { count: Arc::new(AtomicUsize::new(0)), counts: false }
    }

    pub(crate) fn count(&self) -> usize {
        self.count.load(Relaxed)
    }
}

impl Clone for Drops {
    fn clone(&self) -> Drops {
        Drops { count: self.count.clone(), counts: true }
    }
}

impl Drop for Drops {
    fn drop(&mut self) {
        self.count.fetch_add(usize::from(self.counts), Relaxed);
    }
}

/// Counts its wakes and its wakers.
pub(crate) struct Woken(Arc<Wakes>);

struct Wakes(AtomicUsize);

impl Woken {
    pub(crate) fn new() -> Woken {
        Woken(Arc::new(Wakes(AtomicUsize::new(0))))
    }

    pub(crate) fn waker(&self) -> Waker {
        self.0.clone().into()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.0.load(Relaxed)
    }

    /// How many wakers there are.
    pub(crate) fn wakers(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}
