//! The shielded sections of a team's tasks.

#![forbid(unsafe_code)]

use blitz_parts::prim::{Mutex, MutexGuard};
use blitz_parts::task::TaskRef;
use std::collections::BTreeMap;
use std::sync::PoisonError;

/// The shielded sections of a team's tasks that have not ended.
#[derive(Default)]
pub(crate) struct Sections {
    list: Mutex<List>,
}

#[derive(Default)]
struct List {
    open: BTreeMap<u64, TaskRef>,
    /// How many sections were ever begun.
    begun: u64,
}

impl Sections {
    pub(crate) fn add(&self, task: TaskRef) -> u64 {
        let mut list = self.lock();
        list.begun += 1;
        let key = list.begun;
        list.open.insert(key, task);
        key
    }

    /// Returns whether the section was there.
    pub(crate) fn remove(&self, key: u64) -> bool {
        let task = self.lock().open.remove(&key);
        // This may drop the task's last reference, so do it without the lock.
        task.is_some()
    }

    /// The number of sections.
    pub(crate) fn len(&self) -> usize {
        self.lock().open.len()
    }

    /// Removes sections whose task has ended: they were forgotten, or moved out of their task.
    pub(crate) fn take_ended(&self) -> Vec<TaskRef> {
        let mut list = self.lock();
        let is_ended = |(key, task): (&u64, &TaskRef)| task.is_finished().then_some(*key);
        let ended: Vec<u64> = list.open.iter().filter_map(is_ended).collect();
        ended.iter().filter_map(|key| list.open.remove(key)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        // No user code runs under the lock.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
