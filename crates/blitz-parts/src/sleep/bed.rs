//! Where one worker sleeps: its word, and what others need to wake it.

use super::Counters;
use crate::counter::Counter;
use crate::latch::{CoreLatch, Notice};
use crate::prim::{Step, broken};
use crossbeam_utils::CachePadded;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// One worker's place to sleep.
#[derive(Debug)]
pub struct Bed {
    core: CoreLatch,
    index: usize,
    counters: Arc<CachePadded<Counters>>,
    /// Rounds until sleepy; the worker's own, atomic only to be shareable.
    patience: AtomicU32,
    stats: SleepStats,
}

/// What a worker's sleep has cost so far.
#[derive(Debug, Default)]
pub struct SleepStats {
    /// Times blocked.
    pub parks: Counter,
    /// Nanoseconds blocked.
    pub parked_ns: Counter,
    /// Notices received while SLEEPY or SLEEPING.
    pub wakes_received: Counter,
    /// Times work was found in the yield phase.
    pub found_awake: Counter,
    /// Times the jobs event counter stopped the worker from sleeping.
    pub caught_by_jec: Counter,
}

impl Bed {
    pub(super) fn new(index: usize, counters: Arc<CachePadded<Counters>>, patience: u32) -> Bed {
        Bed {
            core: CoreLatch::new(),
            index,
            counters,
            patience: AtomicU32::new(patience),
            stats: SleepStats::default(),
        }
    }

    /// The worker's index.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The worker's word.
    pub fn core(&self) -> &CoreLatch {
        &self.core
    }

    /// What sleeping has cost this worker.
    pub fn stats(&self) -> &SleepStats {
        &self.stats
    }

    /// Wakes the worker if it sleeps or is about to; says whether it did.
    pub fn notify(&self) -> bool {
        self.fulfil(self.core.notify())
    }

    /// Leaves a notice even for a worker that is awake.
    pub(super) fn set(&self) {
        self.fulfil(self.core.set());
    }

    fn fulfil(&self, notice: Notice) -> bool {
        let decrement_always = broken(Step::SleepWakerDecrements);
        match notice {
            Notice::NotNeeded => return false,
            Notice::CaughtSleepy => {
                if decrement_always {
                    self.counters.sub_sleeping();
                }
            }
            Notice::MustWake => {
                self.counters.sub_sleeping();
                self.core.unpark();
            }
        }
        self.stats.wakes_received.add_shared(1);
        true
    }

    /// Blocks until notified; returns for how long.
    pub(super) fn park(&self) -> Duration {
        let since = Instant::now();
        self.stats.parks.add(1);
        self.core.wait();
        let slept = since.elapsed();
        self.stats.parked_ns.add(u64::try_from(slept.as_nanos()).unwrap_or(u64::MAX));
        slept
    }

    pub(super) fn caught_by_jec(&self) {
        self.stats.caught_by_jec.add(1);
    }

    pub(super) fn found_while_awake(&self, patience_full: u32) {
        self.stats.found_awake.add(1);
        // Waiting paid off: be as patient as the policy allows next time.
        self.patience.store(patience_full, Relaxed);
    }

    pub(super) fn patience(&self) -> u32 {
        self.patience.load(Relaxed)
    }

    pub(super) fn set_patience(&self, patience: u32) {
        self.patience.store(patience, Relaxed);
    }
}
