//! The driver of a team: plugged in once, and shut down when the team has ended.

#![forbid(unsafe_code)]

use super::Team;
use crate::state::Times;
use blitz_parts::prim::Instant;
use blitz_parts::sleep::{Driver, downcast, downcast_arc};
use std::any::Any;
use std::fmt;
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The driver's view of its pool.
///
/// The pool is *gone* once it has ended and all references to it, such as handles, are dropped.
#[derive(Clone)]
pub struct PoolView {
    pub(crate) team: Weak<Team>,
}

impl PoolView {
    /// How many workers there are; zero if the pool is gone.
    #[must_use]
    pub fn num_workers(&self) -> usize {
        self.team.upgrade().map_or(0, |team| team.num_workers())
    }

    /// Whether the workers stop or have stopped, because the pool ends; false if the pool is gone.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.team.upgrade().is_some_and(|team| team.sleep().is_stopping())
    }

    /// Returns the value of [`PoolBuilder::backend`](crate::PoolBuilder::backend), if it is a `T`.
    #[must_use]
    pub fn backend<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let backend = self.team.upgrade()?.config.backend.clone()?;
        backend.downcast().ok()
    }

    /// Returns the value of
    /// [`PoolBuilder::max_io_completions`](crate::PoolBuilder::max_io_completions).
    #[must_use]
    pub fn max_io_completions(&self) -> Option<usize> {
        self.team.upgrade()?.config.io_completions
    }

    /// Returns the value of [`PoolBuilder::timer_slack`](crate::PoolBuilder::timer_slack), or its
    /// default; zero if the pool is gone.
    #[must_use]
    pub fn timer_slack(&self) -> Duration {
        self.team.upgrade().map_or(Duration::ZERO, |team| team.config.timer_slack)
    }

    /// Returns where the driver notes how late timers fire; `None` if the pool is gone.
    #[must_use]
    pub fn timer_lateness(&self) -> Option<TimerLateness> {
        Some(TimerLateness(self.team.upgrade()?.timer_lateness.clone()))
    }

    /// Returns when the pool was built, if its clock was paused from the start.
    #[must_use]
    pub fn paused_since(&self) -> Option<Instant> {
        self.team.upgrade()?.config.paused_since
    }
}

impl fmt::Debug for PoolView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolView").field("workers", &self.num_workers()).finish()
    }
}

/// Records how late timers fire.
pub struct TimerLateness(Arc<Times>);

impl TimerLateness {
    /// Notes that a timer fired, this many nanoseconds late. Threads take turns to call it.
    #[inline]
    pub fn add(&self, nanos: u64) {
        self.0.add(nanos, 1);
    }
}

impl fmt::Debug for TimerLateness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TimerLateness").field(&self.0.read()).finish()
    }
}

#[cold]
fn other_kind() -> io::Error {
    io::Error::other("this pool has a driver of another kind: a pool can have only one")
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

    /// Calls `f` with this team's driver, if it already has one of this type.
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
        let over = self.plugging.lock();
        if let Some(driver) = self.sleep().driver() {
            return Ok(driver);
        }
        if *over {
            return Err(io::Error::other(
                "the pool has ended: keep its Runtime or Pool as long as it is used",
            ));
        }
        self.sleep().plug(make(PoolView { team: self.weak() })?);
        self.watch_left();
        match self.sleep().driver() {
            Some(driver) => Ok(driver),
            None => unreachable!("the driver was just plugged in"),
        }
    }

    /// The driver, once there is one.
    pub(crate) fn driver(&self) -> Option<&dyn Driver> {
        self.sleep().driver().map(|driver| &**driver)
    }

    /// Shuts the driver down once, because the pool has ended. From now on no driver can be plugged
    /// in.
    pub(crate) fn shut_driver_down(&self) {
        let mut over = self.plugging.lock();
        let was_over = std::mem::replace(&mut *over, true);
        drop(over);
        if let Some(driver) = self.driver().filter(|_| !was_over) {
            self.catch("a waker", || driver.shut_down());
        }
    }
}
