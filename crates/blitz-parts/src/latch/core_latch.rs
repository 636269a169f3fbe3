//! The four-state word of a worker, which is also its futex word.

use crate::park::futex;
use crate::prim::{AcqRel, Acquire, AtomicU32, Relaxed, Release, Step, broken};

const UNSET: u32 = 0;
const SLEEPY: u32 = 1;
const SLEEPING: u32 = 2;
const SET: u32 = 3;

/// A worker's sleep word.
#[derive(Debug, Default)]
pub struct CoreLatch {
    word: AtomicU32,
}

/// The duty of a notifier.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The worker is awake or has been notified already: nothing to do.
    NotNeeded,
    /// The worker was SLEEPY: it will see the notice itself.
    CaughtSleepy,
    /// The worker was SLEEPING: decrement the sleepers, then call [`CoreLatch::unpark`].
    MustWake,
}

impl CoreLatch {
    /// Creates a word in state UNSET.
    pub fn new() -> CoreLatch {
        CoreLatch { word: AtomicU32::new(UNSET) }
    }

    /// Exchanges UNSET for SLEEPY. Returns false if a notice is pending.
    pub fn get_sleepy(&self) -> bool {
        self.word.compare_exchange(UNSET, SLEEPY, Release, Relaxed).is_ok() // O8
    }

    /// Exchanges SLEEPY for SLEEPING. Returns false if the worker was notified meanwhile.
    pub fn fall_asleep(&self) -> bool {
        self.word.compare_exchange(SLEEPY, SLEEPING, AcqRel, Relaxed).is_ok() // O3
    }

    /// Whether the word is still SLEEPING: no notifier has changed it.
    pub fn is_sleeping(&self) -> bool {
        self.word.load(Relaxed) == SLEEPING // O9
    }

    /// Whether the worker sleeps or is about to, and was not notified. If so, LATCH-6 holds.
    pub fn is_sleepy_or_sleeping(&self) -> bool {
        matches!(self.word.load(Acquire), SLEEPY | SLEEPING) // O8
    }

    /// Blocks while the word is SLEEPING.
    pub fn wait(&self) {
        while self.is_sleeping() {
            futex::wait(&self.word, SLEEPING);
        }
    }

    /// Sets the word to UNSET, from any state: the worker is awake (LATCH-5).
    pub fn wake_up(&self) {
        if !broken(Step::WordReset) {
            self.word.swap(UNSET, AcqRel); // O3
        }
    }

    /// Sets the word if it is SLEEPY or SLEEPING. Returns the duty of the caller.
    pub fn notify(&self) -> Notice {
        let mut seen = self.word.load(Relaxed);
        loop {
            let duty = match seen {
                SLEEPY if !broken(Step::SleepNotifySleepy) => Notice::CaughtSleepy,
                SLEEPING => Notice::MustWake,
                _ => return Notice::NotNeeded,
            };
            match self.word.compare_exchange(seen, SET, AcqRel, Relaxed) {
                Ok(_) => return duty, // O3
                Err(now) => seen = now,
            }
        }
    }

    /// Sets the word in any state, so that the worker's next attempt to sleep fails. Returns the
    /// duty of the caller.
    pub fn set(&self) -> Notice {
        match self.word.swap(SET, AcqRel) {
            SLEEPING => Notice::MustWake, // O3
            SLEEPY => Notice::CaughtSleepy,
            _ => Notice::NotNeeded,
        }
    }

    /// Whether a notice is pending.
    #[cfg(test)]
    pub(super) fn probe(&self) -> bool {
        self.word.load(Relaxed) == SET
    }

    /// Wakes the worker's thread: the second half of the duty [`Notice::MustWake`].
    pub fn unpark(&self) {
        futex::wake_one(&self.word);
    }

    /// The state's name, for dumps.
    pub fn state_name(&self) -> &'static str {
        match self.word.load(Relaxed) {
            UNSET => "UNSET",
            SLEEPY => "SLEEPY",
            SLEEPING => "SLEEPING",
            _ => "SET",
        }
    }
}
