//! The driver slot: where what waits for the outside world, sockets and timers, is plugged into a pool.
//!
//! ```text
//!  idle worker ──the seat is free──▶ poll: what is there already?
//!       │                              │ nothing
//!       │ taken: sleeps on its word    ▼
//!       │                            sleep in the driver: block
//!       ▼                              │ something happened, or somebody woke this worker
//!  busy worker ──each interval──▶ poll │
//!                                      ▼
//!                    dispatch: queues the tasks; gives the seat back; calls other wakers; runs
//! ```
//!
//! The seat is the sleep protocol's (see `blitz_parts::sleep`): one worker at a time has it, and if all sleep
//! one of them sleeps in the driver. It is given back before anything runs, and any worker that runs out of
//! work takes it. If none does, because one runs something long and the others sleep already, the watch wakes
//! one of them after a millisecond: handing the seat on each time would cost a wake-up per event. So whoever
//! gives the seat back tells the watch, even if it only had a look.
//!
//! With the seat a worker calls only wakers that queue a task of a pool or end a `block_on` ([`is_prompt`]). Any other waker is
//! the user's code and may block. The driver keeps it until the worker has left the seat and is counted as active;
//! then the worker calls it. Kept wakers stay in the driver until they are called, one by one: while
//! one of them blocks, the next worker that polls the driver calls the others.
//!
//! Nobody sleeps while the pool ends. Whoever waits for something then polls the driver itself.
//!
//! A pool has no driver until somebody asks for one: programs that only fork and join open no descriptor.

#![forbid(unsafe_code)]

use crate::handle::{self, Handle};
pub use crate::ops::block_on::is_prompt;
pub use crate::task::budget::{Spent, poll_spend};
use crate::task::context;
use crate::team::Team;
use crate::worker::{Aside, Room, Worker, current};
pub use blitz_parts::sleep::Berth;
use blitz_parts::sleep::Seat;
use std::any::Any;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// What waits for events on behalf of a pool's tasks. [`Berth::block`] waits for events and notes them; it wakes
/// no task.
///
/// `block`, `poll` and `dispatch` are called by one thread at a time, the one that has the seat.
pub trait Driver: Berth + Any {
    /// As [`Berth::block`], but does not block.
    fn poll(&self) -> bool;

    /// Wakes the tasks that wait for what was noted, and keeps every waker that does more than
    /// queue a task or end a `block_on` ([`is_prompt`]). Returns whether any is kept.
    fn dispatch(&self) -> bool;

    /// Calls the wakers that [`dispatch`](Driver::dispatch) has kept, until none is left. If one of them panics, the
    /// next call goes on behind it. Any thread; several may be in here at once. While any is kept, `poll` and
    /// `block` say so.
    fn call_kept(&self);

    /// Every worker but the one in `block` has just gone to sleep, or the last closure that may block has ended
    /// while they sleep.
    fn pool_is_idle(&self);

    /// The pool has ended: nobody will call `block` any more. What waits is told so.
    fn shut_down(&self);
}

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

/// A pool's driver, once there is one.
#[derive(Default)]
pub(crate) struct Slot {
    plugged: OnceLock<Plugged>,
    /// Whether it is too late to plug one in.
    over: Mutex<bool>,
}

/// The same driver, as what the pool needs and as what its users know.
struct Plugged {
    driver: Arc<dyn Driver>,
    any: Arc<dyn Any + Send + Sync>,
}

/// Calls `f` with the driver of the current pool, or of the global one, and with the index of the worker that
/// the current thread is in that pool. `make` makes the driver if there is none yet.
///
/// # Errors
/// If the driver cannot be made, or if the pool has ended.
#[inline]
pub fn with_current<D: Driver, R>(
    make: impl FnOnce(PoolView) -> io::Result<Arc<D>>,
    f: impl FnOnce(&D, Option<usize>) -> R,
) -> io::Result<R> {
    if let Some(worker) = current::current().filter(|_| !context::is_entered()) {
        return worker.team().with_driver(make, |driver| f(driver, Some(worker.index())));
    }
    handle::with_another_team(|team| {
        let index = current::current().filter(|worker| worker.is_in(team)).map(Worker::index);
        team.with_driver(make, |driver| f(driver, index))
    })
}

/// Calls `f` with the driver of the pool that [`with_current`] would use, if there is one already.
pub fn with_plugged<D: Driver, R>(f: impl FnOnce(&D) -> R) -> Option<R> {
    let call = |team: &Team| team.driver.plugged.get()?.any.downcast_ref().map(f);
    handle::try_with_current_team(call).flatten()
}

impl Handle {
    /// This pool's driver; `make` makes it if there is none yet.
    ///
    /// # Errors
    /// If the driver cannot be made, or if the pool has ended.
    pub fn driver<D: Driver>(
        &self,
        make: impl FnOnce(PoolView) -> io::Result<Arc<D>>,
    ) -> io::Result<Arc<D>> {
        let plugged = self.team().driver_or_make(make)?;
        plugged.any.clone().downcast().map_err(|_| other_kind())
    }
}

#[cold]
fn other_kind() -> io::Error {
    io::Error::other("this pool has a driver of another kind: a pool can have one only")
}

impl Team {
    #[inline]
    fn with_driver<D: Driver, R>(
        &self,
        make: impl FnOnce(PoolView) -> io::Result<Arc<D>>,
        f: impl FnOnce(&D) -> R,
    ) -> io::Result<R> {
        match self.driver_or_make(make)?.any.downcast_ref() {
            Some(driver) => Ok(f(driver)),
            None => Err(other_kind()),
        }
    }

    #[inline]
    fn driver_or_make<D: Driver>(
        &self,
        make: impl FnOnce(PoolView) -> io::Result<Arc<D>>,
    ) -> io::Result<&Plugged> {
        match self.driver.plugged.get() {
            Some(plugged) => Ok(plugged),
            None => self.plug(make),
        }
    }

    #[cold]
    fn plug<D: Driver>(
        &self,
        make: impl FnOnce(PoolView) -> io::Result<Arc<D>>,
    ) -> io::Result<&Plugged> {
        let over = self.driver.over.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plugged) = self.driver.plugged.get() {
            return Ok(plugged);
        }
        if *over {
            return Err(io::Error::other(
                "the pool has ended: keep its Runtime or Pool as long as it is used",
            ));
        }
        let driver = make(PoolView { team: self.weak() })?;
        let plugged = Plugged { driver: driver.clone(), any: driver.clone() };
        let plugged = self.driver.plugged.get_or_init(|| plugged);
        self.sleep().plug(driver);
        Ok(plugged)
    }

    fn plugged(&self) -> Option<&dyn Driver> {
        self.driver.plugged.get().map(|plugged| &*plugged.driver)
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
        if let Some(driver) = self.plugged().filter(|_| self.is_asleep()) {
            driver.pool_is_idle();
        }
    }

    /// Tells the driver, once, that the pool has ended; from now on none can be plugged in.
    pub(crate) fn shut_driver_down(&self) {
        let mut over = self.driver.over.lock().unwrap_or_else(PoisonError::into_inner);
        let was_over = std::mem::replace(&mut *over, true);
        drop(over);
        if let Some(driver) = self.plugged().filter(|_| !was_over) {
            self.catch("a waker", || driver.shut_down());
        }
    }
}

/// What a visit to the driver brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "kept wakers have to be called"]
pub(crate) enum Visit {
    /// Nothing had happened, or another worker has the seat.
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
        let Some(seat) = self.team().sleep().try_seat(self.bed()) else { return Visit::Nothing };
        if self.team().plugged().is_some_and(Driver::poll) {
            return self.dispatch(seat);
        }
        self.leave(seat);
        Visit::Nothing
    }

    /// Wakes the tasks for which something happened, and leaves the seat to others. If they are many, others
    /// are told of them. Few are this worker's: they are done before a sleeper would have taken one, and if they are
    /// not, the watch tells of them. Own thread only.
    pub(crate) fn dispatch(&self, seat: Seat<'_>) -> Visit {
        let outer = self.set_dispatching(true);
        let keeps = self.team().plugged().is_some_and(Driver::dispatch);
        self.set_dispatching(outer);
        self.leave(seat);
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
        let Some(driver) = team.plugged() else { return };
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

    /// Leaves the seat to others. One that found it taken may sleep on its word now, and this worker may be about
    /// to run something long.
    fn leave(&self, seat: Seat<'_>) {
        drop(seat);
        self.team().watch.seat_is_free(self.team());
    }

    /// This worker is about to sleep: if it is the last one, the driver may want to know. Own thread only.
    pub(crate) fn tell_idle_driver(&self) {
        if let Some(driver) = self.team().plugged().filter(|_| self.team().all_inactive()) {
            driver.pool_is_idle();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::builder::Config;
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
