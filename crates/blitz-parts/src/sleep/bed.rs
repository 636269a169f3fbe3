//! The place where one worker sleeps: its word, and the data that others need to wake it.

use super::Counters;
use super::driver::{Driver, DriverSlot};
use crate::counter::Counter;
use crate::latch::{CoreLatch, Notice};
use crate::prim::{self, AtomicBool, Instant, Step, broken};
use crate::ticks;
use core::marker::PhantomData;
use core::ops::Deref;
use crossbeam_utils::CachePadded;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// One worker's place to sleep. The worker sleeps through [`Bed::owner`]; all other threads use the
/// bed directly.
#[derive(Debug)]
pub struct Bed {
    core: CoreLatch,
    index: usize,
    counters: Arc<CachePadded<Counters>>,
    slot: Arc<DriverSlot>,
    /// Whether the worker blocks in the driver, not on its word. The worker writes it before
    /// SLEEPING; the waker that takes the worker out of SLEEPING reads it.
    in_driver: AtomicBool,
    /// Whether the worker is in service, not a resting spare. The [`BedOwner`] writes it.
    serves: atomic::AtomicBool,
    /// How many rounds the worker waits until it is sleepy. The [`BedOwner`] uses it; it is atomic
    /// because the bed is shared.
    patience: AtomicU32,
    /// Whether an event in the driver ended the worker's last sleep there, and not a notice from
    /// another thread. The flag is also set when the idle worker polls the driver and finds an
    /// event. The [`BedOwner`] uses it.
    driver_pays: atomic::AtomicBool,
    stats: SleepStats,
}

/// The worker's end of its bed: evidence that the current thread is the worker. Neither `Send` nor
/// `Sync`: it stays on the thread that made it.
///
/// ```compile_fail,E0277
/// # use blitz_parts::sleep::{Sleep, SleepPolicy};
/// let sleep = Sleep::new(SleepPolicy::rayon(), false, 1);
/// // SAFETY: no other thread uses the bed.
/// let bed = unsafe { sleep.add_bed().owner() };
/// std::thread::scope(|scope| _ = scope.spawn(|| bed.found_in_driver()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BedOwner<'a> {
    bed: &'a Bed,
    stays_here: PhantomData<*mut ()>,
}

/// Statistics of a worker's sleep.
#[derive(Debug, Default)]
pub struct SleepStats {
    /// Times blocked.
    pub parks: Counter,
    /// Nanoseconds blocked.
    pub parked_ns: Counter,
    /// Notices received while SLEEPY or SLEEPING.
    pub wakes_received: Counter,
    /// Times the worker found work after an idle round, without sleeping in between.
    pub found_awake: Counter,
    /// When another thread last made this worker's thread runnable, in ticks. Written by the waker.
    pub woken_at: Counter,
    /// Times the jobs event counter stopped the worker from sleeping.
    pub caught_by_jec: Counter,
}

impl Bed {
    pub(super) fn new(
        index: usize,
        counters: Arc<CachePadded<Counters>>,
        slot: Arc<DriverSlot>,
        patience: u32,
        serves: bool,
    ) -> Bed {
        Bed {
            core: CoreLatch::new(),
            index,
            counters,
            slot,
            in_driver: AtomicBool::new(false),
            serves: atomic::AtomicBool::new(serves),
            patience: AtomicU32::new(patience),
            driver_pays: atomic::AtomicBool::new(false),
            stats: SleepStats::default(),
        }
    }

    /// The worker's end.
    ///
    /// # Safety
    /// 1. At any time at most one thread uses `BedOwner`s of this bed. If another thread takes
    ///    over, some other synchronisation orders its uses after those of the thread before it.
    #[inline(always)]
    pub unsafe fn owner(&self) -> BedOwner<'_> {
        BedOwner { bed: self, stays_here: PhantomData }
    }

    /// Whether the worker is in service: it is not a resting spare.
    pub fn serves(&self) -> bool {
        self.serves.load(Relaxed)
    }

    /// The worker's index.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The worker's word.
    pub fn core(&self) -> &CoreLatch {
        &self.core
    }

    /// The statistics of this worker's sleep.
    pub fn stats(&self) -> &SleepStats {
        &self.stats
    }

    /// Wakes the worker if it sleeps or is about to sleep; returns whether that was so.
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
                self.stats.woken_at.set(ticks::now());
                match self.driver() {
                    Some(driver) => driver.wake(),
                    None => self.core.unpark(),
                }
            }
        }
        self.stats.wakes_received.add_shared(1);
        true
    }

    /// The driver, if the worker blocks there (O10).
    fn driver(&self) -> Option<&Arc<dyn Driver>> {
        if self.in_driver.load(prim::Relaxed) { self.slot.driver() } else { None }
    }

    /// Whether the worker blocks in the driver and not on its word, if it blocks at all.
    pub fn is_in_driver(&self) -> bool {
        self.in_driver.load(prim::Relaxed)
    }
}

impl Deref for BedOwner<'_> {
    type Target = Bed;

    #[inline(always)]
    fn deref(&self) -> &Bed {
        self.bed
    }
}

impl BedOwner<'_> {
    pub(super) fn set_serves(self, serves: bool) {
        self.serves.store(serves, Relaxed);
    }

    /// Sets where the worker is going to block: in the driver or on its word.
    pub(super) fn choose(self, driver: bool) {
        self.in_driver.store(driver, prim::Relaxed);
    }

    /// Blocks until a thread notifies the worker or, if the driver was chosen, until an event comes
    /// there. Returns how long the worker blocked.
    pub(super) fn park(self) -> Duration {
        let since = Instant::now();
        self.stats.parks.add(1);
        match self.driver() {
            Some(driver) => self.block(driver),
            None => self.core.wait(),
        }
        let slept = since.elapsed();
        self.stats.parked_ns.add(u64::try_from(slept.as_nanos()).unwrap_or(u64::MAX));
        slept
    }

    fn block(self, driver: &Arc<dyn Driver>) {
        let mut by_event = false;
        while self.core.is_sleeping() {
            if driver.block() && self.core.notify() == Notice::MustWake {
                // No waker took the worker out of SLEEPING, so the worker decrements (SLEEP-2).
                self.counters.sub_sleeping();
                by_event = true;
            }
        }
        self.driver_pays.store(by_event, Relaxed);
    }

    pub(super) fn caught_by_jec(self) {
        self.stats.caught_by_jec.add(1);
    }

    pub(super) fn found_while_awake(self, patience_full: u32) {
        self.stats.found_awake.add(1);
        // Staying awake paid off, so the worker stays awake next time as long as the policy allows.
        self.patience.store(patience_full, Relaxed);
    }

    /// Notes that the worker was idle and found an event in the driver.
    pub fn found_in_driver(self) {
        self.driver_pays.store(true, Relaxed);
    }

    /// Whether experience says that this worker's next work comes from the driver.
    pub(super) fn driver_pays(self) -> bool {
        self.driver_pays.load(Relaxed)
    }

    pub(super) fn patience(self) -> u32 {
        self.patience.load(Relaxed)
    }

    pub(super) fn set_patience(self, patience: u32) {
        self.patience.store(patience, Relaxed);
    }
}

#[cfg(test)]
impl super::Sleep {
    /// The bed of worker `index`, for a test or model that plays the worker on one thread at a
    /// time.
    pub(crate) fn own_bed(&self, index: usize) -> BedOwner<'_> {
        // SAFETY: the caller plays the worker on one thread at a time, as the documentation asks.
        unsafe { self.bed(index).expect("a bed").owner() }
    }
}
