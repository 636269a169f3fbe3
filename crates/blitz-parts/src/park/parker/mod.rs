//! Parks a thread outside every pool, which polls a future. The thread misses no wake-up, whether
//! the wake-up comes before, during or after the decision to block.
//!
//! # Who calls it
//! `park`: the thread inside `block_on`, outside every pool. `unpark`: any thread, through the
//! waker of that `block_on`.
//!
//! # State
//! | value | meaning | who sets |
//! |---|---|---|
//! | UNPARKED 0 | nothing happened since the last `park` returned | the parked thread |
//! | PARKED 1 | the thread blocks, or is about to | the parked thread |
//! | NOTIFIED 2 | `unpark` was called | any thread |
//!
//! # Transitions
//! ```text
//!  UNPARKED ──park──▶ PARKED ──unpark──▶ NOTIFIED ──park returns──▶ UNPARKED
//!      └───────────unpark──────────────────▲
//! ```
//!
//! # Invariants
//! - **PARK-1** Each `unpark` makes the current or the next `park` return.
//! - **PARK-2** What happened before an `unpark` is visible when the `park` that it ends returns.
//! - **PARK-3** `park` does not return without an `unpark` since the last `park` returned.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | `unpark`: swap to NOTIFIED | AcqRel | O2 | PARK-2 |
//! | O2 | `park`: swap to UNPARKED on the way out | AcqRel | O1 | PARK-2; a plain store would let an `unpark` in between go unseen |
//! | O3 | `park`: exchange to PARKED, loads before and after it, `is_parked` | Relaxed | – | every way out passes O2; an observer relies on no order |
//!
//! # What this does not do
//! One thread parks at a time. There are no timeouts.
//!
//! # Lineage
//! The ParkState of the tasks document (`docs/coverage.md`), with an exchange where it had a store,
//! and without its timeout.

#[cfg(all(test, blitz_loom))]
mod model;
#[cfg(all(test, not(blitz_loom)))]
mod test;

use super::{futex, habit};
use crate::prim::{AcqRel, AtomicU32, Relaxed, Step, broken};

const UNPARKED: u32 = 0;
const PARKED: u32 = 1;
const NOTIFIED: u32 = 2;

/// Where one thread blocks until another unparks it.
#[derive(Debug)]
pub struct Parker {
    word: AtomicU32,
}

impl Parker {
    /// Creates a parker that is not notified.
    pub fn new() -> Parker {
        Parker { word: AtomicU32::new(UNPARKED) }
    }

    /// Blocks until `unpark` is called, or returns at once if `unpark` was called since the last
    /// `park` returned. Spins for a moment first if that has paid off so far: the event often comes
    /// sooner than a thread falls asleep.
    pub fn park(&self) {
        if habit::spin_until(|| self.word.load(Relaxed) == NOTIFIED) {
            return self.leave();
        }
        if self.word.compare_exchange(UNPARKED, PARKED, Relaxed, Relaxed).is_ok() {
            while self.word.load(Relaxed) == PARKED {
                futex::wait(&self.word, PARKED);
            }
        }
        self.leave();
    }

    /// Whether the thread blocks, or is about to, and was not notified.
    pub fn is_parked(&self) -> bool {
        self.word.load(Relaxed) == PARKED // O3
    }

    fn leave(&self) {
        if broken(Step::ParkLeaveSwap) {
            self.word.store(UNPARKED, Relaxed);
        } else {
            self.word.swap(UNPARKED, AcqRel); // O2
        }
    }

    /// Makes the current or the next `park` return.
    pub fn unpark(&self) {
        // O1
        if self.word.swap(NOTIFIED, AcqRel) == PARKED && !broken(Step::ParkWake) {
            futex::wake_one(&self.word);
        }
    }
}

impl Default for Parker {
    fn default() -> Parker {
        Parker::new()
    }
}
