//! The relief worker's word: whether a worker is on relief, whether it waits in the driver, and
//! whether other workers stand aside for it.

use super::{BedOwner, DriverLease, Sleep};
use crate::park::futex;
use crate::prim::{AtomicU32, Relaxed, SeqCst, Step, broken, fence};
use crate::tuning::ASIDE_MAX;

const OFF: u32 = 0;
const AT_WORK: u32 = 1;
const WAITING: u32 = 2;
const STATE: u32 = 3;
/// A worker stands aside.
const ASIDE: u32 = 4;
const INDEX_SHIFT: u32 = 3;
/// The lowest bit of the rounds.
const ROUND: u32 = 1 << 19;
const STATE_AND_INDEX: u32 = (ROUND - 1) & !ASIDE;

/// The state of the word while worker `index` is on relief. There are fewer than 65,536 workers.
fn word(index: usize, state: u32) -> u32 {
    (index as u32) << INDEX_SHIFT | state
}

fn is_waiting(word: u32) -> bool {
    word & STATE == WAITING
}

/// Which worker is on relief, whether it waits in the driver, and whether workers stand aside.
#[derive(Debug)]
pub(super) struct Relief {
    word: AtomicU32,
    /// The processor on which the relief worker ran last, plus one; zero if that is not known.
    processor: AtomicU32,
}

impl Relief {
    pub(super) fn new() -> Relief {
        Relief { word: AtomicU32::new(OFF), processor: AtomicU32::new(0) }
    }

    /// Puts worker `index` on relief, unless a worker is on relief already.
    pub(super) fn begin(&self, index: usize) -> bool {
        self.step(OFF, word(index, AT_WORK))
    }

    /// Ends the relief of worker `index`. Returns false if that worker is not on relief, or waits.
    pub(super) fn end(&self, index: usize) -> bool {
        self.step(word(index, AT_WORK), OFF)
    }

    /// Changes the state and the worker. If the relief worker stops working by this step, wakes the
    /// workers that stand aside.
    fn step(&self, from: u32, to: u32) -> bool {
        let mut old = self.word.load(Relaxed);
        while old & STATE_AND_INDEX == from {
            let wakes = old & ASIDE != 0 && to & STATE != AT_WORK;
            let kept = old & !STATE_AND_INDEX;
            let new = to | if wakes { (kept & !ASIDE).wrapping_add(ROUND) } else { kept };
            // O15
            match self.word.compare_exchange(old, new, Relaxed, Relaxed) {
                Ok(_) => {
                    if wakes && !broken(Step::SleepAsideWoken) {
                        futex::wake_all(&self.word);
                    }
                    return true;
                }
                Err(changed) => old = changed,
            }
        }
        false
    }

    /// The worker that is on relief, if one is.
    pub(super) fn worker(&self) -> Option<usize> {
        let word = self.word.load(Relaxed) & STATE_AND_INDEX;
        (word & STATE != OFF).then_some((word >> INDEX_SHIFT) as usize)
    }

    pub(super) fn waits(&self) -> bool {
        is_waiting(self.word.load(Relaxed))
    }

    /// Notes on which processor the relief worker runs.
    pub(super) fn runs_on(&self, processor: Option<u32>) {
        self.processor.store(processor.map_or(0, |number| number + 1), Relaxed);
    }

    /// Blocks the calling worker, which runs on `processor`, if the relief worker needs that
    /// processor: the relief worker ran there last, and has work, or `news` tells that it has. The
    /// pause ends when the relief worker has no work left, and after [`ASIDE_MAX`] at the latest.
    pub(super) fn stand_aside(&self, processor: u32, news: impl FnOnce() -> bool) {
        let old = self.word.load(Relaxed);
        let needs = self.processor.load(Relaxed) == processor + 1
            && old & STATE != OFF
            && (!is_waiting(old) || news());
        let new = old | ASIDE;
        // If the word has changed meanwhile, the relief worker runs.
        if needs && self.word.compare_exchange(old, new, Relaxed, Relaxed).is_ok() {
            futex::pause(&self.word, new, ASIDE_MAX);
        }
    }

    /// Calls `block` until it reports an event, or until the worker is notified. Does not block if
    /// `look` finds a task. Returns false if the relief has ended.
    pub(super) fn wait(
        &self,
        index: usize,
        look: impl FnOnce() -> bool,
        mut block: impl FnMut() -> bool,
    ) -> bool {
        let (at_work, waiting) = (word(index, AT_WORK), word(index, WAITING));
        if !self.step(at_work, waiting) {
            return false;
        }
        if !broken(Step::SleepReliefFence) {
            fence(SeqCst); // O2
        }
        let mut happened = look();
        while self.waits() {
            happened = happened || block();
            if happened {
                // A notifier may have stored this value already.
                self.step(waiting, at_work);
            }
        }
        true
    }

    /// Calls `wake` if the relief worker waits.
    #[inline]
    pub(super) fn tell(&self, wake: impl FnOnce()) -> bool {
        let word = self.word.load(Relaxed);
        is_waiting(word) && !broken(Step::SleepReliefTold) && self.wake(word, wake)
    }

    #[cold]
    fn wake(&self, waiting: u32, wake: impl FnOnce()) -> bool {
        let waiting = waiting & STATE_AND_INDEX;
        let woken = self.step(waiting, waiting & !STATE | AT_WORK);
        if woken {
            wake();
        }
        woken
    }
}

impl Sleep {
    /// Puts worker `index` on relief, unless a worker is already. A relief worker serves the driver
    /// and tasks while workers with seats compute.
    ///
    /// The worker is in service. While it waits, the counters do not count it as a sleeper, so that
    /// no fork publishes jobs for it.
    pub fn begin_relief(&self, index: usize) -> bool {
        self.relief.begin(index)
    }

    /// Ends the relief of worker `index`, which leaves, or which another thread sees stuck in a
    /// poll. Returns false if the worker was not on relief, or waits.
    pub fn end_relief(&self, index: usize) -> bool {
        let ended = self.relief.end(index);
        if !broken(Step::SleepReliefEndFence) {
            fence(SeqCst); // O16
        }
        ended
    }

    /// The worker that is on relief, if one is.
    pub fn on_relief(&self) -> Option<usize> {
        self.relief.worker()
    }

    /// Whether the relief worker waits in the driver.
    pub fn relief_waits(&self) -> bool {
        self.relief.waits()
    }

    /// Notes on which processor the relief worker runs, which calls this.
    pub fn relief_runs_on(&self, processor: Option<u32>) {
        self.relief.runs_on(processor);
    }

    /// Leaves `processor`, on which the caller runs, to the relief worker, if that has to run there
    /// and does not. `news` returns whether the driver has events for a relief worker that waits.
    ///
    /// The relief worker wakes up where it ran last. If the caller runs there, and the relief
    /// worker has work, it waits for the caller's processor.
    pub fn stand_aside(&self, processor: u32, news: impl FnOnce() -> bool) {
        self.relief.stand_aside(processor, news);
    }

    /// Blocks the relief worker in the driver until an event comes, or until it is notified of a
    /// task that `look` did not see. Returns `None` if there is no driver, another worker serves
    /// the driver, or the relief has ended.
    pub fn wait_on_relief(
        &self,
        bed: BedOwner<'_>,
        look: impl FnOnce() -> bool,
    ) -> Option<DriverLease<'_>> {
        let lease = self.try_lease(bed)?;
        let driver = self.driver()?;
        let look = || look() || self.is_stopping();
        self.relief.wait(bed.index(), look, || driver.block()).then_some(lease)
    }

    /// Notifies the relief worker, if it waits, of a task that was just put where it looks. The
    /// caller has fenced since. Returns whether it woke the worker.
    #[inline]
    pub fn tell_relief(&self) -> bool {
        self.relief.tell(|| {
            if let Some(driver) = self.driver() {
                driver.wake();
            }
        })
    }
}
