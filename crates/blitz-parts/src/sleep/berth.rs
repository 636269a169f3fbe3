//! The berth: a place where one sleeper at a time waits for more than its word.

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

/// No berth yet.
const NONE: usize = usize::MAX;
/// There is one, and nobody has the seat.
const FREE: usize = 0;

/// Who may wait in the berth: worker `i` if the word is `i + 1`.
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
        if self.word.load(Relaxed) != FREE {
            return None;
        }
        self.word.compare_exchange(FREE, index + 1, AcqRel, Relaxed).ok()?; // O9
        Some(Seat { seat: self })
    }

    /// The worker that has the seat, if one has.
    pub(super) fn holder(&self) -> Option<usize> {
        match self.word.load(Relaxed) {
            FREE | NONE => None,
            taken => Some(taken - 1),
        }
    }

    pub(super) fn is_free(&self) -> bool {
        self.word.load(Acquire) == FREE
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
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        // The checker's objects are gone once it has found what it was looking for.
        if !model_has_failed() {
            self.seat.word.store(FREE, Release); // O9
        }
    }
}
