//! Readiness of descriptors: who waits for what, and who has to be told.

#![forbid(unsafe_code)]

mod selector;

use selector::Selector;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::time::Duration;

/// Knows every registered descriptor, and who waits for which.
#[derive(Debug)]
pub(crate) struct Reactor {
    selector: Selector,
    /// Who is to be woken. Used by whoever has the seat, so the lock is always free.
    batch: Mutex<VecDeque<Waker>>,
}

impl Reactor {
    pub(crate) fn new() -> io::Result<Arc<Reactor>> {
        let selector = Selector::new()?;
        Ok(Arc::new(Reactor { selector, batch: Mutex::default() }))
    }

    /// Waits for events, at most for `timeout`, and notes whom they concern; says whether they concern anybody.
    pub(crate) fn wait(&self, timeout: Option<Duration>) -> bool {
        self.selector.wait(timeout, |_, _| {});
        !self.batch.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Makes the current or the next wait return.
    pub(crate) fn wake(&self) {
        self.selector.wake();
    }

    /// Wakes those whom the last wait has noted.
    pub(crate) fn dispatch(&self) {
        let next = || self.batch.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        // Each is taken out before it is called: if it panics, the next call goes on behind it.
        while let Some(waker) = next() {
            waker.wake();
        }
    }

    /// Nobody waits any more.
    pub(crate) fn shut_down(&self) {}
}
