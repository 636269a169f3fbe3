//! Decides whether a thread stays awake for a moment before it blocks. The thread stays awake if
//! this paid off in its earlier waits.

use crate::prim::{MODELLED, spin_loop, yield_now};
use crate::tuning;
use core::cell::Cell;
use core::mem;
use std::time::{Duration, Instant};

thread_local! {
    static SPINNING: Habit = const { Habit::new() };
    static YIELDING: Habit = const { Habit::new() };
    static GIVING_WAY: Courtesy = const { Courtesy::new() };
}

/// Calls `ready` repeatedly for a moment, if that has paid off so far on this thread. Returns
/// whether `ready` returned true. This function does not yield, because on a loaded machine a yield
/// takes a whole time slice. Spinning only affects speed, so it is left out under the model
/// checker.
pub(crate) fn spin_until(ready: impl Fn() -> bool) -> bool {
    !MODELLED && SPINNING.with(|habit| habit.try_it(|| spin(ready)))
}

/// Spins as `spin_until` does, then yields for longer, if yields have paid off so far. It is for a
/// thread that waits for a worker, because the worker may need this thread's core. A thread that
/// yields frees its core, like one that blocks, and needs no wake-up afterwards.
pub(crate) fn yield_until(ready: impl Fn() -> bool) -> bool {
    spin_until(&ready) || !MODELLED && YIELDING.with(|habit| habit.try_it(|| give_way(ready)))
}

/// Yields for a moment, if that has paid off so far on this thread. It is for a thread that is
/// about to block until other threads or the kernel give it work. `ready` returns whether another
/// thread has given it work.
///
/// A thread that yields needs no wake-up, and the threads that share its core can give it several
/// items at once. If a yield costs a time slice, the thread does not yield before its next waits: a
/// blocked thread gets a core as soon as it is woken, but a thread that yields does not. After its
/// wait the thread calls [`wait_is_over`].
pub fn give_way_before_wait(ready: impl Fn() -> bool) {
    if !MODELLED {
        let give_way = || yield_briefly(ready, yield_now, Instant::now);
        GIVING_WAY.with(|courtesy| courtesy.before(give_way, Instant::now));
    }
}

/// Learns from the wait that has ended whether yields before it pay off.
pub fn wait_is_over() {
    if !MODELLED {
        GIVING_WAY.with(|courtesy| courtesy.after(Instant::now));
    }
}

/// Yields until `ready` returns true, until another thread has had the core, or until the time is
/// over. A thread that had the core may have caused an event which only the wait itself can see.
fn yield_briefly(
    ready: impl Fn() -> bool,
    yield_now: impl Fn(),
    clock: impl Fn() -> Instant,
) -> Outcome {
    let start = clock();
    let mut before = start;
    while before - start < tuning::GUEST_PATIENCE {
        yield_now();
        let now = clock();
        match now - mem::replace(&mut before, now) {
            yielded if yielded >= tuning::YIELD_HARM => return Outcome::Harmful,
            yielded if yielded >= tuning::YIELD_USED => return Outcome::Good,
            _ if ready() => return Outcome::Good,
            _ => {}
        }
    }
    Outcome::InVain
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

/// Spins and yields until `ready` returns true or the time is over. A yield that gives the core to
/// another thread wastes no time, so such a turn counts only towards `FOREIGN_YIELDS_MAX`. In the
/// other turns this thread keeps its core, and the workers may have to share the remaining cores.
/// After `FOREIGN_YIELDS` of these turns this thread blocks, and the kernel gives its core to a
/// worker.
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

/// The outcome of staying awake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The thread went on without a sleep and a wake-up.
    Good,
    /// The thread has to block anyway, and staying awake was wasted.
    InVain,
    /// The thread lost its core for a time slice, because other threads need the cores, too. A
    /// blocked thread would have got a core as soon as it was woken.
    Harmful,
}

/// A thread's experience with one way of staying awake.
///
/// Whether staying awake pays off depends on the jobs and on the load of the machine. So a thread
/// keeps doing it while it pays off, and otherwise tries it again from time to time. One lost time
/// slice costs as much as hundreds of wake-ups. So after a harmful try the thread pauses at least
/// as long as after any vain one, and after further harmful tries ever longer, up to a limit.
#[derive(Debug)]
struct Habit {
    /// How many more vain tries in a row are allowed until the thread pauses.
    credit: Cell<u32>,
    /// Waits to skip until it tries again.
    abstain: Cell<u32>,
    /// How many waits to skip after the next vain try that leaves no credit.
    pause: Cell<u32>,
    /// How many waits to skip after the next harmful try.
    long_pause: Cell<u32>,
}

impl Habit {
    /// Creates a habit that stays awake at first.
    const fn new() -> Habit {
        Habit {
            credit: Cell::new(tuning::SPIN_CREDIT),
            abstain: Cell::new(0),
            pause: Cell::new(tuning::SPIN_PAUSE_MIN),
            long_pause: Cell::new(tuning::HARM_PAUSE_MIN),
        }
    }

    /// Calls `stay_awake` if that may pay off. Returns whether its outcome was good.
    fn try_it(&self, stay_awake: impl FnOnce() -> Outcome) -> bool {
        if !self.is_worth_it() {
            return false;
        }
        let outcome = stay_awake();
        self.learn(outcome);
        outcome == Outcome::Good
    }

    /// Returns whether to stay awake in the wait that begins now.
    fn is_worth_it(&self) -> bool {
        let left = self.abstain.get();
        self.abstain.set(left.saturating_sub(1));
        left == 0
    }

    fn learn(&self, outcome: Outcome) {
        match outcome {
            Outcome::Good => {
                self.credit.set(tuning::SPIN_CREDIT);
                self.pause.set(tuning::SPIN_PAUSE_MIN);
                // Shorten the long pause slowly: even on a loaded machine most tries are good.
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
    }
}

/// What a thread has learned about giving way before it waits in a system call.
///
/// Only the wait shows whether giving way has paid off: if so, there is work, and the wait is over
/// at once.
#[derive(Debug)]
struct Courtesy {
    habit: Habit,
    /// When the wait began, if the thread gave way before it.
    since: Cell<Option<Instant>>,
}

impl Courtesy {
    const fn new() -> Courtesy {
        Courtesy { habit: Habit::new(), since: Cell::new(None) }
    }

    fn before(&self, give_way: impl FnOnce() -> Outcome, clock: impl Fn() -> Instant) {
        if !self.habit.is_worth_it() {
            return;
        }
        match give_way() {
            Outcome::Harmful => self.habit.learn(Outcome::Harmful),
            _ => self.since.set(Some(clock())),
        }
    }

    fn after(&self, clock: impl Fn() -> Instant) {
        if let Some(since) = self.since.take() {
            let slept = clock() - since >= tuning::GUEST_SLEPT;
            self.habit.learn(if slept { Outcome::InVain } else { Outcome::Good });
        }
    }
}

#[cfg(all(test, not(blitz_loom)))]
mod tests {
    use super::{Courtesy, Habit, Outcome, give_way, spin, yield_briefly};
    use crate::tuning::{
        GUEST_PATIENCE, GUEST_SLEPT, HARM_PAUSE_MAX, HARM_PAUSE_MIN, SPIN_CREDIT, SPIN_PAUSE_MAX,
        SPIN_PAUSE_MIN, YIELD_HARM, YIELD_USED,
    };
    use core::cell::Cell;
    use std::time::{Duration, Instant};

    /// Waits `waits` times; returns in how many of them the thread stayed awake. Each try has the
    /// given outcome.
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

    /// A clock that moves by a fixed time with each yield.
    struct Yields {
        start: Instant,
        each: Duration,
        count: Cell<u32>,
    }

    impl Yields {
        fn of(each: Duration) -> Yields {
            Yields { start: Instant::now(), each, count: Cell::new(0) }
        }

        /// The outcome of the yields if there is work after `enough` of them.
        fn outcome(&self, enough: u32) -> Outcome {
            let add = || self.count.set(self.count.get() + 1);
            let now = || self.start + self.each * self.count.get();
            yield_briefly(|| self.count.get() >= enough, add, now)
        }
    }

    #[test]
    fn yields_end_when_there_is_work() {
        let yields = Yields::of(Duration::from_micros(1));
        assert_eq!((yields.outcome(2), yields.count.get()), (Outcome::Good, 2));
    }

    #[test]
    fn yields_in_vain_end_soon() {
        let yields = Yields::of(Duration::from_micros(1));
        assert_eq!(yields.outcome(u32::MAX), Outcome::InVain);
        assert_eq!(yields.each * yields.count.get(), GUEST_PATIENCE);
    }

    #[test]
    fn a_yield_that_another_thread_used_is_the_last() {
        let yields = Yields::of(YIELD_USED);
        assert_eq!((yields.outcome(u32::MAX), yields.count.get()), (Outcome::Good, 1));
    }

    #[test]
    fn a_yield_that_costs_a_time_slice_is_harmful() {
        assert_eq!(Yields::of(YIELD_HARM).outcome(1), Outcome::Harmful);
    }

    #[test]
    fn a_thread_gives_way_as_long_as_waits_are_over_at_once() {
        let (courtesy, start) = (Courtesy::new(), Instant::now());
        let tries = Cell::new(0);
        let wait = |time: Duration| {
            let give_way = || {
                tries.set(tries.get() + 1);
                Outcome::InVain
            };
            courtesy.before(give_way, || start);
            courtesy.after(|| start + time);
        };
        (0..100).for_each(|_| wait(GUEST_SLEPT / 2));
        assert_eq!(tries.replace(0), 100);
        (0..100).for_each(|_| wait(GUEST_SLEPT));
        assert!(tries.get() < 10, "{tries:?}");
    }

    #[test]
    fn success_is_repeated() {
        let habit = Habit::new();
        assert_eq!(tries(&habit, 1_000, Outcome::Good), 1_000);
    }

    #[test]
    fn after_some_failures_a_thread_tries_ever_less() {
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
            assert!(pause > last, "some good tries in between do not reset the pause");
            assert_eq!(tries(&habit, 1, Outcome::Harmful), 1);
            assert_eq!(tries(&habit, pause, Outcome::Good), 0);
            assert_eq!(tries(&habit, 10, Outcome::Good), 10);
            last = pause;
        }
        assert_eq!(tries(&habit, 10_000, Outcome::Good), 10_000);
        assert_eq!(habit.long_pause.get(), HARM_PAUSE_MIN, "the load is over");
    }
}
