//! A quick upper bound of the current time, for deadlines of timers.
//!
//! A thread that has read the system's clock a moment ago adds the cycles since then. The rate is a
//! little too high, so the estimate is never before the true time, and a timer computed from it is
//! never early. It is late by at most a fraction of a microsecond, because the thread reads the
//! system's clock again soon.

#![forbid(unsafe_code)]

use super::clock::{Nanos, system_now};
use blitz_parts::cycles;
use blitz_parts::prim::{AtomicU64, Relaxed};
use std::cell::Cell;
use std::sync::OnceLock;

/// Cycles for which a reading is valid: a millisecond at 1 GHz, and less on faster processors.
const WINDOW: u64 = 1 << 20;

/// If the counter and the clock are read within this many cycles, they count as read at once: about
/// a microsecond.
const AT_ONCE: u64 = 1 << 10;

/// Nanoseconds over which the rate is measured, so that the error of the readings is less than
/// [`MARGIN`].
const BASE: u64 = 25_000_000;

/// The rate is too high by one part in 2 to this power, which is more than the error of its
/// measurement.
const MARGIN: u32 = 13;

/// How many bits of the rate are behind the binary point.
const POINT: u32 = 32;

/// Nanoseconds per cycle, with [`POINT`] bits behind the point; 0 while it is not known.
static RATE: AtomicU64 = AtomicU64::new(0);

/// A value of the counter, and the time of the clock then or a little later.
#[derive(Clone, Copy)]
struct Reading {
    cycles: u64,
    nanos: Nanos,
}

thread_local! {
    static LAST: Cell<Reading> = const { Cell::new(Reading { cycles: 0, nanos: 0 }) };
}

/// Now, or a fraction of a microsecond later.
#[inline]
pub(crate) fn now_at_latest() -> Nanos {
    let rate = RATE.load(Relaxed);
    if rate != 0 {
        let last = LAST.get();
        let since = cycles::read().wrapping_sub(last.cycles);
        if since < WINDOW {
            return last.nanos + ((since * rate) >> POINT) + 1;
        }
    }
    ask(rate)
}

#[cold]
fn ask(rate: u64) -> Nanos {
    if !cycles::are_trusted() {
        return system_now();
    }
    // Read the counter first: when it had this value, the clock showed at most `nanos`.
    let before = cycles::read();
    let nanos = system_now();
    let at_once = cycles::read().wrapping_sub(before) < AT_ONCE;
    if at_once {
        let reading = Reading { cycles: before, nanos };
        LAST.set(reading);
        if rate == 0 {
            measure(reading);
        }
    }
    nanos
}

/// Computes the rate from this reading and the first one, once they are far enough apart.
fn measure(now: Reading) {
    static FIRST: OnceLock<Reading> = OnceLock::new();
    let first = FIRST.get_or_init(|| now);
    let nanos = now.nanos.saturating_sub(first.nanos);
    let cycles = now.cycles.saturating_sub(first.cycles);
    if nanos >= BASE && cycles > 0 {
        let rate = (u128::from(nanos) << POINT) / u128::from(cycles);
        let rate = u64::try_from(rate).unwrap_or(u64::MAX >> 32);
        // The rate is at most 2,048 nanoseconds per cycle, so nothing overflows within the window.
        RATE.store((rate + (rate >> MARGIN) + 1).min(1 << (POINT + 11)), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{RATE, now_at_latest};
    use crate::timers::clock::system_now;
    use blitz_parts::cycles;
    use blitz_parts::prim::Relaxed;

    #[test]
    fn an_estimate_is_never_before_the_time() {
        // The first loop runs until the rate is known, the second loop uses it. The rate never
        // becomes known where the two clocks cannot be read at once, for example under a sanitizer.
        for _ in 0..1_000_000 {
            if !cycles::are_trusted() || RATE.load(Relaxed) != 0 {
                break;
            }
            let before = system_now();
            assert!(now_at_latest() >= before);
        }
        for _ in 0..200_000 {
            let before = system_now();
            assert!(now_at_latest() >= before);
        }
    }
}
