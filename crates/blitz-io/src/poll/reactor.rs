//! The table of descriptors together with the system's queue of events.

#![forbid(unsafe_code)]

use super::entries::Entries;
use super::selector::Selector;
use crate::batch::{Batch, Kept, wake_all};
use blitz_parts::readiness::{Interest, Readiness};
use mio::event::Source;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

/// Knows every registered descriptor, and who waits for which.
#[derive(Debug)]
pub(crate) struct Reactor {
    selector: Selector,
    entries: Mutex<Entries>,
    /// Who is to be woken.
    batch: Batch,
}

impl Reactor {
    /// Waits bring at most `events` at a time.
    pub(crate) fn new(events: usize) -> io::Result<Arc<Reactor>> {
        let selector = Selector::new(events)?;
        Ok(Arc::new(Reactor { selector, entries: Mutex::default(), batch: Batch::default() }))
    }

    /// Waits for events, at most for `timeout`, and notes whom they concern; says whether they concern anybody.
    pub(crate) fn wait(&self, timeout: Option<Duration>) -> bool {
        let mut batch = self.batch.lock();
        let mut entries = None;
        self.selector.wait(timeout, |token, ready| {
            let entries = entries.get_or_insert_with(|| lock(&self.entries));
            if let Some(readiness) = entries.find(token) {
                readiness.set(ready, &mut batch);
            }
        });
        !batch.is_empty()
    }

    /// Has `who` add those who are to be woken by the next [`dispatch`](Reactor::dispatch); says whether there is
    /// anybody.
    pub(crate) fn note(&self, who: impl FnOnce(&mut VecDeque<Waker>)) -> bool {
        let mut batch = self.batch.lock();
        who(&mut batch);
        !batch.is_empty()
    }

    /// Makes the current or the next wait return.
    pub(crate) fn wake(&self) {
        self.selector.wake();
    }

    /// Wakes the tasks that the last wait has noted; other wakers go to `kept`.
    pub(crate) fn dispatch(&self, kept: &Kept) {
        self.batch.wake_tasks(kept);
    }

    /// No more events come: whoever waits is told so, and so is whoever wants to register.
    pub(crate) fn shut_down(&self) {
        let mut batch = self.batch.take();
        lock(&self.entries).end(&mut batch);
        wake_all(batch);
    }

    /// How many descriptors are registered.
    pub(crate) fn registered(&self) -> usize {
        lock(&self.entries).len()
    }

    /// How many tasks wait for a descriptor.
    pub(crate) fn waiting(&self) -> usize {
        lock(&self.entries).waiting()
    }

    /// Sees to events of `source` from now on. Returns its token and its readiness.
    pub(crate) fn register(
        &self,
        source: &mut impl Source,
        interest: Interest,
    ) -> io::Result<(usize, Arc<Readiness>)> {
        let readiness = Arc::new(Readiness::new());
        let token = lock(&self.entries).insert(readiness.clone())?;
        if let Err(error) = self.selector.register(source, token, interest) {
            drop(self.forget(token));
            return Err(error);
        }
        Ok((token, readiness))
    }

    /// Sees to no event of `source` any more. Once, with the token that it was given.
    pub(crate) fn deregister(&self, source: &mut impl Source, token: usize) -> io::Result<()> {
        // In this order, so that the table is never without one of which events come.
        let result = self.selector.deregister(source);
        drop(self.forget(token));
        result
    }

    /// The wakers in what is returned are not dropped under the lock.
    fn forget(&self, token: usize) -> Option<Arc<Readiness>> {
        lock(&self.entries).remove(token)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing under these locks is left half done by a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
