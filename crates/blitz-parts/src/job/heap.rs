//! A job that nobody waits for in a frame: a boxed closure.

use super::{Header, Work};
use crate::latch::Runner;
use core::ptr::NonNull;

/// A boxed closure that frees itself when it runs.
#[repr(C)]
pub struct HeapJob<F> {
    header: Header,
    closure: F,
}

impl<F: FnOnce()> HeapJob<F> {
    /// Boxes `closure` and gives it out as work. If it is never run it leaks.
    ///
    /// # Safety
    /// 1. What `closure` borrows lives until it has run.
    /// 2. If another thread may run it, it is fit to be sent there.
    /// 3. `closure` does not unwind.
    pub unsafe fn into_work(closure: F) -> Work {
        let job = Box::new(HeapJob { header: Header::new(Self::run), closure });
        let header = NonNull::from(Box::leak(job)).cast::<Header>();
        // SAFETY: the box stays in place until `run` frees it, and this is its only word.
        unsafe { Work::new(header) }
    }

    /// What `Work::run` calls.
    ///
    /// # Safety
    /// As for [`Work::new`], with a header that begins a boxed `HeapJob<F>`.
    unsafe fn run(header: NonNull<Header>, _runner: Option<Runner>) {
        // SAFETY: the pointer came from a box in `into_work`, and by JOB-1 it is freed once.
        let job = unsafe { Box::from_raw(header.cast::<Self>().as_ptr()) };
        (job.closure)();
    }
}
