//! Whether a thread had better spin before it blocks: what it did last, if that was good.

use crate::prim::{MODELLED, spin_loop};
use crate::tuning;
use core::cell::Cell;
use std::time::Instant;

thread_local! {
    static HABIT: Habit = const { Habit::new() };
}

/// Asks `ready` again and again for a moment, where that has been good so far on this thread; says whether
/// it was. It does not yield, for on a loaded machine that takes a whole time slice. A matter of speed only,
/// so it is left out under the model checker.
pub(crate) fn spin_until(ready: impl Fn() -> bool) -> bool {
    !MODELLED && HABIT.with(|habit| habit.try_spinning(|| spin(ready)))
}

/// Asks until it is ready or patience is at its end.
fn spin(ready: impl Fn() -> bool) -> bool {
    let since = Instant::now();
    while since.elapsed() < tuning::FOREIGN_PATIENCE {
        for _ in 0..tuning::FOREIGN_SPINS {
            if ready() {
                return true;
            }
            spin_loop();
        }
    }
    false
}

/// What a thread has learned about spinning.
///
/// Spinning saves a sleep and a wake-up if the result comes soon. If it does not, or if the worker that
/// computes it needs the very core that the thread spins on, spinning only delays it. Which of the two it
/// is depends on the jobs and on the load of the machine; so a thread goes on spinning as long as that
/// succeeds, and otherwise tries again once in a while.
#[derive(Debug)]
struct Habit {
    /// Failures in a row that are left until the thread stops spinning.
    credit: Cell<u32>,
    /// Waits that are left until it tries again.
    abstain: Cell<u32>,
    /// How many there will be after the next failure.
    pause: Cell<u32>,
}

impl Habit {
    /// Spins at first.
    const fn new() -> Habit {
        Habit {
            credit: Cell::new(tuning::SPIN_CREDIT),
            abstain: Cell::new(0),
            pause: Cell::new(tuning::SPIN_PAUSE_MIN),
        }
    }

    /// Calls `spin` if it is worth trying; it says whether it succeeded, and so does this.
    fn try_spinning(&self, spin: impl FnOnce() -> bool) -> bool {
        if let Some(left) = self.abstain.get().checked_sub(1) {
            self.abstain.set(left);
            return false;
        }
        let success = spin();
        if success {
            self.credit.set(tuning::SPIN_CREDIT);
            self.pause.set(tuning::SPIN_PAUSE_MIN);
        } else {
            self.credit.set(self.credit.get().saturating_sub(1));
            if self.credit.get() == 0 {
                self.abstain.set(self.pause.get());
                self.pause.set((self.pause.get() * 2).min(tuning::SPIN_PAUSE_MAX));
            }
        }
        success
    }
}

#[cfg(all(test, not(blitz_loom)))]
mod tests {
    use super::Habit;
    use crate::tuning::{SPIN_CREDIT, SPIN_PAUSE_MAX, SPIN_PAUSE_MIN};

    /// How often the habit spins in `waits` waits, if spinning always succeeds or never does.
    fn spins(habit: &Habit, waits: u32, success: bool) -> u32 {
        let mut spins = 0;
        for _ in 0..waits {
            habit.try_spinning(|| {
                spins += 1;
                success
            });
        }
        spins
    }

    #[test]
    fn success_is_repeated() {
        let habit = Habit::new();
        assert_eq!(spins(&habit, 1_000, true), 1_000);
    }

    #[test]
    fn after_some_failures_it_is_tried_ever_less() {
        let habit = Habit::new();
        assert_eq!(spins(&habit, SPIN_CREDIT, false), SPIN_CREDIT);
        let mut pause = SPIN_PAUSE_MIN;
        while pause < SPIN_PAUSE_MAX {
            assert_eq!(spins(&habit, pause, false), 0);
            assert_eq!(spins(&habit, 1, false), 1);
            pause *= 2;
        }
        assert_eq!(spins(&habit, 10 * (SPIN_PAUSE_MAX + 1), false), 10);
    }

    #[test]
    fn one_success_brings_the_habit_back() {
        let habit = Habit::new();
        spins(&habit, 1_000, false);
        while !habit.try_spinning(|| true) {}
        assert_eq!(spins(&habit, 100, true), 100);
        assert_eq!(spins(&habit, SPIN_CREDIT, false), SPIN_CREDIT);
        assert_eq!(spins(&habit, SPIN_PAUSE_MIN, false), 0);
    }
}
