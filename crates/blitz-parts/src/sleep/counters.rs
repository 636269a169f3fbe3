//! The packed counters: how many workers sleep or are idle, and whether work was posted.

use crate::prim::{AcqRel, Acquire, AtomicU64, Relaxed};

/// `sleeping` (bits 0-15), `inactive` (16-31), jobs event counter (32-63), in one word.
#[derive(Debug)]
pub struct Counters {
    word: AtomicU64,
}

/// An immutable reading of [`Counters`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts(u64);

const ONE_SLEEPING: u64 = 1;
const ONE_INACTIVE: u64 = 1 << 16;
const ONE_JEC: u64 = 1 << 32;
const FIELD: u64 = 0xFFFF;
/// More sleepers than there are inactive workers: no pool has such a word.
const ALWAYS: u64 = FIELD;
/// Another word that no pool has, for the same reason.
const ATTENTIVE: u64 = FIELD - 1;

/// The most workers that a pool can count.
pub const WORKERS_MAX: usize = FIELD as usize;

impl Counts {
    /// Workers that are blocked, or about to block.
    #[inline]
    pub fn sleeping(self) -> usize {
        (self.0 & FIELD) as usize
    }

    /// Workers that run nothing, sleeping ones included.
    #[inline]
    pub fn inactive(self) -> usize {
        (self.0 >> 16 & FIELD) as usize
    }

    /// Whether any worker is idle or asleep.
    #[inline(always)]
    pub fn anyone_inactive(self) -> bool {
        // A sleeper is inactive, too, so the low half is zero only if no worker is inactive.
        // Comparing the whole half takes one instruction.
        self.0 as u32 != 0
    }

    /// Whether the reading comes from [`Counters::always_demanding`].
    #[inline(always)]
    pub fn all_wanted(self) -> bool {
        self.0 as u32 == ALWAYS as u32
    }

    /// Whether the reading comes from [`Counters::attentive`] or [`Counters::always_demanding`]:
    /// then a fork takes its cold path even if a job is public.
    #[inline(always)]
    pub fn asks_every_fork(self) -> bool {
        self.0 as u16 >= ATTENTIVE as u16
    }

    /// Whether the reading comes from [`Counters::attentive`].
    #[inline(always)]
    pub fn is_attentive(self) -> bool {
        self.0 as u32 == ATTENTIVE as u32
    }

    /// Workers that look for work right now.
    #[inline]
    pub fn awake_but_idle(self) -> usize {
        self.inactive().saturating_sub(self.sleeping())
    }

    /// The jobs event counter. A worker that gets sleepy makes it even, a poster makes it odd.
    #[inline]
    pub fn jec(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Whether a worker announced that it is sleepy and nothing was posted since.
    #[inline]
    pub fn is_sleepy(self) -> bool {
        self.jec() & 1 == 0
    }
}

impl Counters {
    /// All zero: no worker is idle. The JEC is even, because nothing was posted yet.
    pub fn new() -> Counters {
        Counters { word: AtomicU64::new(0) }
    }

    /// Creates a word that always shows an idle worker and demand for every job. It is for deques
    /// that must publish every job.
    pub fn always_demanding() -> Counters {
        Counters { word: AtomicU64::new(ALWAYS) }
    }

    /// Creates a word that sends every fork of a worker through its cold path. There the worker
    /// reads the pool's own counters, too.
    pub fn attentive() -> Counters {
        Counters { word: AtomicU64::new(ATTENTIVE) }
    }

    /// Reads the counters.
    #[inline]
    pub fn load(&self) -> Counts {
        Counts(self.word.load(Acquire))
    }

    /// Reads the counters without an ordering, for a worker that has just put a task or a fork
    /// where others can take it. If the reading is old, the fences ensure that no work is lost
    /// (SLEEP-8, SLEEP-4).
    #[inline(always)]
    pub fn peek(&self) -> Counts {
        Counts(self.word.load(Relaxed))
    }

    /// Counts a worker that starts to look for work; returns the reading before.
    pub fn add_inactive(&self) -> Counts {
        let old = Counts(self.word.fetch_add(ONE_INACTIVE, AcqRel)); // O12
        debug_assert!(old.inactive() < WORKERS_MAX);
        old
    }

    /// Counts out a worker that stops searching. Returns the reading before, which decides whether
    /// the worker wakes another (SLEEP-3).
    pub fn sub_inactive(&self) -> Counts {
        let old = Counts(self.word.fetch_sub(ONE_INACTIVE, Relaxed)); // O13
        debug_assert!(old.inactive() > 0, "inactive count below zero: {old:?}");
        old
    }

    /// Registers one sleeper, if nothing has changed since `seen`.
    pub fn try_add_sleeping(&self, seen: Counts) -> bool {
        let new = seen.0 + ONE_SLEEPING;
        self.word.compare_exchange(seen.0, new, AcqRel, Relaxed).is_ok() // O3, O12
    }

    /// Counts one sleeper less. The sleeper's waker calls this, or the sleeper itself if no waker
    /// took it out of its sleep.
    pub fn sub_sleeping(&self) {
        let old = Counts(self.word.fetch_sub(ONE_SLEEPING, Relaxed)); // O13
        debug_assert!(old.sleeping() > 0, "sleeping count below zero: {old:?}");
    }

    /// Registers a worker as idle and asleep at once: it waits for a latch and takes no posted
    /// work, so on its way to sleep it must never count as awake but idle.
    pub fn add_parked(&self) {
        let old = Counts(self.word.fetch_add(ONE_INACTIVE + ONE_SLEEPING, AcqRel)); // O12
        debug_assert!(old.inactive() < WORKERS_MAX);
    }

    /// Undoes [`Counters::add_parked`] for a worker that no waker woke.
    pub fn sub_parked(&self) {
        let old = Counts(self.word.fetch_sub(ONE_INACTIVE + ONE_SLEEPING, Relaxed)); // O13
        debug_assert!(old.sleeping() > 0 && old.inactive() > 0, "{old:?}");
    }

    /// The sleeper's step, odd → even; returns the reading *after* it, whose JEC the sleeper
    /// remembers.
    pub fn announce_sleepy(&self) -> Counts {
        self.step_jec_if(|counts| !counts.is_sleepy()).1
    }

    /// The poster's step, even → odd; returns the reading before it.
    pub fn announce_work(&self) -> Counts {
        self.step_jec_if(Counts::is_sleepy).0
    }

    fn step_jec_if(&self, wanted: impl Fn(Counts) -> bool) -> (Counts, Counts) {
        let mut seen = self.word.load(Relaxed);
        loop {
            let old = Counts(seen);
            if !wanted(old) {
                return (old, old);
            }
            // The JEC is the top field: it wraps without touching the others.
            let new = seen.wrapping_add(ONE_JEC);
            match self.word.compare_exchange(seen, new, Relaxed, Relaxed) {
                // O13
                Ok(_) => return (old, Counts(new)),
                Err(now) => seen = now,
            }
        }
    }
}

impl Default for Counters {
    fn default() -> Self {
        Counters::new()
    }
}
