//! Which worker the current thread is.

use super::Worker;
use crate::team::Team;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(std::ptr::null()) };
}

/// The worker that the current thread is, if it is one.
///
/// The reference must not leave the current call: a thread stops being a worker only outside of every
/// job, in `Seat::drop`.
#[inline(always)]
pub(crate) fn current<'a>() -> Option<&'a Worker> {
    // SAFETY: while the pointer is set, the seat's owner keeps the worker's team alive.
    CURRENT.with(|current| unsafe { current.get().as_ref() })
}

/// The current thread is this worker until the seat is dropped.
pub(crate) struct Seat {
    before: *const Worker,
}

impl Seat {
    /// Makes the current thread the worker.
    ///
    /// # Safety
    /// 1. No other thread is this worker at the same time.
    /// 2. The worker outlives the seat, which is dropped on this thread.
    pub(crate) unsafe fn take(worker: &Worker) -> Seat {
        Seat { before: CURRENT.with(|current| current.replace(worker)) }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(self.before));
    }
}

thread_local! {
    /// The seat of a thread that became a worker without being started as one, and its team, which
    /// must outlive the seat even if the pool's handle is dropped elsewhere.
    static ADOPTED: RefCell<Option<(Seat, Arc<Team>)>> = const { RefCell::new(None) };
}

/// Makes the current thread worker 0 of `team`, until the pool's handle is dropped here or the thread
/// ends. False if it is a worker already.
pub(crate) fn adopt(team: &Arc<Team>) -> bool {
    let Some(worker) = team.worker(0).filter(|_| current().is_none()) else {
        return false;
    };
    // SAFETY: worker 0 of a team with this setting gets no thread of its own; the team is kept beside
    // the seat, in a place that only this thread reaches.
    let seat = unsafe { Seat::take(worker) };
    ADOPTED.with(|adopted| adopted.replace(Some((seat, team.clone()))));
    true
}

/// The inverse of [`adopt`].
pub(crate) fn leave_adopted() {
    let left = ADOPTED.with(RefCell::take);
    drop(left);
}
