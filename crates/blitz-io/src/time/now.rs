//! Reads the clock of the current runtime.
//!
//! Each runtime has a clock. Until a test pauses one of them, all agree with the system's clock, so
//! this file reads the system's clock directly.

#![forbid(unsafe_code)]

use crate::driver;
use crate::timers::clock::{self, Nanos};
use crate::timers::estimate;
use blitz_core::driver::paused_since;
use std::time::{Duration, Instant as StdInstant};

/// Returns the current moment, by the clock of the current runtime.
#[inline]
pub(super) fn now() -> StdInstant {
    if clock::was_any_stopped() { moment_at(now_of_current()) } else { StdInstant::now() }
}

/// Works like [`now`], in nanoseconds since the epoch.
#[inline]
pub(super) fn now_nanos() -> Nanos {
    if clock::was_any_stopped() { now_of_current() } else { clock::system_now() }
}

/// Returns the time of [`now_nanos`], or a fraction of a microsecond more. Deadlines use it, since
/// they must not be early.
#[inline]
pub(super) fn now_at_latest() -> Nanos {
    if clock::was_any_stopped() { now_of_current() } else { estimate::now_at_latest() }
}

#[cold]
fn now_of_current() -> Nanos {
    let now = driver::with_plugged(|driver| driver.timers().clock().now());
    // A clock that is paused from the beginning is paused before the pool has a driver.
    let standing = || paused_since().map(clock::standing_at);
    now.or_else(standing).unwrap_or_else(clock::system_now)
}

/// The moment that is `nanos` after the epoch. A moment beyond the clock's range is in the far
/// future.
pub(super) fn moment_at(nanos: Nanos) -> StdInstant {
    clock::moment_at(nanos).unwrap_or_else(far_future)
}

/// About three decades from now: as good as never, and within the range of every clock.
pub(super) fn far_future() -> StdInstant {
    const YEARS: u64 = 30 * 365 * 24 * 60 * 60;
    now() + Duration::from_secs(YEARS)
}
