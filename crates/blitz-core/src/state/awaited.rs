//! The jobs of `spawn_cpu` that tasks await, for threads that look at the pool.
//!
//! A job is here from the first time that a task waits for it until it has ended. So a job that no
//! task waits for costs nothing.

#![forbid(unsafe_code)]

use super::blocking::{AwaitedClosure, Listed};
use crate::base::Id;
use blitz_parts::prim::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::PoisonError;

/// Into how many parts the list is divided, so that workers rarely meet at one.
const PARTS: usize = 16;

/// The jobs of one pool that tasks await.
#[derive(Default)]
pub(crate) struct AwaitedJobs {
    parts: [Mutex<BTreeMap<Id, Listed>>; PARTS],
}

impl AwaitedJobs {
    fn part(&self, id: Id) -> MutexGuard<'_, BTreeMap<Id, Listed>> {
        lock(&self.parts[id.number() as usize % PARTS])
    }

    pub(crate) fn add(&self, id: Id, listed: Listed) {
        self.part(id).insert(id, listed);
    }

    /// Forgets a job. The returned entry may be the last reference to a result, whose drop is user
    /// code.
    #[must_use]
    pub(crate) fn remove(&self, id: Id) -> Option<Listed> {
        self.part(id).remove(&id)
    }

    /// Returns the jobs that tasks await now.
    pub(crate) fn awaited(&self) -> Vec<AwaitedClosure> {
        let awaited = |part| AwaitedClosure::all(&lock(part));
        self.parts.iter().flat_map(awaited).collect()
    }
}

fn lock(part: &Mutex<BTreeMap<Id, Listed>>) -> MutexGuard<'_, BTreeMap<Id, Listed>> {
    // No user code runs under the lock.
    part.lock().unwrap_or_else(PoisonError::into_inner)
}
