//! Counts the sleeping workers and the permits to wake, in one word.

#![forbid(unsafe_code)]

use crate::barrier;
use crate::prim::{AcqRel, AtomicU64, Relaxed, Step, Turns, broken};
use core::fmt;

const SLEEPER: u64 = 1;
const SLEEPERS: u64 = 0xffff_ffff;
const PERMIT: u64 = 1 << 32;
const PERMITS: u64 = 0x7fff_ffff << 32;
/// Set once no worker looks for tasks any more.
const CLOSED: u64 = 1 << 63;

/// The word that all threads share.
pub(super) struct Crew {
    word: AtomicU64,
    turns: Turns,
}

/// The word at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts(u64);

impl Counts {
    pub(super) fn sleepers(self) -> usize {
        (self.0 & SLEEPERS) as usize
    }

    pub(super) fn permits(self) -> usize {
        ((self.0 & PERMITS) >> 32) as usize
    }

    fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    /// Whether a sleeper without a permit is left.
    fn has_room(self) -> bool {
        self.permits() < self.sleepers()
    }

    fn with_permit(self) -> Counts {
        Counts(self.0 + PERMIT)
    }

    /// The counts with one permit less, if there is any.
    fn without_permit(self) -> Counts {
        Counts(self.0 - if self.permits() > 0 { PERMIT } else { 0 })
    }
}

/// Evidence that a task was marked in the tree and that no worker was notified yet.
#[must_use]
#[derive(Debug)]
pub struct Marked(pub(super) ());

/// What a setter has to do after it made a task runnable.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub enum Told {
    /// Nothing: a worker is awake or being woken, and will look.
    Nobody,
    /// Wake one sleeper: there is a permit for it.
    WakeOne,
    /// No worker will look any more: take the tasks that are left, and cancel them.
    Closed,
}

/// Evidence that a worker is counted as a sleeper. Given back to
/// [`Bitmap::get_up`](super::Bitmap::get_up).
#[must_use]
#[derive(Debug)]
pub struct Sleeper(());

/// A permit that a worker has taken. A setter granted it so that a sleeper wakes for a task.
#[derive(Debug, PartialEq, Eq)]
pub struct Permit(());

impl Crew {
    pub(super) fn new() -> Crew {
        Crew { word: AtomicU64::new(0), turns: Turns::default() }
    }

    #[inline]
    pub(super) fn load(&self) -> Counts {
        self.turns.take();
        Counts(self.word.load(Relaxed))
    }

    /// Tries once to exchange the word; `Err` has its current value.
    #[inline]
    fn exchange(&self, seen: Counts, next: Counts) -> Result<(), Counts> {
        self.turns.take();
        let exchanged = self.word.compare_exchange(seen.0, next.0, AcqRel, Relaxed); // O10
        exchanged.map(drop).map_err(Counts)
    }

    /// Grants a permit for one task, unless each sleeper has a permit already, `is_any_looking`
    /// returns true, or the word is closed.
    #[inline]
    pub(super) fn release(&self, _task: Marked, is_any_looking: impl FnOnce() -> bool) -> Told {
        let seen = self.load(); // O4
        if seen.is_closed() {
            return Told::Closed;
        }
        if !seen.has_room() || is_any_looking() {
            return Told::Nobody;
        }
        self.grant(seen)
    }

    #[cold]
    fn grant(&self, mut seen: Counts) -> Told {
        while seen.has_room() || broken(Step::SignalPermitCap) {
            match self.exchange(seen, seen.with_permit()) {
                Ok(()) => return Told::WakeOne,
                Err(now) => seen = now,
            }
        }
        if seen.is_closed() { Told::Closed } else { Told::Nobody }
    }

    /// Counts one sleeper more. Either the sleeper's next look sees a signal, or the signaller sees
    /// the sleeper.
    pub(super) fn lie_down(&self) -> Sleeper {
        self.turns.take();
        self.word.fetch_add(SLEEPER, AcqRel); // O10
        if !broken(Step::SignalSleeperFence) {
            barrier::after_exchange(); // O4
        }
        Sleeper(())
    }

    /// Counts one sleeper less, and takes a permit if there is one.
    pub(super) fn get_up(&self, _sleeper: Sleeper) -> Option<Permit> {
        self.take(SLEEPER)
    }

    /// Takes a permit, if there is one.
    #[inline]
    pub(super) fn try_acquire(&self) -> Option<Permit> {
        // If this load misses a permit, that permit is for a sleeper that has not been woken yet.
        if self.load().permits() == 0 { None } else { self.take(0) }
    }

    fn take(&self, sleepers: u64) -> Option<Permit> {
        let mut seen = self.load();
        loop {
            let left = Counts(seen.0 - sleepers);
            let next = if broken(Step::SignalPermitTaken) { left } else { left.without_permit() };
            match self.exchange(seen, next) {
                Ok(()) => break,
                Err(now) => seen = now,
            }
        }
        if !broken(Step::SignalUpFence) {
            barrier::after_exchange(); // O5
        }
        (seen.permits() > 0).then_some(Permit(()))
    }

    /// Closes the word: from now on no worker searches for tasks.
    pub(super) fn close(&self) {
        self.turns.take();
        self.word.fetch_or(CLOSED, Relaxed); // O8
        if !broken(Step::SignalCloseFence) {
            barrier::after_exchange(); // O6
        }
    }
}

impl fmt::Debug for Crew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now = self.load();
        f.debug_struct("Crew")
            .field("sleepers", &now.sleepers())
            .field("permits", &now.permits())
            .field("closed", &now.is_closed())
            .finish()
    }
}
