//! The interface between a pool and its driver, which waits for sockets and timers.

#![forbid(unsafe_code)]

pub use super::backend::{IoBackend, is_any_clock_stopped, note_stopped_clock};
use super::current::{try_with_another_team, try_with_current_team};
use super::handle::Handle;
use crate::base::context;
pub use crate::task::budget::{Spent, poll_spend};
pub use crate::task::is_prompt;
use crate::team::current;
pub use crate::team::{PoolView, TimerLateness};
use blitz_parts::prim::Instant;
pub use blitz_parts::sleep::{Awaited, Driver, DriverWait};
pub use blitz_parts::task::task_of;
use std::io;
use std::sync::Arc;

/// Calls `f` with the driver of the current pool, or of the global one, and with the current
/// thread's worker index in that pool. `make` makes the driver if there is none yet.
///
/// # Errors
/// If the driver cannot be made, if the pool has ended, or if the global pool is needed and cannot
/// be built.
#[inline]
pub fn with_current<D: Driver, R>(
    make: impl FnOnce(PoolView) -> io::Result<Arc<D>>,
    f: impl FnOnce(&D, Option<usize>) -> R,
) -> io::Result<R> {
    if let Some(worker) = current().filter(|_| !context::is_entered()) {
        return worker.team().with_driver(make, |driver| f(driver, Some(worker.index())));
    }
    try_with_another_team(|team| {
        let index = current().filter(|worker| worker.is_in(team)).map(|owner| owner.index());
        team.with_driver(make, |driver| f(driver, index))
    })?
}

/// Calls `f` with the driver of the pool that [`with_current`] would use, if that pool has one.
pub fn with_plugged<D: Driver, R>(f: impl FnOnce(&D) -> R) -> Option<R> {
    try_with_current_team(|team| team.with_plugged(f)).flatten()
}

/// Returns the driver of the pool that `handle` leads to; `make` makes it if there is none yet.
///
/// # Errors
/// If the driver cannot be made, or if the pool has ended.
pub fn of<D: Driver>(
    handle: &Handle,
    make: impl FnOnce(PoolView) -> io::Result<Arc<D>>,
) -> io::Result<Arc<D>> {
    handle.team().driver_arc(make)
}

/// Returns when the current pool was built, if it was built with a paused clock.
///
/// The current pool is the one that [`with_plugged`] would use.
#[must_use]
pub fn paused_since() -> Option<Instant> {
    try_with_current_team(|team| team.config.paused_since).flatten()
}
