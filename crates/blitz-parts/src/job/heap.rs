//! A job that no frame waits for: a closure with memory of its own.

use super::{Header, Work};
use crate::latch::Runner;
use crate::stock;
use core::ptr::NonNull;

/// A closure that frees its memory when it runs.
#[repr(C)]
pub struct HeapJob<F> {
    header: Header,
    closure: F,
}

impl<F: FnOnce()> HeapJob<F> {
    const MEMORY: stock::Kind = stock::Kind::of::<Self>();

    /// Moves `closure` to the heap and returns it as work. The closure leaks if the work is never
    /// run.
    ///
    /// # Safety
    /// 1. All that `closure` borrows lives until the closure has run.
    /// 2. If another thread may run the work, the closure is `Send`.
    /// 3. `closure` does not unwind.
    pub unsafe fn into_work(closure: F) -> Work {
        let job = stock::alloc(Self::MEMORY).cast::<Self>();
        // SAFETY: the memory is new, and has the layout of a `Self`.
        unsafe { job.write(HeapJob { header: Header::new(Self::run), closure }) };
        // SAFETY: the job stays in place until `run` frees it, and this is its only word.
        unsafe { Work::new(job.cast()) }
    }

    /// The function that `Work::run` calls.
    ///
    /// # Safety
    /// The obligations of [`Work::new`] hold, and `header` begins a `HeapJob<F>`.
    unsafe fn run(header: NonNull<Header>, _runner: Option<Runner>) {
        let job = header.cast::<Self>().as_ptr();
        // SAFETY: `into_work` made it, and it is alive until it is freed below.
        let closure = unsafe { &raw const (*job).closure };
        // SAFETY: `into_work` wrote it, and by JOB-1 it is moved out once.
        let closure = unsafe { closure.read() };
        // SAFETY: `into_work` allocated it with this layout, and its contents have moved out.
        unsafe { stock::dealloc(header.cast(), &const { Self::MEMORY }) };
        closure();
    }
}
