//! The relief worker's word: whether a worker is on relief, whether it waits in the driver, and
//! whether other workers stand aside for it.

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
    /// Returns whether the worker stood aside.
    pub(super) fn stand_aside(&self, processor: u32, news: impl FnOnce() -> bool) -> bool {
        let old = self.word.load(Relaxed);
        let needs = self.processor.load(Relaxed) == processor + 1
            && old & STATE != OFF
            && (!is_waiting(old) || news());
        let new = old | ASIDE;
        // If the word has changed meanwhile, the relief worker runs, or is about to.
        let stands = needs && self.word.compare_exchange(old, new, Relaxed, Relaxed).is_ok();
        if stands {
            futex::pause(&self.word, new, ASIDE_MAX);
        }
        stands
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
