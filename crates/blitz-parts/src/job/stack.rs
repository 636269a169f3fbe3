//! A job in the frame of the thread that waits for it.

use super::{Header, Work};
use crate::latch::{JobLatch, Latch, Runner};
use crate::prim::{Step, broken};
use core::cell::UnsafeCell;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::NonNull;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

/// How a stack job notifies its owner that it has run.
pub trait Signal {
    /// Notifies the owner. `this` is part of the job behind `header`.
    ///
    /// # Safety
    /// 1. The job is alive when the call begins. It may be freed as soon as the owner can see the
    ///    signal.
    unsafe fn signal(header: NonNull<Header>, this: *const Self);

    /// Notes the runner of the job behind `header`, for an owner that can make use of it.
    ///
    /// # Safety
    /// 1. The job is alive, and the caller is about to run it.
    unsafe fn note_runner(_header: NonNull<Header>, _runner: Runner) {}
}

impl<L: Latch> Signal for L {
    unsafe fn signal(_header: NonNull<Header>, this: *const Self) {
        // SAFETY: obligation 1 is passed on.
        unsafe { L::set(this) };
    }
}

/// A fork's signal: the latch in the header. It is initialised if a thread other than the owner
/// runs the fork (JOB-5). A fork that stays private never pays for a latch.
#[derive(Debug)]
pub struct Armed;

impl Signal for Armed {
    unsafe fn signal(header: NonNull<Header>, _this: *const Self) {
        // SAFETY: a fork that is run through its word came from a deque, where it was published and
        // armed.
        let latch: *const JobLatch = unsafe { Header::latch(header) };
        // SAFETY: obligation 1 is passed on.
        unsafe { JobLatch::set(latch) };
    }

    unsafe fn note_runner(header: NonNull<Header>, runner: Runner) {
        // SAFETY: as above.
        unsafe { Header::latch(header) }.note_runner(runner);
    }
}

/// A closure, room for its result, and the latch that says that the result is there.
#[repr(C)]
pub struct StackJob<L, F, R> {
    header: Header,
    latch: L,
    closure: UnsafeCell<ManuallyDrop<F>>,
    result: UnsafeCell<MaybeUninit<thread::Result<R>>>,
}

impl<L, F, R> StackJob<L, F, R>
where
    L: Signal,
    F: FnOnce(bool) -> R,
{
    /// Creates a job that has not run. The closure's argument is true if the job runs through its
    /// [`Work`], false if its owner took it back.
    #[inline(always)]
    pub fn new(latch: L, closure: F) -> StackJob<L, F, R> {
        StackJob {
            header: Header::new(Self::run),
            latch,
            closure: UnsafeCell::new(ManuallyDrop::new(closure)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// The word to put into a queue.
    ///
    /// # Safety
    /// 1. The job stays in place and alive until it was taken back or its latch was seen set.
    /// 2. The word is used for one run only.
    /// 3. If another thread may take it, `F` and `R` may be sent there.
    #[inline(always)]
    pub unsafe fn as_work(&self) -> Work {
        // SAFETY: obligations 1 and 2 are passed on.
        unsafe { Work::new(self.header()) }
    }

    /// The word that stands for the job in a deque.
    #[inline(always)]
    pub fn header(&self) -> NonNull<Header> {
        // The pointer is not made from `&self.header`, because it must be valid for the whole job.
        NonNull::from(self).cast()
    }

    /// The latch that the job's owner waits for.
    #[inline(always)]
    pub fn latch(&self) -> &L {
        &self.latch
    }

    /// Runs the closure on this thread.
    ///
    /// # Safety
    /// 1. The job's word was taken back, so no other thread runs it.
    #[inline(always)]
    pub unsafe fn run_inline(&self) -> R {
        // SAFETY: no other thread touches the closure (obligation 1).
        let slot = unsafe { &mut *self.closure.get() };
        // SAFETY: it is taken once, here.
        let closure = unsafe { ManuallyDrop::take(slot) };
        closure(false)
    }

    /// Takes the result that the runner left, or its panic.
    ///
    /// # Safety
    /// 1. The latch was seen set.
    /// 2. This method is called once.
    pub unsafe fn take_result(&self) -> thread::Result<R> {
        // SAFETY: after the latch no other thread touches the result (JOB-3).
        let slot = unsafe { &*self.result.get() };
        // SAFETY: the runner wrote it before the latch (JOB-3), and it is read once.
        unsafe { slot.assume_init_read() }
    }

    /// The function that `Work::run` calls.
    ///
    /// # Safety
    /// The obligations of [`Work::new`] hold, and `header` begins a `StackJob<L, F, R>`.
    unsafe fn run(header: NonNull<Header>, runner: Option<Runner>) {
        let this = header.cast::<Self>().as_ptr();
        // SAFETY: the job is alive until the latch is set, below.
        let job = unsafe { &*this };
        if let Some(runner) = runner {
            // SAFETY: the job is alive and runs now.
            unsafe { L::note_runner(header, runner) };
        }
        let latch = &raw const job.latch;
        if broken(Step::JobResultFirst) {
            // SAFETY: the latch is live.
            unsafe { L::signal(header, latch) };
        }
        // SAFETY: by JOB-1 no other thread touches the closure.
        let slot = unsafe { &mut *job.closure.get() };
        // SAFETY: as above; this is the only taking.
        let closure = unsafe { ManuallyDrop::take(slot) };
        let result: thread::Result<R> = catch_unwind(AssertUnwindSafe(|| closure(true)));
        // SAFETY: no thread reads the result before the latch (JOB-3).
        let slot = unsafe { &mut *job.result.get() };
        slot.write(result);
        if !broken(Step::JobResultFirst) {
            // SAFETY: the latch is live until it is set; nothing of the job is touched after
            // (JOB-2).
            unsafe { L::signal(header, latch) };
        }
    }
}
