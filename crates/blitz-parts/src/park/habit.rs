//! Decides whether a thread stays awake for a moment before it blocks: it does if that paid off
//! before.

use crate::prim::{MODELLED, spin_loop, yield_now};
use crate::tuning;
use core::cell::Cell;
use core::mem;
use std::time::{Duration, Instant};

thread_local! {
    static SPINNING: Habit = const { Habit::new() };
    static YIELDING: Habit = const { Habit::new() };
    static GIVING_WAY: Habit = const { Habit::new() };
}

/// Calls `ready` repeatedly for a moment, if that has paid off so far on this thread. Returns
/// whether it became true. It does not yield, because on a loaded machine that takes a whole time
/// slice. This only affects speed, so it is left out under the model checker.
pub(crate) fn spin_until(ready: impl Fn() -> bool) -> bool {
    !MODELLED && SPINNING.with(|habit| habit.try_it(|| spin(ready)))
}

/// As `spin_until`, then for a longer moment with yields, if those have paid off so far. For a
/// thread that waits for a worker, which may need the core of this very thread. A thread that
/// yields frees its core just as one that blocks, and needs no wake-up afterwards.
pub(crate) fn yield_until(ready: impl Fn() -> bool) -> bool {
    spin_until(&ready) || !MODELLED && YIELDING.with(|habit| habit.try_it(|| give_way(ready)))
}

/// Yields once, for a thread that is about to block until others give it work.
///
/// Other threads on the core can then give it several items at once, and none of them has to wake
/// it. If a yield costs a time slice, the next yields are skipped: a blocked thread gets a core as
/// soon as it is woken, but a thread that yields does not.
pub fn give_way_once() {
    if !MODELLED {
        GIVING_WAY.with(|habit| habit.try_it(|| yield_once(yield_now)));
    }
}

fn yield_once(yield_now: impl FnOnce()) -> Outcome {
    let asked = Instant::now();
    yield_now();
    if asked.elapsed() < tuning::YIELD_HARM { Outcome::Good } else { Outcome::Harmful }
}

/// Spins until `ready` returns true or the time for spinning is over.
fn spin(ready: impl Fn() -> bool) -> Outcome {
    let since = Instant::now();
    while since.elapsed() < tuning::FOREIGN_PATIENCE {
        if spin_briefly(&ready) {
            return Outcome::Good;
        }
    }
    Outcome::InVain
}

/// The same with yields. A yield that lets another thread have the core does not waste it. A yield
/// after which this thread is still on its core does, so only such yields count towards the limit.
/// If the workers had to share another core meanwhile, this thread soon blocks and the kernel gives
/// its core to one of them.
fn give_way(ready: impl Fn() -> bool) -> Outcome {
    let start = Instant::now();
    let mut before = start;
    let mut alone = Duration::ZERO;
    while alone < tuning::FOREIGN_YIELDS && before - start < tuning::FOREIGN_YIELDS_MAX {
        if spin_briefly(&ready) {
            return Outcome::Good;
        }
        let asked = Instant::now();
        yield_now();
        let now = Instant::now();
        let spent = now - mem::replace(&mut before, now);
        match now - asked {
            yielded if yielded >= tuning::YIELD_HARM => return Outcome::Harmful,
            yielded if yielded < tuning::YIELD_SHARED => alone += spent,
            _ => {}
        }
    }
    Outcome::InVain
}

fn spin_briefly(ready: impl Fn() -> bool) -> bool {
    (0..tuning::FOREIGN_SPINS).any(|_| {
        spin_loop();
        ready()
    })
}

/// What came of staying awake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The thread went on without a sleep and a wake-up.
    Good,
    /// It has to block now, later than it could have.
    InVain,
    /// It lost its core for a time slice, because other threads need the cores, too. A blocked
    /// thread would have got a core as soon as it was woken.
    Harmful,
}

/// What a thread has learned about staying awake in one way.
///
/// Whether it pays off depends on the jobs and on the load of the machine. So a thread goes on as
/// long as it does, and otherwise tries again once in a while. One time slice costs as much as
/// hundreds of wake-ups. So after a harmful try the next one comes later, and later each time.
#[derive(Debug)]
struct Habit {
    /// How many more failed tries in a row are allowed until the thread stops.
    credit: Cell<u32>,
    /// Waits to skip until it tries again.
    abstain: Cell<u32>,
    /// How many waits to skip after the next failed try.
    pause: Cell<u32>,
    /// How many waits to skip after the next harmful try.
    long_pause: Cell<u32>,
}

impl Habit {
    /// Tries at first.
    const fn new() -> Habit {
        Habit {
            credit: Cell::new(tuning::SPIN_CREDIT),
            abstain: Cell::new(0),
            pause: Cell::new(tuning::SPIN_PAUSE_MIN),
            long_pause: Cell::new(tuning::HARM_PAUSE_MIN),
        }
    }

    /// Calls `stay_awake` if that is worth trying; returns whether it paid off.
    fn try_it(&self, stay_awake: impl FnOnce() -> Outcome) -> bool {
        if let Some(left) = self.abstain.get().checked_sub(1) {
            self.abstain.set(left);
            return false;
        }
        let outcome = stay_awake();
        match outcome {
            Outcome::Good => {
                self.credit.set(tuning::SPIN_CREDIT);
                self.pause.set(tuning::SPIN_PAUSE_MIN);
                // Slowly: on a loaded machine, too, most tries are good.
                let long = self.long_pause.get();
                self.long_pause.set((long - long / 256).max(tuning::HARM_PAUSE_MIN));
            }
            Outcome::InVain => {
                self.credit.set(self.credit.get().saturating_sub(1));
                if self.credit.get() == 0 {
                    self.abstain.set(self.pause.get());
                    self.pause.set((self.pause.get() * 2).min(tuning::SPIN_PAUSE_MAX));
                }
            }
            Outcome::Harmful => {
                let long = self.long_pause.get();
                self.abstain.set(long);
                self.long_pause.set((long * 2).min(tuning::HARM_PAUSE_MAX));
            }
        }
        outcome == Outcome::Good
    }
}

#[cfg(all(test, not(blitz_loom)))]
mod tests {
    use super::{Habit, Outcome, give_way, give_way_once, spin, yield_once};
    use crate::tuning::{
        HARM_PAUSE_MAX, HARM_PAUSE_MIN, SPIN_CREDIT, SPIN_PAUSE_MAX, SPIN_PAUSE_MIN, YIELD_HARM,
    };
    use std::time::Instant;

    /// How often the thread stays awake in `waits` waits, if that always has this outcome.
    fn tries(habit: &Habit, waits: u32, outcome: Outcome) -> u32 {
        let mut tries = 0;
        for _ in 0..waits {
            habit.try_it(|| {
                tries += 1;
                outcome
            });
        }
        tries
    }

    #[test]
    fn patience_has_an_end() {
        assert_eq!(give_way(|| true), Outcome::Good);
        assert_eq!(spin(|| true), Outcome::Good);
        assert_ne!(give_way(|| false), Outcome::Good);
        assert_eq!(spin(|| false), Outcome::InVain);
    }

    #[test]
    fn a_yield_that_costs_a_time_slice_is_harmful() {
        let asked = Instant::now();
        let slice = || while asked.elapsed() < 2 * YIELD_HARM {};
        assert_eq!(yield_once(slice), Outcome::Harmful);
        (0..10).for_each(|_| give_way_once());
    }

    #[test]
    fn success_is_repeated() {
        let habit = Habit::new();
        assert_eq!(tries(&habit, 1_000, Outcome::Good), 1_000);
    }

    #[test]
    fn after_some_failures_it_is_tried_ever_less() {
        let habit = Habit::new();
        assert_eq!(tries(&habit, SPIN_CREDIT, Outcome::InVain), SPIN_CREDIT);
        let mut pause = SPIN_PAUSE_MIN;
        while pause < SPIN_PAUSE_MAX {
            assert_eq!(tries(&habit, pause, Outcome::InVain), 0);
            assert_eq!(tries(&habit, 1, Outcome::InVain), 1);
            pause *= 2;
        }
        assert_eq!(tries(&habit, 10 * (SPIN_PAUSE_MAX + 1), Outcome::InVain), 10);
    }

    #[test]
    fn one_success_brings_the_habit_back() {
        let habit = Habit::new();
        tries(&habit, 1_000, Outcome::InVain);
        while !habit.try_it(|| Outcome::Good) {}
        assert_eq!(tries(&habit, 100, Outcome::Good), 100);
        assert_eq!(tries(&habit, SPIN_CREDIT, Outcome::InVain), SPIN_CREDIT);
        assert_eq!(tries(&habit, SPIN_PAUSE_MIN, Outcome::InVain), 0);
    }

    #[test]
    fn harm_is_avoided_longer_and_not_forgotten_soon() {
        let habit = Habit::new();
        let mut last = 0;
        while last < HARM_PAUSE_MAX / 10 * 9 {
            let pause = habit.long_pause.get();
            assert!(pause > last, "some good tries between them are no reason to forget");
            assert_eq!(tries(&habit, 1, Outcome::Harmful), 1);
            assert_eq!(tries(&habit, pause, Outcome::Good), 0);
            assert_eq!(tries(&habit, 10, Outcome::Good), 10);
            last = pause;
        }
        assert_eq!(tries(&habit, 10_000, Outcome::Good), 10_000);
        assert_eq!(habit.long_pause.get(), HARM_PAUSE_MIN, "the load is over");
    }
}
