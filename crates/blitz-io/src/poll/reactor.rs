//! The table of descriptors together with the system's queue of events.

#![forbid(unsafe_code)]

use super::entries::Entries;
use super::selector::Selector;
use super::timer::Limit;
use crate::batch::{Batch, Kept, wake_all};
use blitz_parts::readiness::{Interest, Readiness};
use mio::event::Source;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// Knows every registered descriptor, and which tasks wait for it.
#[derive(Debug)]
pub(crate) struct Reactor {
    selector: Selector,
    entries: Mutex<Entries>,
    /// The wakers that the last wait has noted.
    batch: Batch,
}

impl Reactor {
    /// Makes a reactor whose waits return at most `events` events.
    pub(crate) fn new(events: usize) -> io::Result<Arc<Reactor>> {
        let selector = Selector::new(events)?;
        Ok(Arc::new(Reactor { selector, entries: Mutex::default(), batch: Batch::default() }))
    }

    /// Waits for events, until `limit` at most, and notes the wakers of the tasks that wait for
    /// them. Returns whether there are any.
    pub(crate) fn wait(&self, limit: Option<Limit>) -> bool {
        let mut batch = self.batch.lock();
        let mut entries = None;
        self.selector.wait(limit, |token, ready| {
            let entries = entries.get_or_insert_with(|| lock(&self.entries));
            if let Some(readiness) = entries.find(token) {
                readiness.set(ready, &mut batch);
            }
        });
        !batch.is_empty()
    }

    /// Whether a wait would return at once; see [`Selector::has_news`].
    pub(crate) fn has_news(&self) -> bool {
        self.selector.has_news()
    }

    /// Calls `add` to note wakers for the next [`dispatch`](Reactor::dispatch). Returns whether any
    /// are noted.
    pub(crate) fn note(&self, add: impl FnOnce(&mut VecDeque<Waker>)) -> bool {
        let mut batch = self.batch.lock();
        add(&mut batch);
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

    /// Ends the reactor: waiting tasks get an error, and later registrations fail.
    pub(crate) fn shut_down(&self) {
        let mut batch = self.batch.take();
        lock(&self.entries).end(&mut batch);
        wake_all(batch);
    }

    /// Whether the system's timer ends waits; see [`Selector::has_timer`].
    pub(crate) fn has_timer(&self) -> bool {
        self.selector.has_timer()
    }

    /// How many descriptors are registered.
    pub(crate) fn registered(&self) -> usize {
        lock(&self.entries).len()
    }

    /// How many tasks wait for a descriptor.
    pub(crate) fn waiting(&self) -> usize {
        lock(&self.entries).waiting()
    }

    /// Returns every registered descriptor by its token. Locks the table for a few descriptors at a
    /// time, so that the worker in the driver does not wait for long.
    pub(super) fn watched(&self) -> Vec<(usize, Arc<Readiness>)> {
        let (mut watched, mut place) = (Vec::new(), Some(0));
        while let Some(from) = place {
            place = lock(&self.entries).list(from, &mut watched);
        }
        watched
    }

    /// Returns the number of the system's queue of events, which is a descriptor.
    pub(super) fn queue_number(&self) -> i32 {
        self.selector.number()
    }

    /// Watches `source` from now on. Returns its token and its readiness.
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

    /// Stops watching `source`. Call it once, with the token of the source.
    pub(crate) fn deregister(&self, source: &mut impl Source, token: usize) -> io::Result<()> {
        // Call the selector first: a source that can still report events must be in the table.
        let result = self.selector.deregister(source);
        drop(self.forget(token));
        result
    }

    /// Removes an entry. The caller drops it without the lock, because wakers are user code.
    fn forget(&self, token: usize) -> Option<Arc<Readiness>> {
        lock(&self.entries).remove(token)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic under these locks leaves nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
