//! The worker of the current thread.

use super::worker::{Own, Worker};
use crate::base::context::Frame;
use crate::state::{BitmapMarks, Wait, WaitsFor};
use blitz_parts::bitmap::WakerOwner;
use blitz_parts::deque;
use blitz_parts::job::Header;
use blitz_parts::latch::Runner;
use blitz_parts::prim::thread_local;
use blitz_parts::ring::RingOwner;
use blitz_parts::sleep::BedOwner;
use blitz_parts::task::{Runnable, ShownOwner, TaskRef};
use blitz_parts::trail::TrailOwner;
use blitz_parts::tuning::{BATCH_SLOTS, RING_SLOTS};
use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Deref;

thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(std::ptr::null()) };
}

/// Returns the worker of the current thread, if the thread is a worker.
///
/// The token must not leave the current call: a thread stops being a worker only outside every
/// job, in `WorkerScope::drop`.
#[inline(always)]
pub(crate) fn current<'a>() -> Option<Owner<'a>> {
    // SAFETY: while the pointer is set, the scope's owner keeps the worker's team alive.
    let worker = CURRENT.with(|current| unsafe { current.get().as_ref() });
    worker.map(|worker| Owner { worker, here: PhantomData })
}

/// Keeps the current thread a worker until the scope is dropped.
pub(crate) struct WorkerScope {
    before: *const Worker,
}

impl WorkerScope {
    /// Makes the current thread `worker`.
    ///
    /// # Safety
    /// 1. No other thread is this worker at the same time.
    /// 2. The worker outlives the scope, which is dropped on this thread.
    pub(crate) unsafe fn enter(worker: &Worker) -> WorkerScope {
        WorkerScope { before: CURRENT.with(|current| current.replace(worker)) }
    }
}

impl Drop for WorkerScope {
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(self.before));
    }
}

/// The current thread's worker, with the methods that only its own thread may call. It stays on the
/// thread.
#[derive(Clone, Copy)]
pub(crate) struct Owner<'a> {
    worker: &'a Worker,
    here: PhantomData<*const ()>,
}

impl Deref for Owner<'_> {
    type Target = Worker;

    #[inline(always)]
    fn deref(&self) -> &Worker {
        self.worker
    }
}

impl<'a> Owner<'a> {
    /// The owner of a worker that has no thread.
    ///
    /// # Safety
    /// 1. No thread is this worker, or will be before the token is gone.
    pub(crate) unsafe fn of_left(worker: &'a Worker) -> Owner<'a> {
        Owner { worker, here: PhantomData }
    }

    /// The part of the worker that other threads may see.
    #[inline(always)]
    pub(crate) fn worker(self) -> &'a Worker {
        self.worker
    }

    /// The part of the worker that only this thread touches.
    #[inline(always)]
    pub(crate) fn own(self) -> &'a Own {
        // SAFETY: an `Owner` is on the worker's own thread.
        unsafe { self.worker.own.get() }
    }

    /// The owner's end of the deque.
    #[inline(always)]
    pub(crate) fn own_deque(self) -> deque::Owner<'a, Header> {
        // SAFETY: an `Owner` is on the worker's own thread.
        unsafe { self.worker.deque.owner() }
    }

    /// The owner's end of the ring.
    #[inline(always)]
    pub(crate) fn own_ring(self) -> RingOwner<'a, RING_SLOTS> {
        // SAFETY: an `Owner` is on the worker's own thread.
        unsafe { self.worker.queues.ring.owner() }
    }

    /// The owner's end of the batch buffer.
    #[inline(always)]
    pub(crate) fn own_batch(self) -> RingOwner<'a, BATCH_SLOTS> {
        // SAFETY: an `Owner` is on the worker's own thread.
        unsafe { self.worker.queues.batch.owner() }
    }

    /// The worker's end of the trail.
    #[inline(always)]
    pub(crate) fn own_trail(self) -> TrailOwner<'a> {
        // SAFETY: an `Owner` is on the worker's own thread.
        unsafe { self.worker.trail.owner() }
    }

    /// The worker's end of its bed.
    #[inline(always)]
    pub(crate) fn own_bed(self) -> BedOwner<'a> {
        // SAFETY: an `Owner` is on the worker's own thread.
        unsafe { self.worker.bed().owner() }
    }

    /// The worker's end of the place in which it shows the task that it polls.
    #[inline(always)]
    pub(crate) fn own_shown(self) -> ShownOwner<'a> {
        // SAFETY: an `Owner` is on the worker's own thread.
        unsafe { self.worker.queues.shown.owner() }
    }

    /// The worker's marks of the bitmap scheduler; `None` in the stealing scheduler.
    #[inline(always)]
    pub(crate) fn own_marks(self) -> Option<OwnMarks<'a>> {
        let marks = self.worker.queues.bitmap.as_deref()?;
        Some(OwnMarks { marks, here: PhantomData })
    }

    /// Puts a task into the LIFO slot; returns the task that it evicts.
    #[inline]
    pub(crate) fn put_lifo(self, task: Runnable) -> Option<Runnable> {
        // SAFETY: an `Owner` is on the worker's own thread.
        unsafe { self.worker.queues.lifo.put(task) }
    }

    /// Calls `f`, which must not unwind, as a new run: jobs that `f` pushes are descendants of no
    /// other run.
    #[inline]
    pub(crate) fn in_run<R>(self, f: impl FnOnce(Option<Runner>) -> R) -> R {
        let (run, outside) = self.own_trail().begin();
        // Waiters follow the runner of a job to find its descendants. They may do so only if the
        // deque has no other jobs below those that this job will push.
        let runner = match u16::try_from(self.index()) {
            Ok(index) if self.worker.deque.is_empty() => Some(Runner { index, run }),
            _ => None,
        };
        let result = f(runner);
        self.own_trail().end(outside);
        result
    }

    /// A wait of this worker, for the list of waits.
    pub(crate) fn wait_at(self, frame: Frame, task: Option<TaskRef>, waits_for: WaitsFor) -> Wait {
        let index = u16::try_from(self.index()).ok();
        let run = index.zip(self.own_trail().run()).map(|(index, run)| Runner { index, run });
        Wait { frame, task, worker: Some(self.index()), run, waits_for }
    }

    /// Whether this worker is in a run: inside a job, a visit, a handler or a deferred waker.
    #[inline]
    pub(crate) fn is_in_run(self) -> bool {
        self.trail.is_in_run()
    }
}

/// The marks of the current thread's worker. They stay on the thread.
#[derive(Clone, Copy)]
pub(crate) struct OwnMarks<'a> {
    marks: &'a BitmapMarks,
    here: PhantomData<*const ()>,
}

impl Deref for OwnMarks<'_> {
    type Target = BitmapMarks;

    #[inline(always)]
    fn deref(&self) -> &BitmapMarks {
        self.marks
    }
}

impl<'a> OwnMarks<'a> {
    /// The worker's end of its status.
    #[inline(always)]
    pub(crate) fn own_waker(self) -> WakerOwner<'a> {
        // SAFETY: the marks come from an `Owner`, which is on the worker's own thread.
        unsafe { self.marks.waker.owner() }
    }
}
