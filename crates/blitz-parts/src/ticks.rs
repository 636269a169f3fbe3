//! A quick clock for measurements: ticks of the processor's counter if the system uses it as its
//! clock, nanoseconds otherwise. Reading it costs less than half as much as reading the system's
//! clock.
//!
//! Two readings of both clocks give the length of a tick. The first reading is taken once: by the
//! first call of [`refine`], which the start of a pool makes, or by an earlier call that needs the
//! length. Each call that needs the length takes the second reading anew, until the two readings
//! are far enough apart. After that only [`refine`] takes new readings.

use crate::counter::Counter;
use crate::cycles;
use crate::prim::{MODELLED, since_start};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Fractional bits of the rate.
const POINT: u32 = 32;

/// A rate is kept if its two readings are this many nanoseconds apart: then its error is below one
/// part in a thousand.
const BASE: u64 = 1_000_000;

/// Nanoseconds per tick, with [`POINT`] fractional bits; 0 while it is not known. Several threads
/// may measure it: each of their values is good enough.
static RATE: Counter = Counter::new();

/// The clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The value of [`now`].
    pub ticks: u64,
    /// The time since some moment of this process.
    pub since_start: Duration,
    /// The time on the wall, since the Unix epoch.
    pub wall: Duration,
}

/// The number of ticks since some moment.
///
/// ```
/// use blitz_parts::ticks;
/// let before = ticks::now();
/// assert!(ticks::now() >= before);
/// ```
#[inline]
pub fn now() -> u64 {
    if counts_cycles() { cycles::read() } else { nanos_of(since_start()) }
}

/// Converts a number of ticks to nanoseconds.
///
/// ```
/// use blitz_parts::ticks;
/// assert_eq!(ticks::to_nanos(0), 0);
/// assert!(ticks::to_nanos(2_000) >= ticks::to_nanos(1_000));
/// ```
#[inline]
pub fn to_nanos(ticks: u64) -> u64 {
    let rate = RATE.get();
    let rate = if rate == 0 { measure() } else { rate };
    let nanos = (u128::from(ticks) * u128::from(rate)) >> POINT;
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

/// As [`to_nanos`].
pub fn to_duration(ticks: u64) -> Duration {
    Duration::from_nanos(to_nanos(ticks))
}

/// Converts a duration to ticks.
///
/// ```
/// use blitz_parts::ticks;
/// use std::time::Duration;
/// assert_eq!(ticks::of_duration(Duration::ZERO), 0);
/// assert!(ticks::of_duration(Duration::from_secs(1)) > 0);
/// ```
pub fn of_duration(time: Duration) -> u64 {
    let rate = RATE.get();
    let rate = if rate == 0 { measure() } else { rate };
    let ticks = (u128::from(nanos_of(time)) << POINT) / u128::from(rate);
    u64::try_from(ticks).unwrap_or(u64::MAX)
}

/// Reads the clocks, and computes the rate over the whole time since the first reading.
pub fn refine() -> Reading {
    measure();
    read_all()
}

fn counts_cycles() -> bool {
    !MODELLED && cycles::are_trusted()
}

/// Reads the wall clock, and then the other two clocks at nearly the same moment. If the thread
/// lost its core between these two, the rate would be wrong by a multiple. So the shortest of three
/// readings counts.
fn read_all() -> Reading {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let read = || {
        let (before, since_start) = (now(), since_start());
        (now().saturating_sub(before), before, since_start)
    };
    let others = [read(), read()].into_iter();
    let (length, before, since_start) = others.fold(read(), |best, next| best.min(next));
    Reading { ticks: before + length / 2, since_start, wall }
}

/// The rate between the first reading and this one.
#[cold]
fn measure() -> u64 {
    static FIRST: OnceLock<Reading> = OnceLock::new();
    let one = 1 << POINT;
    if !counts_cycles() {
        RATE.set(one);
        return one;
    }
    let first = *FIRST.get_or_init(read_all);
    let now = read_all();
    let nanos = nanos_of(now.since_start.saturating_sub(first.since_start));
    let ticks = now.ticks.saturating_sub(first.ticks).max(1);
    let rate = u64::try_from((u128::from(nanos) << POINT) / u128::from(ticks)).unwrap_or(one);
    if nanos >= BASE {
        RATE.set(rate.max(1));
    }
    rate.max(1)
}

fn nanos_of(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(all(test, not(blitz_loom)))]
mod tests {
    use super::{now, refine, to_duration};
    use std::time::{Duration, Instant};

    #[test]
    fn a_duration_in_ticks_is_about_as_long_as_by_the_systems_clock() {
        refine();
        let (ticks, since) = (now(), Instant::now());
        // Long enough that the rate is known at the end.
        while since.elapsed() < Duration::from_millis(5) {
            std::hint::spin_loop();
        }
        let (most, passed) = (since.elapsed(), now() - ticks);
        refine();
        let time = to_duration(passed);
        assert!(time > Duration::from_millis(4), "{time:?}");
        assert!(time < most + since.elapsed(), "{time:?}, {most:?}");
    }
}
