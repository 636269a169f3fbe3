//! The driver slot: plugs a driver for sockets and timers into a pool.
//!
//! ```text
//!  idle worker ──the lease is free──▶ poll: has anything happened?
//!       │                              │ nothing
//!       │ taken: sleeps on its word    ▼
//!       │                            sleep in the driver: block
//!       ▼                              │ an event happened, or another thread woke this worker
//!  busy worker ──each interval──▶ poll │
//!                                      ▼
//!                    dispatch: queues the tasks; gives the lease back; calls other wakers; runs
//! ```
//!
//! The lease is part of the sleep protocol (see `blitz_parts::sleep`): one worker at a time has it,
//! and if all workers sleep, one of them sleeps in the driver. A worker gives the lease back before
//! it runs anything, and any worker that runs out of work takes the lease. If no worker takes it,
//! because one runs something long and the others already sleep, the watch wakes a sleeper after a
//! millisecond. Handing the lease to another worker each time would cost a wake-up per event. So a
//! worker that gives the lease back notifies the watch, even if it only polled.
//!
//! While it has the lease, a worker calls only wakers that queue a task of a pool or end a
//! `block_on` ([`is_prompt`](crate::driver::is_prompt)). Any other waker is user code and may
//! block. The driver defers such a waker: the worker calls it after the worker has given the lease
//! back and counts as active. Workers take deferred wakers out of the driver one by one. So while
//! one waker blocks, the next worker that polls the driver calls the other wakers.
//!
//! No worker sleeps while the pool ends: a worker that waits for something polls the driver itself.
//!
//! A pool has no driver until a caller asks for one: programs that only fork and join open no
//! descriptor.

#![forbid(unsafe_code)]

use super::Room;
use crate::base::context::Aside;
use crate::sched::work::has_work;
use crate::team::{Owner, PoolView, Team, Worker};
use blitz_parts::prim::{Step, broken};
use blitz_parts::sleep::DriverLease;
use std::sync::Arc;

impl PoolView {
    /// Whether no worker runs anything or is about to.
    ///
    /// Every worker sleeps or has looked for the last time, none of them was woken, and there is no
    /// closure that may block. The answer is exact inside `block` and
    /// [`Driver::pool_is_idle`](blitz_parts::sleep::Driver::pool_is_idle); elsewhere the answer may
    /// be out of date when it is returned.
    ///
    /// A pool whose workers stop counts as idle, too. They no longer sleep: a worker that waits
    /// polls the driver instead.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let rests = |team: Arc<Team>| team.sleep().is_stopping() || is_asleep(&team);
        self.team.upgrade().is_some_and(rests)
    }
}

/// Whether no worker runs anything.
fn all_inactive(team: &Team) -> bool {
    let waits = usize::from(team.sleep().relief_waits());
    team.sleep().counters().load().inactive() + waits >= team.sleep().in_service()
}

/// Whether every worker sleeps, or is about to and will find nothing.
fn is_asleep(team: &Team) -> bool {
    // Look for work after the closures: a closure that has just ended may have woken a task. Then
    // look at the closures again: another closure may have begun meanwhile.
    let rests = team.blocking.is_idle() && team.sleep().all_sleep() && !has_any_work(team);
    rests && team.blocking.is_idle()
}

/// Whether there is work for any worker. This includes mail, which a worker that is about to sleep
/// may not have seen yet.
fn has_any_work(team: &Team) -> bool {
    has_work(team) || team.workers().any(Worker::has_mail)
}

/// Notifies the driver if the pool is idle now. Called when the last closure that may block ends.
pub(crate) fn tell_driver_of_end(team: &Team) {
    if let Some(driver) = team.driver().filter(|_| is_asleep(team)) {
        driver.pool_is_idle();
    }
}

/// The result of a visit to the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "deferred wakers must be called"]
pub(crate) enum Visit {
    /// Nothing had happened, or another worker has the lease.
    Nothing,
    /// Tasks were woken.
    Tasks,
    /// The driver has deferred wakers, which this worker must call once it no longer counts as
    /// inactive.
    Wakers,
}

impl Owner<'_> {
    /// Polls the driver and dispatches its events, unless another worker has the lease. Returns
    /// whether there were any events. This worker must not count as inactive.
    pub(crate) fn poll_driver(self) -> bool {
        let visit = self.visit_driver();
        if visit == Visit::Wakers {
            self.call_wakers();
        }
        visit != Visit::Nothing
    }

    /// Works like `poll_driver`, but the caller must call deferred wakers.
    pub(crate) fn visit_driver(self) -> Visit {
        let Some(lease) = self.team().sleep().try_lease(self.own_bed()) else {
            return Visit::Nothing;
        };
        if self.team().driver().is_some_and(|driver| driver.poll()) {
            return self.dispatch(lease);
        }
        self.leave(lease);
        Visit::Nothing
    }

    /// Wakes the tasks whose events arrived, and gives the lease back. If there are many tasks,
    /// notifies another worker, unless this worker is better alone. If there are few, it notifies
    /// none: this worker probably finishes them before a sleeper could take one. If it does not,
    /// the watch notifies another worker.
    pub(crate) fn dispatch(self, lease: DriverLease<'_>) -> Visit {
        let outer = self.own().dispatching.replace(true);
        let keeps = self.team().driver().is_some_and(|driver| driver.dispatch());
        self.own().dispatching.set(outer);
        self.leave(lease);
        // A deferred waker is user code, and may block this worker: keep no tasks behind it.
        if keeps || !self.tasks().has_few_tasks() {
            self.tasks().notify_of_ring();
        }
        if keeps && !broken(Step::DriverCallsKept) { Visit::Wakers } else { Visit::Tasks }
    }

    /// Calls the wakers that the driver has deferred. They are foreign code: if one panics, the
    /// others are still called. Jobs that they fork are unrelated to the job for which this worker
    /// may be waiting. This worker must not count as inactive.
    #[cold]
    pub(crate) fn call_wakers(self) {
        let team = self.team();
        let Some(driver) = team.driver() else { return };
        let _aside = Aside::begin();
        let depth = self.own().in_wakers.get();
        self.own().in_wakers.set(depth + 1);
        self.in_run(|_| {
            let mut done = false;
            while !done {
                team.catch("a waker", || {
                    driver.call_kept();
                    done = true;
                });
            }
        });
        self.own().in_wakers.set(depth);
    }

    /// Whether a wait with this much `room` may call deferred wakers. When the stack is nearly
    /// full, a wait inside a deferred waker calls no others: each of them might wait, too, on top
    /// of the waker before it.
    pub(crate) fn may_call_wakers(self, room: Room) -> bool {
        self.own().in_wakers.get() == 0 || room >= Room::Needed
    }

    /// Gives the lease back and notifies the watch. A worker that found the lease taken may sleep
    /// on its word now, and this worker may be about to run something long.
    fn leave(self, lease: DriverLease<'_>) {
        drop(lease);
        if !broken(Step::DriverLeaveTells) {
            self.team().watch_driver();
        }
    }

    /// Notifies the driver if no worker is active any more. Called by a worker that is about to
    /// sleep.
    pub(crate) fn tell_idle_driver(self) {
        if let Some(driver) = self.team().driver().filter(|_| all_inactive(self.team())) {
            if !broken(Step::DriverIdleTold) {
                driver.pool_is_idle();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_asleep;
    use crate::sched::hold::{Hold, job};
    use crate::state::{Config, Scheduler};
    use crate::team::Team;
    use crate::worker::mail::{disown, post};

    #[test]
    fn a_pool_whose_worker_has_mail_is_not_asleep() {
        let team = Team::new(Config::default(), 1, Scheduler::default());
        let worker = team.worker(0).unwrap();
        let (word, counters) = (worker.bed().core(), team.sleep().counters());
        assert!(!is_asleep(&team));
        counters.add_parked();
        assert!(word.get_sleepy() && is_asleep(&team));
        word.wake_up();
        // The worker is awake when the mail is posted, so `post` does not notify it. Then the
        // worker gets sleepy, and has not yet looked for the last time.
        post(worker, job(Hold::new(&team), || ()));
        assert!(word.get_sleepy() && !is_asleep(&team));
        disown(worker);
        assert!(is_asleep(&team));
        counters.sub_parked();
    }
}
