//! The sleepers of `block_on`: what its wakers wake, and which task it awaits.

use super::bell::{self, Bell};
use crate::base::Id;
use crate::state::Sleeper;
use crate::team::{Owner, Team};
use blitz_parts::latch::{JobLatch, Latch};
use blitz_parts::park::parker::Parker;
use blitz_parts::prim::Mutex;
use blitz_parts::task::only_queues;
use std::sync::{Arc, PoisonError};
use std::task::{RawWakerVTable, Waker};

/// Whether a wake with `waker` only queues a task or ends a wait of `block_on`. Such a wake runs no
/// user code and does not block. Any other waker may run any code.
///
/// ```
/// use std::task::Waker;
/// assert!(!blitz_core::driver::is_prompt(Waker::noop()));
/// ```
#[inline]
#[must_use]
pub fn is_prompt(waker: &Waker) -> bool {
    only_queues(waker) || bell::is_of(waker, [&WORKER_BELLS, &DOORBELLS])
}

static WORKER_BELLS: RawWakerVTable = bell::table_of::<WorkerBell>();
static DOORBELLS: RawWakerVTable = bell::table_of::<Doorbell>();

/// The task whose join handle has a waker of a `block_on`, for `explain`.
///
/// It is known from the poll that has left the waker, until any waker of this `block_on` is used up
/// or dropped. So if one waker exists besides that of the `block_on` itself, the handle has it.
#[derive(Default)]
struct Awaits(Mutex<Option<Id>>);

impl Awaits {
    fn set(&self, task: Option<Id>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = task;
    }

    fn get(&self) -> Option<Id> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notes that the join handle of `task` has just kept a clone of `waker`, and
/// has no other waker.
#[cold]
pub(super) fn note_awaited(waker: &Waker, task: Id) {
    let bell = bell::of::<WorkerBell>(waker).map(|bell| &bell.awaits);
    let bell = bell.or_else(|| bell::of::<Doorbell>(waker).map(|bell| &bell.awaits));
    if let Some(awaits) = bell {
        awaits.set(Some(task));
    }
}

/// Returns the address of the sleeper that `waker` wakes, if it is a waker of `block_on`.
pub(super) fn sleeper_of(waker: &Waker) -> Option<usize> {
    bell::is_of(waker, [&WORKER_BELLS, &DOORBELLS]).then(|| waker.data().addr())
}

impl Sleeper for WorkerBell {
    fn may_go_on(&self) -> bool {
        self.latch.probe()
    }

    fn awaits(&self) -> Option<Id> {
        self.awaits.get()
    }
}

impl Sleeper for Doorbell {
    fn may_go_on(&self) -> bool {
        !self.parker.is_parked()
    }

    fn awaits(&self) -> Option<Id> {
        self.awaits.get()
    }
}

/// Wakes a worker that waits in `block_on`.
pub(super) struct WorkerBell {
    pub(super) latch: JobLatch,
    awaits: Awaits,
    /// Holds the worker and the bed that the latch points to.
    #[expect(dead_code, reason = "keeps the worker and its bed alive")]
    team: Arc<Team>,
}

// SAFETY: the latch is made of atomics and a pointer to a bed, which the team beside it keeps
// alive.
unsafe impl Send for WorkerBell {}
// SAFETY: as above.
unsafe impl Sync for WorkerBell {}

impl Bell for WorkerBell {
    fn table() -> &'static RawWakerVTable {
        &WORKER_BELLS
    }

    fn ring(&self) {
        // SAFETY: the caller's count keeps the latch and its bed alive.
        unsafe { JobLatch::set(&raw const self.latch) };
    }

    fn lose_waker(&self) {
        self.awaits.set(None);
    }
}

/// Wakes a foreign thread that waits in `block_on`.
pub(super) struct Doorbell {
    pub(super) parker: Parker,
    awaits: Awaits,
}

impl Bell for Doorbell {
    fn table() -> &'static RawWakerVTable {
        &DOORBELLS
    }

    fn ring(&self) {
        self.parker.unpark();
    }

    fn lose_waker(&self) {
        self.awaits.set(None);
    }
}

impl WorkerBell {
    /// A bell for the worker of the current thread.
    pub(super) fn new(owner: Owner<'_>) -> WorkerBell {
        let (latch, awaits) = (JobLatch::new(owner.bed_ptr()), Awaits::default());
        WorkerBell { latch, awaits, team: owner.team().arc() }
    }
}

impl Doorbell {
    pub(super) fn new() -> Doorbell {
        Doorbell { parker: Parker::new(), awaits: Awaits::default() }
    }
}
