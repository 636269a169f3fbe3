//! Decides whether a worker with many tasks from the driver wakes another worker.
//!
//! If all processors are taken, perhaps by the clients of a server, a second worker only takes a
//! processor from another thread, and the two workers take turns. Then it can be better if one
//! worker polls all tasks alone. But one worker also gets a smaller share of the processors than
//! two workers. Which is better depends on the other threads, so the pool tries both:
//!
//! ```text
//!          in two trials in a row, workers wait much
//!   HELPED ──────────────────────────────────────────▶ ALONE
//!      ▲   ◀── the pool polls less than before ────────┤
//!      ├────── no worker had many tasks for a while ───┤
//!      └────── no worker was woken for long enough ────┘
//! ```
//!
//! Workers *wait much* if, together, they were ready to run without a processor for a long part of
//! a trial ([`CROWD_WAIT_PART`]). So a pool that has enough processors stays HELPED. While the pool
//! is ALONE, it compares polls every [`CROWD_VERDICT`]: the best of the trials since the last
//! comparison with the better of the last two HELPED trials.
//!
//! After a time ALONE that was worse, the pool is HELPED for a while before it tries to be ALONE
//! again. This while is four times as long after each further time that was worse. It is twice as
//! long after each time ALONE that ended without a comparison, as in a load that comes in bursts.
//! After a time ALONE that was no worse, the next time ALONE is twice as long. Once workers no
//! longer wait much, both begin anew.

#![forbid(unsafe_code)]

use blitz_parts::prim::Instant;
use blitz_parts::thread::ThreadId;
use blitz_parts::tuning::{
    CROWD_ASKS, CROWD_NO_WORSE, CROWD_REST_MAX, CROWD_REST_MIN, CROWD_TRIAL, CROWD_VERDICT,
    CROWD_WAIT_PART,
};
use std::mem;
use std::time::Duration;

/// What a pool knows about the competition for processors.
pub(crate) struct Crowd {
    mode: Mode,
    /// The beginning of the current trial.
    begin: Option<Begin>,
    /// When a worker had many tasks last.
    last: Option<Instant>,
    /// How long the next time alone takes.
    alone_for: Duration,
    /// How long workers are helped after a time alone that was worse.
    helped_for: Duration,
}

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    /// How long each thread that was asked was ready to run, but had no processor. Empty if the
    /// system does not say.
    pub(crate) waits: [Option<(ThreadId, Duration)>; CROWD_ASKS],
    /// How many of these threads may run at a time: the workers without the spares.
    pub(crate) seats: u32,
    /// Polls of all workers of the pool.
    pub(crate) polls: u64,
}

#[derive(Clone, Copy)]
enum Mode {
    /// Workers wake others.
    Helped {
        /// No trial begins before this moment.
        until: Option<Instant>,
        /// The polls of the last trial, if workers waited much in it.
        polls: Option<f64>,
    },
    /// A worker with many tasks from the driver wakes no other for them.
    Alone(Alone),
}

/// A time in which a worker wakes no other for tasks from the driver.
#[derive(Clone, Copy)]
struct Alone {
    until: Instant,
    /// The most polls of a trial with help.
    helped: f64,
    /// The most polls of a trial since the last verdict. The worker may begin on the processor of a
    /// client, and the system needs some trials to move it.
    best: f64,
    /// When the next verdict is due.
    verdict: Instant,
}

/// The beginning of a trial.
///
/// The worker that began a trial also ends it. The totals of another worker could not be compared
/// with those of the beginning: each worker asks a different set of workers (see [`Totals`]).
#[derive(Clone, Copy)]
struct Begin {
    worker: usize,
    at: Instant,
    totals: Totals,
}

impl Crowd {
    pub(crate) fn new() -> Crowd {
        Crowd {
            mode: Mode::helped(None),
            begin: None,
            last: None,
            alone_for: CROWD_REST_MIN,
            helped_for: CROWD_REST_MIN,
        }
    }

    /// Returns whether `worker`, which has many tasks, should wake no other worker.
    pub(crate) fn is_better_alone(
        &mut self,
        worker: usize,
        now: Instant,
        totals: impl FnOnce() -> Totals,
    ) -> bool {
        if matches!(self.mode, Mode::Helped { until: Some(until), .. } if now < until) {
            return false;
        }
        let last = self.last.replace(now);
        let passed = |begin: Begin| now.saturating_duration_since(begin.at);
        let begin = self.begin.filter(|&begin| passed(begin) < CROWD_TRIAL * 2);
        match begin {
            Some(begin) if begin.worker != worker || passed(begin) < CROWD_TRIAL => {}
            _ => {
                let totals = totals();
                self.mode = match begin {
                    Some(begin) => self.judge(now, &Trial::new(&begin, now, &totals)),
                    None => self.begin_anew(now, last, &totals),
                };
                let goes_on = !matches!(self.mode, Mode::Helped { until: Some(_), .. });
                self.begin = goes_on.then_some(Begin { worker, at: now, totals });
            }
        }
        matches!(self.mode, Mode::Alone(_))
    }

    /// Returns the mode if a trial begins and none ends.
    ///
    /// Either no trial was in progress, or the worker that began it did not end it in time. `last`
    /// is when a worker had many tasks before.
    fn begin_anew(&mut self, now: Instant, last: Option<Instant>, totals: &Totals) -> Mode {
        if totals.waits.iter().all(Option::is_none) {
            return Mode::helped(Some(now + CROWD_REST_MAX));
        }
        let paused = last.is_none_or(|last| now.saturating_duration_since(last) > CROWD_TRIAL);
        match self.mode {
            // Another worker than before polls alone now.
            Mode::Alone(alone) if !paused && now < alone.until => Mode::Alone(alone),
            // Nothing is known about this time alone, and the next one may end like it.
            Mode::Alone(_) => Mode::helped(Some(now + multiply(&mut self.helped_for, 2))),
            Mode::Helped { .. } => Mode::helped(None),
        }
    }

    /// Returns the mode that follows a trial.
    fn judge(&mut self, now: Instant, trial: &Trial) -> Mode {
        let verdict = now + CROWD_VERDICT;
        let mut alone = match self.mode {
            Mode::Alone(alone) => alone,
            Mode::Helped { .. } if !trial.waits_much => {
                (self.alone_for, self.helped_for) = (CROWD_REST_MIN, CROWD_REST_MIN);
                return Mode::helped(Some(now + CROWD_REST_MIN));
            }
            Mode::Helped { polls: None, .. } => {
                return Mode::Helped { until: None, polls: Some(trial.polls) };
            }
            Mode::Helped { polls: Some(polls), .. } => {
                let (until, helped) = (now + self.alone_for, polls.max(trial.polls));
                return Mode::Alone(Alone { until, helped, best: 0.0, verdict });
            }
        };
        alone.best = alone.best.max(trial.polls);
        if now < alone.verdict {
            return Mode::Alone(alone);
        }
        if alone.best < alone.helped * CROWD_NO_WORSE {
            self.alone_for = CROWD_REST_MIN;
            return Mode::helped(Some(now + multiply(&mut self.helped_for, 4)));
        }
        if now < alone.until {
            return Mode::Alone(Alone { best: 0.0, verdict, ..alone });
        }
        self.helped_for = CROWD_REST_MIN;
        multiply(&mut self.alone_for, 2);
        Mode::helped(None)
    }
}

impl Mode {
    fn helped(until: Option<Instant>) -> Mode {
        Mode::Helped { until, polls: None }
    }
}

/// Multiplies a time, up to the longest. Returns the time before.
fn multiply(time: &mut Duration, by: u32) -> Duration {
    mem::replace(time, (*time * by).min(CROWD_REST_MAX))
}

/// A time in which a worker had many tasks, again and again.
struct Trial {
    waits_much: bool,
    /// The polls of all workers, had the trial taken exactly [`CROWD_TRIAL`].
    polls: f64,
}

impl Trial {
    fn new(begin: &Begin, end: Instant, totals: &Totals) -> Trial {
        let passed = end.saturating_duration_since(begin.at);
        // Threads that began or ended within the trial do not count.
        let before = |thread| begin.totals.waits.iter().flatten().find(|(id, _)| *id == thread);
        let waited =
            |&(thread, wait): &(ThreadId, Duration)| Some(wait.saturating_sub(before(thread)?.1));
        let waited: Duration = totals.waits.iter().flatten().filter_map(waited).sum();
        let polls = totals.polls.saturating_sub(begin.totals.polls) as f64;
        Trial {
            waits_much: waited * CROWD_WAIT_PART > passed * totals.seats,
            polls: polls * CROWD_TRIAL.as_secs_f64() / passed.as_secs_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Crowd, Totals};
    use blitz_parts::prim::Instant;
    use blitz_parts::thread;
    use blitz_parts::tuning::{CROWD_REST_MAX, CROWD_REST_MIN, CROWD_TRIAL, CROWD_WAIT_PART};
    use std::time::Duration;

    /// A pool beside other threads. Only worker 0 asks, unless a test says otherwise.
    struct Bench {
        crowd: Crowd,
        now: Instant,
        totals: Totals,
        /// How often a worker read the totals.
        readings: u32,
    }

    impl Bench {
        fn new() -> Bench {
            let mut totals = Totals { seats: 1, ..Totals::default() };
            totals.waits[1] = Some((thread::current(), Duration::from_secs(1)));
            let now = Instant::now();
            let mut bench = Bench { crowd: Crowd::new(), now, totals, readings: 0 };
            assert!(!bench.is_alone(0), "nothing is known yet");
            bench
        }

        fn is_alone(&mut self, worker: usize) -> bool {
            let totals = || {
                self.readings += 1;
                self.totals
            };
            self.crowd.is_better_alone(worker, self.now, totals)
        }

        /// Lets the worker wait for a processor.
        fn wait(&mut self, time: Duration) {
            self.totals.waits[1].as_mut().unwrap().1 += time;
        }

        /// Lets trials pass in which workers wait much, until the pool is alone.
        fn begin_alone(&mut self) {
            assert!(!self.trial(true, 100), "one trial with help");
            assert!(self.trial(true, 100), "and another one");
        }

        /// Lets a trial pass with this many polls. Workers wait for half of it, or not at all.
        /// Returns the new mode.
        fn trial(&mut self, waits: bool, polls: u64) -> bool {
            self.now += CROWD_TRIAL;
            self.wait(if waits { CROWD_TRIAL / 2 } else { Duration::ZERO });
            self.totals.polls += polls;
            self.is_alone(0)
        }

        /// Lets trials pass, with waits and equal polls, until the pool is alone, or is not alone,
        /// as `alone` says. Returns how long that took.
        fn until(&mut self, alone: bool) -> Duration {
            let begin = self.now;
            let ends = (0..1_000).any(|_| self.trial(true, 100) == alone);
            assert!(ends, "the mode does not change");
            self.now - begin
        }
    }

    /// Lets a time alone pass until a verdict, with these polls per trial. Returns the new mode.
    fn verdict(bench: &mut Bench, polls: [u64; 2]) -> bool {
        assert!(bench.trial(true, polls[0]), "no verdict yet");
        bench.trial(true, polls[1])
    }

    /// How long the two trials with help take.
    const HELP: Duration = CROWD_TRIAL.saturating_mul(2);

    #[test]
    fn a_pool_that_has_enough_processors_is_always_helped_and_seldom_reads() {
        let mut bench = Bench::new();
        assert!((0..1_000).all(|_| !bench.trial(false, 100)));
        let periods = (CROWD_TRIAL * 1_000).as_micros() / CROWD_REST_MIN.as_micros();
        assert!(u128::from(bench.readings) <= 2 * periods + 2, "{}", bench.readings);
    }

    #[test]
    fn a_worker_waits_much_if_it_waits_for_a_part_of_the_time() {
        for (part, waits_much) in [(CROWD_WAIT_PART / 2, true), (CROWD_WAIT_PART * 2, false)] {
            for seats in [1, 2, 8] {
                let mut bench = Bench::new();
                bench.totals.seats = seats;
                for _ in 0..2 {
                    bench.wait(CROWD_TRIAL * seats / part);
                    bench.now += CROWD_TRIAL;
                    let _ = bench.is_alone(0);
                }
                assert_eq!(bench.is_alone(0), waits_much, "{part} {seats}");
            }
        }
    }

    #[test]
    fn a_thread_that_began_within_the_trial_does_not_count() {
        let mut bench = Bench::new();
        let (id, _) = bench.totals.waits[1].take().unwrap();
        bench.totals.waits[0] =
            std::thread::spawn(|| Some((thread::current(), Duration::ZERO))).join().unwrap();
        bench.now += CROWD_REST_MAX;
        assert!(!bench.is_alone(0), "the beginning of a trial");
        for _ in 0..4 {
            bench.totals.waits[1] = Some((id, Duration::from_secs(9)));
            bench.now += CROWD_TRIAL;
            assert!(!bench.is_alone(0));
        }
    }

    #[test]
    fn a_system_that_does_not_say_is_asked_seldom() {
        let mut bench = Bench::new();
        bench.now += CROWD_TRIAL * 2;
        bench.totals.waits = Default::default();
        assert!(!bench.is_alone(0));
        let readings = bench.readings;
        for _ in 0..10 {
            bench.now += CROWD_REST_MAX / 20;
            assert!(!bench.is_alone(0));
        }
        assert_eq!(bench.readings, readings);
        bench.now += CROWD_REST_MAX;
        assert!(!bench.is_alone(0) && bench.readings == readings + 1);
    }

    #[test]
    fn a_worker_that_polls_as_much_alone_is_alone_for_longer_each_time() {
        let mut bench = Bench::new();
        let mut rest = CROWD_REST_MIN;
        for _ in 0..20 {
            bench.begin_alone();
            assert_eq!(bench.until(false), rest);
            rest = (rest * 2).min(CROWD_REST_MAX);
        }
        assert_eq!(rest, CROWD_REST_MAX);
        // Now the workers have enough processors for a moment.
        bench.trial(false, 100);
        bench.now += CROWD_REST_MIN;
        assert!(!bench.is_alone(0));
        bench.begin_alone();
        assert_eq!(bench.until(false), CROWD_REST_MIN, "after a calm time as at first");
    }

    #[test]
    fn a_worker_that_polls_less_alone_tries_it_less_and_less_often() {
        let mut bench = Bench::new();
        let mut rest = CROWD_REST_MIN;
        bench.begin_alone();
        for _ in 0..20 {
            assert!(!verdict(&mut bench, [80; 2]));
            assert_eq!(bench.until(true), rest + HELP);
            rest = (rest * 4).min(CROWD_REST_MAX);
        }
    }

    #[test]
    fn the_best_trial_counts_and_a_small_difference_says_nothing() {
        let mut bench = Bench::new();
        bench.begin_alone();
        assert!(verdict(&mut bench, [50, 95]), "no worse");
        assert!(verdict(&mut bench, [95, 50]), "no worse again");
        assert!(!verdict(&mut bench, [80; 2]), "the next verdict forgets the trials before");
        assert_eq!(bench.until(true), CROWD_REST_MIN + HELP);
    }

    #[test]
    fn the_better_of_two_trials_with_help_counts() {
        for polls in [[100, 60], [60, 100]] {
            let mut bench = Bench::new();
            assert!(!bench.trial(true, polls[0]) && bench.trial(true, polls[1]));
            assert!(!verdict(&mut bench, [80; 2]));
        }
    }

    #[test]
    fn bursts_without_a_verdict_lead_to_longer_and_longer_help() {
        let mut bench = Bench::new();
        let mut rest = CROWD_REST_MIN;
        for _ in 0..20 {
            bench.begin_alone();
            bench.now += CROWD_TRIAL * 3;
            assert!(!bench.is_alone(0), "a pause has ended the time alone");
            bench.now += rest - CROWD_TRIAL;
            assert!(!bench.is_alone(0));
            bench.now += CROWD_TRIAL;
            assert!(!bench.is_alone(0), "the next trial begins");
            rest = (rest * 2).min(CROWD_REST_MAX);
        }
    }

    #[test]
    fn another_worker_may_go_on_alone() {
        let mut bench = Bench::new();
        bench.begin_alone();
        // Worker 0 sleeps, and worker 1 has the tasks.
        for _ in 0..4 {
            bench.now += CROWD_TRIAL / 2;
            assert!(bench.is_alone(1));
        }
        // Now worker 1 has begun a trial. Its end leads to a verdict.
        bench.now += CROWD_TRIAL / 2;
        assert!(bench.is_alone(1), "the trial is not over");
        bench.now += CROWD_TRIAL / 2;
        bench.totals.polls += 50;
        assert!(!bench.is_alone(1));
    }

    #[test]
    fn a_trial_that_takes_longer_counts_by_its_length() {
        let mut bench = Bench::new();
        bench.begin_alone();
        assert!(bench.trial(true, 0));
        // 120 polls in one and a half times as long.
        bench.now += CROWD_TRIAL / 2;
        assert!(bench.is_alone(0), "the trial is not over");
        assert!(!bench.trial(true, 120));
    }

    #[test]
    fn a_trial_ends_only_by_the_worker_that_began_it() {
        let mut bench = Bench::new();
        assert!(!bench.trial(true, 100));
        bench.now += CROWD_TRIAL * 3 / 2;
        bench.wait(CROWD_TRIAL);
        assert!(!bench.is_alone(1), "worker 1 has not begun it");
        assert!(bench.is_alone(0));
        bench.now += CROWD_TRIAL * 2;
        assert!(!bench.is_alone(1), "worker 1 ends the time alone, because there was a pause");
        bench.now += CROWD_REST_MIN;
        assert!(!bench.is_alone(1), "worker 1 begins a trial");
        for alone in [false, true] {
            bench.now += CROWD_TRIAL;
            bench.wait(CROWD_TRIAL);
            assert_eq!(bench.is_alone(1), alone);
        }
    }
}
