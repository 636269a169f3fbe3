//! Those who are to be woken, once no lock is held.

#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// Wakers that are noted now and called later. Used by whoever has the driver's seat, so the lock is always free.
#[derive(Debug, Default)]
pub(crate) struct Batch(Mutex<VecDeque<Waker>>);

impl Batch {
    /// To add somebody.
    pub(crate) fn lock(&self) -> MutexGuard<'_, VecDeque<Waker>> {
        // Nothing under the lock is left half done by a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of them, who are nobody's to wake any more but the caller's.
    pub(crate) fn take(&self) -> VecDeque<Waker> {
        std::mem::take(&mut *self.lock())
    }

    /// Wakes all. If one of them panics, the next call goes on behind it.
    pub(crate) fn wake(&self) {
        let mut rest = Rest { wakers: self.take(), home: self };
        while let Some(waker) = rest.wakers.pop_front() {
            waker.wake();
        }
    }
}

/// What is being woken; what is left of it goes back to where it came from, its memory in any case.
struct Rest<'a> {
    wakers: VecDeque<Waker>,
    home: &'a Batch,
}

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        std::mem::swap(&mut *self.home.lock(), &mut self.wakers);
    }
}

/// Wakes all of them; one that panics keeps no other from being called.
pub(crate) fn wake_all(wakers: VecDeque<Waker>) {
    let mut panic = None;
    for waker in wakers {
        panic = catch_unwind(AssertUnwindSafe(|| waker.wake())).err().or(panic);
    }
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}
