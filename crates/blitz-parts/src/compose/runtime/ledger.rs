//! Who has which task, and what became of each future. The checker does not see it: it is no step of a
//! schedule.

use crate::task::{Header, Runnable};
use std::collections::BTreeSet;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The books of one runtime.
#[derive(Default)]
pub(super) struct Ledger {
    /// The tasks that are in some queue, or on their way from one to another.
    queued: Mutex<BTreeSet<usize>>,
    futures: Mutex<Vec<Arc<Record>>>,
    /// Panics that nobody waited for.
    faults: Mutex<Vec<String>>,
}

/// What became of one future.
#[derive(Default)]
pub(super) struct Record {
    pub(super) polled_now: AtomicBool,
    pub(super) completed: AtomicUsize,
    pub(super) dropped: AtomicUsize,
}

impl Record {
    pub(super) fn has_completed(&self) -> bool {
        self.completed.load(Relaxed) == 1
    }

    pub(super) fn is_dropped(&self) -> bool {
        self.dropped.load(Relaxed) == 1
    }
}

impl Ledger {
    /// A task has become runnable: whoever calls has its only queue entry.
    pub(super) fn enter(&self, task: &Runnable) {
        let new = self.queued.lock().unwrap().insert(key(task.header()));
        assert!(new, "a task is scheduled although it is in a queue");
    }

    /// A task has left all queues, to be run or cancelled. One that two got out of the queues is noticed
    /// before it is touched.
    pub(super) fn leave(&self, task: &Runnable) {
        let known = self.queued.lock().unwrap().remove(&key(task.header()));
        assert!(known, "a task has left the queues twice");
    }

    pub(super) fn open(&self) -> Arc<Record> {
        let record = Arc::<Record>::default();
        self.futures.lock().unwrap().push(record.clone());
        record
    }

    pub(super) fn report(&self, fault: String) {
        self.faults.lock().unwrap().push(fault);
    }

    pub(super) fn assert_balanced(&self) {
        assert_eq!(*self.faults.lock().unwrap(), Vec::<String>::new());
        assert!(self.queued.lock().unwrap().is_empty(), "a task was lost");
        for record in &*self.futures.lock().unwrap() {
            assert_eq!(record.dropped.load(Relaxed), 1, "futures are dropped once");
            assert!(record.completed.load(Relaxed) <= 1, "futures complete once");
        }
    }
}

fn key(task: NonNull<Header>) -> usize {
    task.addr().get()
}
