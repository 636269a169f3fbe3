//! Jobs: closures behind one word, run exactly once.
//!
//! # Who calls it
//! `blitz-core/ops`, `blitz-core/sched` and `blitz-core/worker` make jobs. The thread that takes a
//! [`Work`] out of a queue runs it.
//!
//! # State
//! | where | value | meaning |
//! |---|---|---|
//! | header | `run` | how to run this kind of job |
//! | header | `next` | link to the job below in an injector, or to the fork before this one; otherwise uninitialised |
//! | header | `latch` | of a fork, once it is published; otherwise uninitialised |
//! | stack job | closure | until run |
//! | stack job | result | written by the runner, then the latch is set |
//!
//! # Transitions
//! ```text
//!  stack   new ──fork──▶ queued ──take_back──▶ run_inline (owner)
//!                           └─────steal──────▶ run: result, then latch (LATCH-1) ──▶ take_result
//!  heap    new ──push──▶ queued ──▶ run: closure moved out, memory freed, closure called
//! ```
//!
//! # Invariants
//! - **JOB-1** A job's closure runs exactly once, on whichever thread took its [`Work`].
//! - **JOB-2** After a runner has set the latch of a stack job, it does not touch the job: the
//!   owner's frame may be gone.
//! - **JOB-3** The result is written before the latch is set, and read only after the latch was
//!   seen set.
//! - **JOB-4** A panic in a stack job's closure is stored as its result; it never passes `run`.
//! - **JOB-5** A fork is armed with its latch once, before other threads can see it. Its owner
//!   looks at the latch only after it found the fork taken from the public end. A fork that has
//!   left a deque never enters one again: that would arm it twice.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | the latch | see `latch` O1, O2 | – | JOB-3 |
//! | O2 | the queue | see `deque` O1, O2, O5 and `inject` O1, O2 | – | the runner sees the closure |
//!
//! # What this does not do
//! It chooses no thread and no order. It does not catch the panics of a heap job: the closure that
//! its maker passes has to catch them.
//!
//! # Lineage
//! Jobs on the stack of the thread that waits for them: Cilk, and every fork-join pool since.

mod heap;
#[cfg(all(test, blitz_loom))]
mod model;
mod stack;
#[cfg(all(test, not(blitz_loom)))]
mod test;

pub use heap::HeapJob;
pub use stack::{Armed, Signal, StackJob};

use crate::deque::Linked;
use crate::latch::{JobLatch, Runner};
use crate::sleep::Bed;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

/// How a kind of job runs. The second argument is the runner, if a worker that waits for the job
/// may help that runner (leapfrog).
type RunFn = unsafe fn(NonNull<Header>, Option<Runner>);

/// The first field of every job.
#[repr(C)]
pub struct Header {
    run: RunFn,
    /// The link in an injector or in the list of forks. Otherwise it stays uninitialised.
    next: UnsafeCell<MaybeUninit<*mut Header>>,
    /// Used only by forks that other threads see. So it is written when a fork is published.
    latch: UnsafeCell<MaybeUninit<JobLatch>>,
}

impl Header {
    #[inline(always)]
    pub(crate) fn new(run: RunFn) -> Header {
        Header {
            run,
            next: UnsafeCell::new(MaybeUninit::uninit()),
            latch: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Gives the job its latch, on which the worker that sleeps in `bed` may wait.
    ///
    /// # Safety
    /// 1. No other thread sees the job; or no thread uses its latch yet, and the caller publishes
    ///    the job.
    pub unsafe fn arm(this: NonNull<Header>, bed: NonNull<Bed>) {
        // SAFETY: the job is alive until it has run.
        let cell = unsafe { &raw const (*this.as_ptr()).latch };
        // SAFETY: no other thread touches the latch yet (obligation 1).
        unsafe { cell.cast_mut().cast::<JobLatch>().write(JobLatch::new(bed)) };
    }

    /// Returns the latch that [`Header::arm`] wrote.
    ///
    /// # Safety
    /// 1. The job was armed, and the caller has acquired that write by an acquiring operation.
    /// 2. The job is alive as long as the returned reference is used.
    pub unsafe fn latch<'a>(this: NonNull<Header>) -> &'a JobLatch {
        // SAFETY: the job is alive (obligation 2).
        let cell = unsafe { &raw const (*this.as_ptr()).latch };
        // SAFETY: the latch was written (obligation 1) and is only used by shared reference since.
        unsafe { &*cell.cast::<JobLatch>() }
    }

    /// Links the job to `next`.
    ///
    /// # Safety
    /// 1. No other thread uses the link.
    #[inline(always)]
    pub(crate) unsafe fn set_next(&self, next: *mut Header) {
        // SAFETY: obligation 1.
        unsafe { self.next.get().write(MaybeUninit::new(next)) };
    }

    /// The job that this one is linked to.
    ///
    /// # Safety
    /// 1. No thread writes the link.
    /// 2. `set_next` was called before.
    pub(crate) unsafe fn next(&self) -> *mut Header {
        // SAFETY: obligation 1.
        let link = unsafe { self.next.get().read() };
        // SAFETY: it was written (obligation 2).
        unsafe { link.assume_init() }
    }
}

// SAFETY: the link is read as it was written. The obligations of callers ensure the right order.
unsafe impl Linked for Header {
    #[inline(always)]
    unsafe fn set_older(this: NonNull<Header>, older: *mut Header) {
        // SAFETY: the job is alive (obligation 1).
        let header = unsafe { this.as_ref() };
        // SAFETY: no other thread has the job yet (obligation 1).
        unsafe { header.set_next(older) };
    }

    unsafe fn older(this: NonNull<Header>) -> *mut Header {
        // SAFETY: the job is alive (obligation 1).
        let header = unsafe { this.as_ref() };
        // SAFETY: the link was written (obligation 1), and no thread writes it now (obligation 2).
        unsafe { header.next() }
    }
}

/// A job in one word. Its holder must run it, once.
#[must_use = "a job that is not run leaves its waiter waiting"]
#[derive(Debug, PartialEq, Eq)]
pub struct Work(NonNull<Header>);

// SAFETY: the code that creates jobs has to pass `Send` closures.
unsafe impl Send for Work {}

impl Work {
    /// Creates the word of the job with this header.
    ///
    /// # Safety
    /// 1. `header` begins a live job that stays in place until it has run.
    /// 2. No other `Work` of this job exists, and no queue holds the job.
    #[inline(always)]
    pub unsafe fn new(header: NonNull<Header>) -> Work {
        Work(header)
    }

    /// Returns the word itself, for a queue.
    #[inline(always)]
    pub fn into_raw(self) -> NonNull<Header> {
        self.0
    }

    /// Runs the job. A fork stores `runner` in its latch, where the owner of the fork can see it.
    #[inline]
    pub fn run(self, runner: Option<Runner>) {
        // SAFETY: the header is live until the job has run (obligation 1).
        let run = unsafe { self.0.as_ref() }.run;
        // SAFETY: `self` is consumed, so this is the only run (JOB-1).
        unsafe { run(self.0, runner) };
    }
}
