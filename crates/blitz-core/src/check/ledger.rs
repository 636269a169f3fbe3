//! Records the fate of each future and closure of a program. The checker does not see these
//! records, so they add no steps to a schedule.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

std::thread_local! {
    // All threads of a model run on one OS thread.
    static CURRENT: RefCell<Arc<Ledger>> = RefCell::default();
}

/// The records of one program.
#[derive(Default)]
pub(super) struct Ledger {
    futures: Mutex<Vec<Arc<Record>>>,
    jobs: Mutex<Vec<Arc<Record>>>,
    /// Panics that no thread waited for.
    faults: Mutex<Vec<String>>,
}

/// The fate of one future or closure.
#[derive(Default)]
pub(super) struct Record {
    pub(super) polled_now: AtomicBool,
    pub(super) completed: AtomicUsize,
    pub(super) dropped: AtomicUsize,
    /// Whether the closure may be dropped without having run.
    pub(super) may_be_refused: bool,
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
    /// Starts a new ledger for a program.
    pub(super) fn begin() -> Arc<Ledger> {
        CURRENT.with_borrow_mut(|current| {
            *current = Arc::default();
            current.clone()
        })
    }

    /// The ledger of the running program.
    pub(super) fn current() -> Arc<Ledger> {
        CURRENT.with_borrow(Arc::clone)
    }

    /// Opens a record for a future, which must be dropped once.
    pub(super) fn open(&self) -> Arc<Record> {
        let record = Arc::<Record>::default();
        self.futures.lock().unwrap().push(record.clone());
        record
    }

    /// Follows a closure that must run.
    pub(super) fn follow<T>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> impl FnOnce() -> T + Send + 'static {
        self.follow_as(Record::default(), job)
    }

    /// Follows a closure that may arrive too late to run.
    pub(super) fn follow_late<T>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> impl FnOnce() -> T + Send + 'static {
        self.follow_as(Record { may_be_refused: true, ..Record::default() }, job)
    }

    fn follow_as<T>(
        &self,
        record: Record,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> impl FnOnce() -> T + Send + 'static {
        /// Notes that the closure is gone.
        struct Dropped(Arc<Record>);
        impl Drop for Dropped {
            fn drop(&mut self) {
                self.0.dropped.fetch_add(1, Relaxed);
            }
        }

        let record = Arc::new(record);
        self.jobs.lock().unwrap().push(record.clone());
        let dropped = Dropped(record);
        move || {
            let result = job();
            dropped.0.completed.fetch_add(1, Relaxed);
            result
        }
    }

    pub(super) fn report(&self, fault: String) {
        self.faults.lock().unwrap().push(fault);
    }

    pub(super) fn assert_balanced(&self) {
        assert_eq!(*self.faults.lock().unwrap(), Vec::<String>::new());
        for record in &*self.futures.lock().unwrap() {
            assert_eq!(record.dropped.load(Relaxed), 1, "futures are dropped once");
            assert!(record.completed.load(Relaxed) <= 1, "futures complete once");
        }
        for record in &*self.jobs.lock().unwrap() {
            assert_eq!(record.dropped.load(Relaxed), 1, "closures are dropped once");
            assert!(record.has_completed() || record.may_be_refused, "each job runs once");
        }
    }
}
