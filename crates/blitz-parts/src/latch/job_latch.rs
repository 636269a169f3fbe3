//! The latch that a worker waits for: one word and a pointer to its bed.

use super::Latch;
use crate::prim::{AcqRel, Acquire, AtomicU64, MODELLED, Relaxed, Step, broken, spin_loop};
use crate::sleep::Bed;
use crate::tuning;
use core::ptr::NonNull;

/// A latch that one worker waits for.
#[derive(Debug)]
pub struct JobLatch {
    word: AtomicU64,
    bed: NonNull<Bed>,
}

const STATE: u64 = 0b11;
const SLEEPING: u64 = 1;
const SET: u64 = 2;
const RUN_SHIFT: u32 = 2;
const INDEX_SHIFT: u32 = RUN_SHIFT + 32;

/// The worker that runs a job, and the number of that run. Each job that the worker runs gets
/// another number. So a thread that looks for the runner notices if the job has been finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runner {
    /// The worker's index.
    pub index: u16,
    /// The number of the run; wraps around.
    pub run: u32,
}

impl Runner {
    /// Packs the runner into one word. The word is never zero, so that zero can mean no runner.
    pub fn to_bits(self) -> u64 {
        ((u64::from(self.index) + 1) << INDEX_SHIFT) | (u64::from(self.run) << RUN_SHIFT)
    }

    /// The inverse of [`Runner::to_bits`].
    pub fn from_bits(bits: u64) -> Option<Runner> {
        let index = (bits >> INDEX_SHIFT).checked_sub(1)?;
        Some(Runner { index: index as u16, run: (bits >> RUN_SHIFT) as u32 })
    }
}

impl JobLatch {
    /// Creates a latch for the worker that sleeps in `bed`. The bed must outlive every use of the
    /// latch.
    #[inline(always)]
    pub fn new(bed: NonNull<Bed>) -> JobLatch {
        JobLatch { word: AtomicU64::new(0), bed }
    }

    /// The bed of the worker that waits.
    pub fn bed(&self) -> NonNull<Bed> {
        self.bed
    }

    /// Whether the latch is set; if so, LATCH-1 holds.
    #[inline]
    pub fn probe(&self) -> bool {
        let order = if broken(Step::LatchProbeAcquire) { Relaxed } else { Acquire };
        self.word.load(order) & STATE == SET // O2
    }

    /// Sets the state back to UNSET, for a latch that is set again and again. Only the worker that
    /// waits for the latch may call this, and not during a wait.
    pub fn reset(&self) {
        // Orders the setter's writes before the worker's next steps.
        self.word.swap(0, AcqRel);
    }

    /// Probes repeatedly for a moment. Returns true as soon as the latch is set, otherwise false.
    pub fn probe_for_a_moment(&self) -> bool {
        let spins = if MODELLED { 0 } else { tuning::STOLEN_SPINS };
        (0..spins).any(|_| {
            spin_loop();
            self.probe()
        }) || self.probe()
    }

    /// Exchanges UNSET for SLEEPING: the setter will notify the owner. Returns false if the latch
    /// is in another state.
    pub(crate) fn mark_sleeping(&self) -> bool {
        self.replace_state(0, SLEEPING)
    }

    /// Exchanges SLEEPING for UNSET, unless the latch has been set.
    pub(crate) fn unmark(&self) {
        self.replace_state(SLEEPING, 0);
    }

    fn replace_state(&self, from: u64, to: u64) -> bool {
        let mut seen = self.word.load(Relaxed);
        loop {
            if seen & STATE != from {
                return false;
            }
            match self.word.compare_exchange(seen, (seen & !STATE) | to, AcqRel, Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
    }

    /// Notes the runner of the job. Called by the runner, before it runs the job.
    pub fn note_runner(&self, runner: Runner) {
        self.word.fetch_or(runner.to_bits(), Relaxed); // O5
    }

    /// Returns the runner of the job, if it is known and the latch is not set.
    pub fn runner(&self) -> Option<Runner> {
        let word = self.word.load(Relaxed);
        if word & STATE == SET { None } else { Runner::from_bits(word) }
    }
}

impl Latch for JobLatch {
    unsafe fn set(this: *const Self) {
        // SAFETY: `this` is live until the exchange below (obligation 1).
        let bed = unsafe { (*this).bed };
        // SAFETY: as above.
        let old = unsafe { (*this).word.swap(SET, AcqRel) }; // O1
        if old & STATE == SLEEPING && !broken(Step::LatchSetWake) {
            // SAFETY: the bed outlives every use of the latch (`JobLatch::new`), by LATCH-2.
            unsafe { bed.as_ref() }.notify();
        }
    }
}
