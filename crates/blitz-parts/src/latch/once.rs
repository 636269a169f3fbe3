//! The latch that a foreign thread waits for: a reference-counted word that it blocks on.

use super::Latch;
use crate::park::{futex, habit};
use crate::prim::{AcqRel, Acquire, AtomicU32, Relaxed, Step, broken};
use std::sync::Arc;

const UNSET: u32 = 0;
const WAITING: u32 = 1;
const SET: u32 = 2;

/// A latch that one thread outside the pool waits for.
///
/// The word is reference-counted, because the setter wakes the waiter through it at a moment when
/// the waiter may have seen SET already and returned.
#[derive(Debug, Default)]
pub struct OnceLatch {
    word: Arc<AtomicU32>,
}

impl OnceLatch {
    /// Creates a latch that is not set.
    pub fn new() -> OnceLatch {
        OnceLatch { word: Arc::new(AtomicU32::new(UNSET)) }
    }

    /// Whether the latch is set; if so, LATCH-1 holds.
    pub fn probe(&self) -> bool {
        self.word.load(Acquire) == SET // O2
    }

    /// Blocks until the latch is set. Spins and yields for a moment first if that has paid off so
    /// far: a small job is done sooner than a thread falls asleep.
    pub fn wait(&self) {
        if habit::yield_until(|| self.probe()) {
            return;
        }
        while !self.probe() {
            // Only this thread exchanges UNSET for WAITING. If that fails, the word is WAITING
            // since an earlier turn of this loop, or it is SET. If it is SET, the next probe
            // acquires.
            let _ = self.word.compare_exchange(UNSET, WAITING, Relaxed, Relaxed);
            futex::wait(&self.word, WAITING);
        }
    }
}

impl Latch for OnceLatch {
    unsafe fn set(this: *const Self) {
        // SAFETY: `this` is live until the exchange below (obligation 1).
        let word = unsafe { (*this).word.clone() };
        if word.swap(SET, AcqRel) == WAITING && !broken(Step::LatchSetWake) {
            futex::wake_one(&word); // LATCH-2: our own reference keeps the word alive
        }
    }
}
