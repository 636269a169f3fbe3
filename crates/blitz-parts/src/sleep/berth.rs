//! The berth: a place where one sleeper at a time waits for more than its word.

use super::WORKERS_MAX;
use crate::prim::{AcqRel, Acquire, AtomicUsize, Relaxed, Release, model_has_failed};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Where a sleeper can wait for the outside world as well as for those who wake it.
pub trait Berth: Send + Sync {
    /// Blocks until something happened that somebody has to see to, and says so; or until `wake`. One thread at
    /// a time.
    fn block(&self) -> bool;

    /// Makes the current or the next `block` return. Any thread.
    fn wake(&self);
}

/// The part of the word that says who has the seat: worker `i` if it is `i + 1`. Above it, visits are counted.
const HOLDER: usize = (1 << 17) - 1;
const VISIT: usize = HOLDER + 1;
/// There is a berth, and nobody has the seat.
const FREE: usize = 0;
/// No berth yet. No worker has a number like that.
const NONE: usize = usize::MAX;
const _: () = assert!(WORKERS_MAX < HOLDER);

/// Who may wait in the berth, and how often somebody could.
pub(super) struct SeatWord {
    word: AtomicUsize,
    berth: OnceLock<Arc<dyn Berth>>,
}

impl SeatWord {
    pub(super) fn new() -> SeatWord {
        SeatWord { word: AtomicUsize::new(NONE), berth: OnceLock::new() }
    }

    /// There is a berth from now on; false if there was one.
    pub(super) fn plug(&self, berth: Arc<dyn Berth>) -> bool {
        let first = self.berth.set(berth).is_ok();
        if first {
            self.word.store(FREE, Release); // O8
        }
        first
    }

    /// The seat for worker `index`, if nobody has it.
    pub(super) fn try_take(&self, index: usize) -> Option<Seat<'_>> {
        let mut word = self.word.load(Relaxed);
        while word & HOLDER == FREE {
            match self.word.compare_exchange(word, word | (index + 1), AcqRel, Relaxed) {
                Ok(_) => return Some(Seat { seat: self, visits: word }), // O9
                // Somebody was there meanwhile, and may have left.
                Err(now) => word = now,
            }
        }
        None
    }

    /// The worker that has the seat, if one has.
    pub(super) fn holder(&self) -> Option<usize> {
        match self.word.load(Relaxed) & HOLDER {
            FREE | HOLDER => None,
            taken => Some(taken - 1),
        }
    }

    /// If there is a berth and nobody has the seat: how often somebody had.
    pub(super) fn visits_if_free(&self) -> Option<usize> {
        let word = self.word.load(Acquire);
        (word & HOLDER == FREE).then_some(word / VISIT)
    }

    pub(super) fn berth(&self) -> Option<&Arc<dyn Berth>> {
        self.berth.get()
    }
}

impl fmt::Debug for SeatWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeatWord").field("holder", &self.holder()).finish_non_exhaustive()
    }
}

/// The right to wait in the berth and to see to what happened there. Dropped, it is free for others.
#[derive(Debug)]
#[must_use = "somebody has to see to what happened in the berth"]
pub struct Seat<'a> {
    seat: &'a SeatWord,
    /// The word without its holder.
    visits: usize,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        // The checker's objects are gone once it has found what it was looking for.
        if !model_has_failed() {
            self.seat.word.store(self.visits.wrapping_add(VISIT), Release); // O9
        }
    }
}
