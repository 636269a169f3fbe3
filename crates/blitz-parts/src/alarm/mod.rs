//! Holds the tick until which the driver may block. Adding an earlier timer wakes the driver.
//!
//! # Who calls it
//! Any thread that adds a timer to a wheel, or moves a timer: [`Earliest::lower`] under the wheel's
//! lock, then, if `lower` returns true, [`Alarm::is_early`]. The driver: [`Alarm::set`] before it
//! blocks, [`Alarm::clear`] afterwards; [`Earliest::set`] under the wheel's lock. The thread that
//! closes the wheel: [`Earliest::set`] under that lock.
//!
//! # State
//! | where | value | meaning | who writes |
//! |---|---|---|---|
//! | earliest | a tick | no timer of this wheel is due before it | under the wheel's lock: adders lower it, the driver raises it |
//! | earliest | [`NEVER`] | the wheel has no timer | the driver; the thread that closes the wheel |
//! | until | AWAKE 0 | the driver is awake, and looks at the wheels before it blocks | the driver |
//! | until | a tick | the driver blocks, or is about to; timers from this tick on are in time | the driver; adders lower it |
//!
//! Without slack the driver announces the tick of the first timer, and blocks until then. With
//! slack it announces the tick that [`covered`] returns, and blocks for `slack` ticks longer.
//! Timers that are due within these `slack` ticks fire together, and a thread that adds one of them
//! does not wake the driver.
//!
//! # Transitions
//! ```text
//!  adder:   earliest lowered ─▶ fence ─▶ until later than earliest? lower until, wake the driver
//!  driver:  until := covered(earliest of all) ─▶ fence ─▶ look at all again
//!           ─▶ block until `until` + slack ─▶ until := AWAKE
//! ```
//!
//! # Invariants
//! - **ALARM-1** If [`Alarm::set`] returns a tick that is later than some wheel's `earliest`,
//!   `is_early` returns true to at least one thread that lowered an `earliest` to before that tick.
//!   This thread then wakes the driver.
//! - **ALARM-2** A thread that adds a timer that is not the earliest of its wheel needs neither
//!   fence nor wake-up.
//! - **ALARM-3** If several threads add timers of one tick while the driver blocks until a later
//!   tick, exactly one of these threads is told to wake the driver.
//! - **ALARM-4** A driver that blocks for `slack` ticks longer than it announces is at most `slack`
//!   ticks late for the first timer. It is not late at all if it last fired timers at least `slack`
//!   ticks before that timer.
//! - **ALARM-5** A driver with slack blocks at least until `slack` ticks after it last fired
//!   timers, unless a timer is overdue.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | fence after `earliest` was lowered, before `until` is read | SeqCst | O2 | ALARM-1: adder and driver cannot both miss each other |
//! | O2 | fence after `until` was written, before all `earliest` are read again | SeqCst | O1 | the same |
//! | O3 | `earliest`, `until` | Relaxed | – | they carry no data: timers are handed over by the wheel's lock |
//!
//! # What this does not do
//! It knows no clock, and wakes no thread itself. `earliest` may be too early if a timer was
//! cancelled: the driver then wakes once for nothing. That is cheaper than a notification for every
//! cancellation.
//!
//! # Lineage
//! The store-fence-load pair of `sleep`, with a tick in place of a flag.

#[cfg(all(test, blitz_loom))]
mod model;
#[cfg(all(test, not(blitz_loom)))]
mod test;

use crate::prim::{AtomicU64, Relaxed, SeqCst, Step, broken, fence};

/// Later than every timer.
pub const NEVER: u64 = u64::MAX;

/// The driver does not block.
const AWAKE: u64 = 0;

/// When the first timer of one wheel is due, or earlier.
#[derive(Debug)]
pub struct Earliest {
    tick: AtomicU64,
}

impl Earliest {
    /// Creates the value for a wheel without timers.
    ///
    /// ```
    /// use blitz_parts::alarm::{Earliest, NEVER};
    /// let earliest = Earliest::new();
    /// assert_eq!(earliest.get(), NEVER);
    /// assert!(earliest.lower(7) && !earliest.lower(8));
    /// assert_eq!(earliest.get(), 7);
    /// ```
    pub fn new() -> Earliest {
        Earliest { tick: AtomicU64::new(NEVER) }
    }

    /// The tick before which no timer is due.
    #[inline]
    pub fn get(&self) -> u64 {
        self.tick.load(Relaxed) // O3
    }

    /// Notes a timer that is due at `tick`. Returns whether this timer is now the first of its
    /// wheel. If so, the caller asks [`Alarm::is_early`] whether to wake the driver. Callers hold
    /// the wheel's lock.
    #[inline]
    #[must_use]
    pub fn lower(&self, tick: u64) -> bool {
        let is_first = tick < self.get();
        if is_first {
            self.tick.store(tick, Relaxed); // O3
        }
        is_first
    }

    /// Sets the first tick to the value that the driver has found. The driver holds the wheel's
    /// lock.
    pub fn set(&self, tick: u64) {
        self.tick.store(tick, Relaxed); // O3
    }
}

impl Default for Earliest {
    fn default() -> Earliest {
        Earliest::new()
    }
}

/// Returns the tick to announce if the first timer is due at `first` and the driver blocks for
/// `slack` ticks longer. Timers from that tick on fire in time. `swept` is the tick at which the
/// driver last fired timers. The result is never zero.
///
/// ```
/// use blitz_parts::alarm::{NEVER, covered};
/// let slack = 50;
/// // The driver has fired nothing for long: it wakes when the first timer is due.
/// assert_eq!(covered(1_000, 100, slack) + slack, 1_000);
/// // The driver has just fired timers: it lets `slack` ticks pass.
/// assert_eq!(covered(1_000, 990, slack) + slack, 1_040);
/// assert_eq!(covered(NEVER, 990, slack), NEVER);
/// ```
#[must_use]
pub fn covered(first: u64, swept: u64, slack: u64) -> u64 {
    match first {
        NEVER => NEVER,
        _ => first.saturating_sub(slack).max(swept.min(first)).max(AWAKE + 1),
    }
}

/// Until when the driver blocks.
#[derive(Debug)]
pub struct Alarm {
    until: AtomicU64,
}

impl Alarm {
    /// Creates the alarm of a driver that does not block.
    ///
    /// ```
    /// use blitz_parts::alarm::Alarm;
    /// let alarm = Alarm::new();
    /// assert!(!alarm.is_early(5)); // The driver looks before it blocks.
    /// assert_eq!(alarm.set(|| 10), 10);
    /// assert!(!alarm.is_early(12));
    /// assert!(alarm.is_early(5)); // Now it has to be woken.
    /// assert!(!alarm.is_early(5)); // Once is enough.
    /// alarm.clear();
    /// ```
    pub fn new() -> Alarm {
        Alarm { until: AtomicU64::new(AWAKE) }
    }

    /// Announces that the driver is about to block until the returned tick, or for some slack
    /// longer. `earliest` returns the minimum of all [`Earliest::get`], or the result of
    /// [`covered`] for that minimum. This function calls `earliest` twice.
    pub fn set(&self, earliest: impl Fn() -> u64) -> u64 {
        let announced = earliest();
        self.until.store(announced, Relaxed); // O3
        if !broken(Step::AlarmSetFence) {
            fence(SeqCst); // O2
        }
        let seen = if broken(Step::AlarmLookAgain) { announced } else { earliest() };
        if seen < announced {
            // The driver blocks until `seen` only. So threads whose timers are due at `seen` or
            // later need not wake it.
            self.until.store(seen, Relaxed); // O3
        }
        seen.min(announced)
    }

    /// Notes that the driver does not block any more.
    pub fn clear(&self) {
        self.until.store(AWAKE, Relaxed); // O3
    }

    /// Returns whether the caller has to wake the driver, because the driver would block for too
    /// long. The caller has just added a timer that is due at `tick` and is the first of its wheel.
    #[must_use]
    pub fn is_early(&self, tick: u64) -> bool {
        if !broken(Step::AlarmAddFence) {
            fence(SeqCst); // O1
        }
        // Another thread may have added an even earlier timer. Then that thread wakes the driver.
        self.until.load(Relaxed) > tick && self.until.fetch_min(tick, Relaxed) > tick // O3
    }
}

impl Default for Alarm {
    fn default() -> Alarm {
        Alarm::new()
    }
}
