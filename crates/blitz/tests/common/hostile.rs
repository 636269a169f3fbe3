//! Wakers that call a closure whenever they are cloned, woken or dropped. Blitz would deadlock if
//! it cloned, woke or dropped such a waker under a lock that the closure takes, too.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{RawWaker, RawWakerVTable, Waker};

/// The closure that such a waker calls, and how often it was called.
pub struct Hostile {
    call: Box<dyn Fn() + Send + Sync>,
    pub clones: AtomicUsize,
    pub wakes: AtomicUsize,
    pub drops: AtomicUsize,
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

impl Hostile {
    /// Returns a waker that calls `call`, and its counters.
    pub fn new(call: impl Fn() + Send + Sync + 'static) -> (Arc<Hostile>, Waker) {
        let hostile = Arc::new(Hostile {
            call: Box::new(call),
            clones: AtomicUsize::new(0),
            wakes: AtomicUsize::new(0),
            drops: AtomicUsize::new(0),
        });
        // SAFETY: the functions below keep the contract of a waker. Its data owns one count of an
        // `Arc`.
        let waker = unsafe { Waker::from_raw(raw(hostile.clone())) };
        (hostile, waker)
    }

    fn called(&self, count: &AtomicUsize) {
        count.fetch_add(1, SeqCst);
        (self.call)();
    }
}

fn raw(hostile: Arc<Hostile>) -> RawWaker {
    RawWaker::new(Arc::into_raw(hostile).cast(), &VTABLE)
}

/// Returns the `Arc` whose count the waker's data owns.
///
/// # Safety
/// 1. `data` belongs to a waker of this file, and the call consumes the waker.
unsafe fn take(data: *const ()) -> Arc<Hostile> {
    // SAFETY: `raw` made it from an `Arc` (obligation 1).
    unsafe { Arc::from_raw(data.cast()) }
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: the waker keeps its count, which is given back below.
    let hostile = unsafe { take(data) };
    hostile.called(&hostile.clones);
    let waker = raw(hostile.clone());
    std::mem::forget(hostile);
    waker
}

unsafe fn wake(data: *const ()) {
    // SAFETY: the call consumes the waker.
    let hostile = unsafe { take(data) };
    hostile.called(&hostile.wakes);
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: the waker keeps its count, which is given back below.
    let hostile = unsafe { take(data) };
    hostile.called(&hostile.wakes);
    std::mem::forget(hostile);
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: the call consumes the waker.
    let hostile = unsafe { take(data) };
    hostile.called(&hostile.drops);
}
