//! The driver slot: where what waits for the outside world, sockets and timers, is plugged into a pool.
//!
//! ```text
//!  idle worker ──the lease is free──▶ poll: what is there already?
//!       │                              │ nothing
//!       │ taken: sleeps on its word    ▼
//!       │                            sleep in the driver: block
//!       ▼                              │ something happened, or somebody woke this worker
//!  busy worker ──each interval──▶ poll │
//!                                      ▼
//!                    dispatch: queues the tasks; gives the lease back; calls other wakers; runs
//! ```
//!
//! The lease is the sleep protocol's (see `blitz_parts::sleep`): one worker at a time has it, and if all sleep
//! one of them sleeps in the driver. It is given back before anything runs, and any worker that runs out of
//! work takes it. If none does, because one runs something long and the others sleep already, the watch wakes
//! one of them after a millisecond: handing the lease on each time would cost a wake-up per event. So whoever
//! gives the lease back tells the watch, even if it only had a look.
//!
//! With the lease a worker calls only wakers that queue a task of a pool or end a `block_on` ([`is_prompt`](crate::driver::is_prompt)). Any other waker is
//! the user's code and may block. The driver keeps it until the worker has left the lease and is counted as active;
//! then the worker calls it. Kept wakers stay in the driver until they are called, one by one: while
//! one of them blocks, the next worker that polls the driver calls the others.
//!
//! Nobody sleeps while the pool ends. Whoever waits for something then polls the driver itself.
//!
//! A pool has no driver until somebody asks for one: programs that only fork and join open no descriptor.

#![forbid(unsafe_code)]

use crate::team::Team;
use crate::worker::{Aside, Room, Worker};
use blitz_parts::prim::Mutex;
use blitz_parts::sleep::{Driver, DriverLease, downcast, downcast_arc};
use std::any::Any;
use std::fmt;
use std::io;
use std::sync::{Arc, PoisonError, Weak};

/// What a driver may know of its pool.
#[derive(Clone)]
pub struct PoolView {
    team: Weak<Team>,
}

impl PoolView {
    /// How many workers there are; zero if the pool has ended.
    pub fn num_workers(&self) -> usize {
        self.team.upgrade().map_or(0, |team| team.num_workers())
    }

    /// Whether nobody runs anything or is about to: every worker sleeps or has looked for the last time, none
    /// of them was woken, and there is no closure that may block. Exact for whoever is in `block` or
    /// [`Driver::pool_is_idle`]; elsewhere it may be over when it is said.
    ///
    /// A pool whose workers stop counts as idle, too: none of them sleeps any more, and one that polls the driver has
    /// nothing to do but to wait.
    pub fn is_idle(&self) -> bool {
        let rests = |team: Arc<Team>| team.sleep().is_stopping() || team.is_asleep();
        self.team.upgrade().is_some_and(rests)
    }

    /// Whether the workers stop: the pool ends.
    pub fn is_stopping(&self) -> bool {
        self.team.upgrade().is_some_and(|team| team.sleep().is_stopping())
    }

    /// What [`PoolBuilder::driver_options`](crate::PoolBuilder::driver_options) said, if it is a `T`.
    pub fn options<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let options = self.team.upgrade()?.config.driver_options.clone()?;
        options.downcast().ok()
    }
}

impl fmt::Debug for PoolView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolView").field("workers", &self.num_workers()).finish()
    }
}

/// What keeps a driver from being plugged in once the pool has ended.
#[derive(Default)]
pub(crate) struct Plugging {
    over: Mutex<bool>,
}

#[cold]
fn other_kind() -> io::Error {
    io::Error::other("this pool has a driver of another kind: a pool can have one only")
}

impl Team {
    /// Calls `f` with this team's driver; `make` makes it if there is none yet.
    #[inline]
    pub(crate) fn with_driver<D: Driver, R>(
        &self,
        make: impl FnOnce(PoolView) -> io::Result<Arc<D>>,
        f: impl FnOnce(&D) -> R,
    ) -> io::Result<R> {
        match downcast(&**self.driver_or_make(make)?) {
            Some(driver) => Ok(f(driver)),
            None => Err(other_kind()),
        }
    }

    /// This team's driver; `make` makes it if there is none yet.
    pub(crate) fn driver_arc<D: Driver>(
        &self,
        make: impl FnOnce(PoolView) -> io::Result<Arc<D>>,
    ) -> io::Result<Arc<D>> {
        downcast_arc(self.driver_or_make(make)?.clone()).ok_or_else(other_kind)
    }

    /// Calls `f` with this team's driver, if it has one of this kind already.
    pub(crate) fn with_plugged<D: Driver, R>(&self, f: impl FnOnce(&D) -> R) -> Option<R> {
        downcast(self.driver()?).map(f)
    }

    #[inline]
    fn driver_or_make<D: Driver>(
        &self,
        make: impl FnOnce(PoolView) -> io::Result<Arc<D>>,
    ) -> io::Result<&Arc<dyn Driver>> {
        match self.sleep().driver() {
            Some(driver) => Ok(driver),
            None => self.plug(make),
        }
    }

    #[cold]
    fn plug<D: Driver>(
        &self,
        make: impl FnOnce(PoolView) -> io::Result<Arc<D>>,
    ) -> io::Result<&Arc<dyn Driver>> {
        let over = self.plugging.over.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(driver) = self.sleep().driver() {
            return Ok(driver);
        }
        if *over {
            return Err(io::Error::other(
                "the pool has ended: keep its Runtime or Pool as long as it is used",
            ));
        }
        self.sleep().plug(make(PoolView { team: self.weak() })?);
        match self.sleep().driver() {
            Some(driver) => Ok(driver),
            None => unreachable!("it was just plugged in"),
        }
    }

    fn driver(&self) -> Option<&dyn Driver> {
        self.sleep().driver().map(|driver| &**driver)
    }

    /// Whether no worker runs anything.
    fn all_inactive(&self) -> bool {
        self.sleep().counters().load().inactive() >= self.num_workers()
    }

    /// Whether every worker sleeps, or is about to and will find nothing.
    fn is_asleep(&self) -> bool {
        // What a closure wakes at its end is seen afterwards, and a closure that was begun meanwhile, too.
        let rests = self.blocking.is_idle() && self.sleep().all_sleep() && !self.has_any_work();
        rests && self.blocking.is_idle()
    }

    /// Whether there is work for anybody: one that is about to sleep may not have seen its mail yet.
    fn has_any_work(&self) -> bool {
        self.has_work() || self.workers().any(Worker::has_mail)
    }

    /// The last closure that may block has ended.
    pub(crate) fn tell_driver_of_end(&self) {
        if let Some(driver) = self.driver().filter(|_| self.is_asleep()) {
            driver.pool_is_idle();
        }
    }

    /// Tells the driver, once, that the pool has ended; from now on none can be plugged in.
    pub(crate) fn shut_driver_down(&self) {
        let mut over = self.plugging.over.lock().unwrap_or_else(PoisonError::into_inner);
        let was_over = std::mem::replace(&mut *over, true);
        drop(over);
        if let Some(driver) = self.driver().filter(|_| !was_over) {
            self.catch("a waker", || driver.shut_down());
        }
    }
}

/// What a visit to the driver brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "kept wakers have to be called"]
pub(crate) enum Visit {
    /// Nothing had happened, or another worker has the lease.
    Nothing,
    /// Tasks were woken.
    Tasks,
    /// The driver keeps wakers, which this worker has to call once it is not counted as inactive.
    Wakers,
}

impl Worker {
    /// Sees to what has happened, if no other worker is about to. Returns whether anything had. Only for
    /// a worker that is not counted as inactive. Own thread only.
    pub(crate) fn poll_driver(&self) -> bool {
        let visit = self.visit_driver();
        if visit == Visit::Wakers {
            self.call_wakers();
        }
        visit != Visit::Nothing
    }

    /// As `poll_driver`, but leaves it to the caller to call kept wakers. Own thread only.
    pub(crate) fn visit_driver(&self) -> Visit {
        let Some(lease) = self.team().sleep().try_lease(self.bed()) else { return Visit::Nothing };
        if self.team().driver().is_some_and(|driver| driver.poll()) {
            return self.dispatch(lease);
        }
        self.leave(lease);
        Visit::Nothing
    }

    /// Wakes the tasks for which something happened, and leaves the lease to others. If they are many, others
    /// are told of them. Few are this worker's: they are done before a sleeper would have taken one, and if they are
    /// not, the watch tells of them. Own thread only.
    pub(crate) fn dispatch(&self, lease: DriverLease<'_>) -> Visit {
        let outer = self.set_dispatching(true);
        let keeps = self.team().driver().is_some_and(|driver| driver.dispatch());
        self.set_dispatching(outer);
        self.leave(lease);
        if !self.has_few_tasks() {
            self.tell_of_ring();
        }
        if keeps { Visit::Wakers } else { Visit::Tasks }
    }

    /// Calls the wakers that the driver keeps. They are anybody's code: one that panics keeps no other from
    /// being called, and what one of them forks is no part of what this worker waits for. Only for a worker that is not
    /// counted as inactive. Own thread only.
    #[cold]
    pub(crate) fn call_wakers(&self) {
        let team = self.team();
        let Some(driver) = team.driver() else { return };
        let _aside = Aside::begin();
        let depth = self.in_wakers.get();
        self.in_wakers.set(depth + 1);
        self.in_run(|_| {
            let mut done = false;
            while !done {
                team.catch("a waker", || {
                    driver.call_kept();
                    done = true;
                });
            }
        });
        self.in_wakers.set(depth);
    }

    /// Whether a wait with so much `room` may call kept wakers. One that waits in such a waker calls no more of
    /// them at the limit: each might wait on top of the one before. Own thread only.
    pub(crate) fn may_call_wakers(&self, room: Room) -> bool {
        self.in_wakers.get() == 0 || room >= Room::Needed
    }

    /// Leaves the lease to others. One that found it taken may sleep on its word now, and this worker may be about
    /// to run something long.
    fn leave(&self, lease: DriverLease<'_>) {
        drop(lease);
        self.team().watch.lease_is_free(self.team());
    }

    /// This worker is about to sleep: if it is the last one, the driver may want to know. Own thread only.
    pub(crate) fn tell_idle_driver(&self) {
        if let Some(driver) = self.team().driver().filter(|_| self.team().all_inactive()) {
            driver.pool_is_idle();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;
    use crate::ops::detached::{self, Hold};
    use crate::sched::Scheduler;
    use crate::team::Team;

    #[test]
    fn a_pool_whose_worker_has_mail_is_not_asleep() {
        let team = Team::new(Config::default(), 1, Scheduler::default());
        let worker = team.worker(0).unwrap();
        let (word, counters) = (worker.bed().core(), team.sleep().counters());
        assert!(!team.is_asleep());
        counters.add_parked();
        assert!(word.get_sleepy() && team.is_asleep());
        word.wake_up();
        // It is awake, so nobody notifies it; then it is about to look for the last time.
        worker.post(detached::job(Hold::new(&team), || ()));
        assert!(word.get_sleepy() && !team.is_asleep());
        worker.disown();
        assert!(team.is_asleep());
        counters.sub_parked();
    }
}
