//! The relief worker's word: whether a worker is on relief, and whether it waits in the driver.

use crate::prim::{AtomicUsize, Relaxed, SeqCst, Step, broken, fence};

const OFF: usize = 0;
const AT_WORK: usize = 1;
const WAITING: usize = 2;
const STATE: usize = 3;

fn word(index: usize, state: usize) -> usize {
    index << 2 | state
}

fn is_waiting(word: usize) -> bool {
    word & STATE == WAITING
}

/// Which worker is on relief, and whether it waits in the driver.
#[derive(Debug)]
pub(super) struct Relief(AtomicUsize);

impl Relief {
    pub(super) fn new() -> Relief {
        Relief(AtomicUsize::new(OFF))
    }

    /// Puts worker `index` on relief, unless a worker is on relief already.
    pub(super) fn begin(&self, index: usize) -> bool {
        self.step(OFF, word(index, AT_WORK))
    }

    /// Ends the relief of worker `index`. Returns false if that worker is not on relief, or waits.
    pub(super) fn end(&self, index: usize) -> bool {
        self.step(word(index, AT_WORK), OFF)
    }

    fn step(&self, from: usize, to: usize) -> bool {
        self.0.compare_exchange(from, to, Relaxed, Relaxed).is_ok() // O15
    }

    /// The worker that is on relief, if one is.
    pub(super) fn worker(&self) -> Option<usize> {
        let word = self.0.load(Relaxed);
        (word & STATE != OFF).then_some(word >> 2)
    }

    pub(super) fn waits(&self) -> bool {
        is_waiting(self.0.load(Relaxed))
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
        let word = self.0.load(Relaxed);
        is_waiting(word) && !broken(Step::SleepReliefTold) && self.wake(word, wake)
    }

    #[cold]
    fn wake(&self, waiting: usize, wake: impl FnOnce()) -> bool {
        let woken = self.step(waiting, waiting & !STATE | AT_WORK);
        if woken {
            wake();
        }
        woken
    }
}
