//! Wakers that are collected under a lock and called without one.

#![forbid(unsafe_code)]

use blitz_core::driver::is_prompt;
use blitz_parts::prim::{AtomicBool, Relaxed};
use blitz_parts::trim::outgrown;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// Wakers that are collected now and called later. Only the worker with the driver's lease uses it,
/// and in the end the thread that shuts the driver down, so the lock is always free.
#[derive(Debug, Default)]
pub(crate) struct Batch(Mutex<VecDeque<Waker>>);

impl Batch {
    /// Locks the wakers, so that the caller can add some.
    pub(crate) fn lock(&self) -> MutexGuard<'_, VecDeque<Waker>> {
        lock(&self.0)
    }

    /// Takes all wakers. The caller has to call them.
    pub(crate) fn take(&self) -> VecDeque<Waker> {
        std::mem::take(&mut *self.lock())
    }

    /// Wakes tasks of pools and threads in `block_on`; the other wakers go to `kept`.
    pub(crate) fn wake_tasks(&self, kept: &Kept) {
        let mut rest = Rest { wakers: self.take(), home: self };
        while let Some(waker) = rest.wakers.pop_front() {
            if is_prompt(&waker) {
                waker.wake();
            } else {
                kept.add(waker);
            }
        }
    }
}

/// Wakers that are being called. Its drop returns the remaining wakers to their batch, and the
/// memory, too, unless it is too large.
struct Rest<'a> {
    wakers: VecDeque<Waker>,
    home: &'a Batch,
}

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        drop(outgrown(&mut self.wakers));
        std::mem::swap(&mut *self.home.lock(), &mut self.wakers);
    }
}

/// Wakers that may do anything: they are called without the driver's lease.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    wakers: Mutex<VecDeque<Waker>>,
    /// Whether there are any wakers. The holder of the driver's lease sets it, so the next holder
    /// sees it.
    any: AtomicBool,
}

impl Kept {
    /// Adds a waker. The caller holds the driver's lease.
    fn add(&self, waker: Waker) {
        let mut wakers = lock(&self.wakers);
        wakers.push_back(waker);
        self.any.store(true, Relaxed);
    }

    /// Whether there are any wakers. For the holder of the driver's lease the answer is exact,
    /// except that another worker may be about to call the last waker.
    pub(crate) fn has_any(&self) -> bool {
        self.any.load(Relaxed)
    }

    /// Calls the wakers one by one until none is left. If a waker panics, the next call of this
    /// function continues after it.
    pub(crate) fn call(&self) {
        while let Some(waker) = self.next() {
            waker.wake();
        }
    }

    /// Takes all wakers.
    pub(crate) fn take(&self) -> VecDeque<Waker> {
        std::mem::take(&mut *lock(&self.wakers))
    }

    fn next(&self) -> Option<Waker> {
        let mut wakers = lock(&self.wakers);
        let next = wakers.pop_front();
        self.any.store(!wakers.is_empty(), Relaxed);
        let spare = outgrown(&mut wakers);
        drop(wakers);
        drop(spare);
        next
    }
}

fn lock(wakers: &Mutex<VecDeque<Waker>>) -> MutexGuard<'_, VecDeque<Waker>> {
    // A panic under the lock leaves nothing half done.
    wakers.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls all wakers, prompt ones first: any other waker may block. If a waker panics, the others
/// are still called.
pub(crate) fn wake_all(mut wakers: VecDeque<Waker>) {
    let mut panic = None;
    for _ in 0..wakers.len() {
        match wakers.pop_front() {
            Some(prompt) if is_prompt(&prompt) => prompt.wake(),
            other => wakers.extend(other),
        }
    }
    for waker in wakers {
        panic = catch_unwind(AssertUnwindSafe(|| waker.wake())).err().or(panic);
    }
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}
