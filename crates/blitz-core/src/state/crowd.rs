//! Decides whether a worker with many tasks from the driver wakes another worker.
//!
//! If all processors are taken, perhaps by the clients of a server, a second worker only takes a
//! processor from another thread, and the two workers take turns. Then it can be better if one
//! worker polls all tasks alone. But one worker also gets a smaller share of the processors than
//! two workers. Which is better depends on the other threads, so the pool tries both:
//!
//! ```text
//!          workers wait much, and were helped for long enough
//!   HELPED ─────────────────────────────────────────────────────▶ ALONE
//!      ▲   ◀── the pool polls less than before ───────────────────┤
//!      └────── no worker was woken for long enough ───────────────┘
//! ```
//!
//! Workers *wait much* if, together, they were ready to run without a processor for more than
//! `1 / CROWD_WAIT_PART` of a trial ([`CROWD_WAIT_PART`]). So a pool that has enough processors
//! stays HELPED. While the pool is ALONE, it compares polls every [`CROWD_VERDICT`]: the best of
//! the trials since the last comparison with the last HELPED trial.
//!
//! After a time ALONE that was worse, the pool is HELPED for a while before it tries to be ALONE
//! again. This while is four times as long after each further time that was worse. After a time
//! ALONE that was no worse, the next time ALONE is twice as long.

#![forbid(unsafe_code)]

use blitz_parts::prim::Instant;
use blitz_parts::tuning::{
    CROWD_NO_WORSE, CROWD_REST_MAX, CROWD_REST_MIN, CROWD_TRIAL, CROWD_VERDICT, CROWD_WAIT_PART,
};
use std::mem;
use std::time::Duration;

/// What a pool knows about the competition for processors.
pub(crate) struct Crowd {
    mode: Mode,
    /// The begin of the current trial.
    begin: Option<Begin>,
    /// How long the next time alone takes.
    alone_for: Duration,
    /// How long workers are helped after a time alone that was worse.
    helped_for: Duration,
}

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    /// How long the workers that were asked were ready to run, but had no processor; zero if the
    /// system does not say.
    pub(crate) waited: Duration,
    /// Polls of all workers of the pool.
    pub(crate) polls: u64,
}

#[derive(Clone, Copy)]
enum Mode {
    /// Workers wake others. None tries to be alone before this moment.
    Helped(Option<Instant>),
    /// No worker wakes another.
    Alone(Alone),
}

/// A time in which no worker wakes another.
#[derive(Clone, Copy)]
struct Alone {
    until: Instant,
    /// The polls of the last trial with help.
    helped: f64,
    /// The most polls of a trial since the last verdict. The worker may begin on the processor of a
    /// client, and the system needs some trials to move it.
    best: f64,
    /// When the next verdict is due.
    verdict: Instant,
}

/// The begin of a trial.
///
/// The worker that began a trial also ends it. The end of another worker could not be compared:
/// each worker adds up the waits of other workers than the next (see [`Totals`]).
#[derive(Clone, Copy)]
struct Begin {
    worker: usize,
    at: Instant,
    totals: Totals,
}

impl Crowd {
    pub(crate) fn new() -> Crowd {
        Crowd {
            mode: Mode::Helped(None),
            begin: None,
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
        let passed = |begin: Begin| now.saturating_duration_since(begin.at);
        let begin = self.begin.filter(|&begin| passed(begin) < CROWD_TRIAL * 2);
        match begin {
            Some(begin) if begin.worker != worker || passed(begin) < CROWD_TRIAL => {}
            _ => {
                let totals = totals();
                self.mode = match (begin, self.mode) {
                    (Some(begin), _) => self.judge(now, &Trial::new(begin, now, totals)),
                    // The worker that began the trial has not ended it in time, because it had few
                    // tasks. So nothing is known.
                    (None, Mode::Alone(_)) => Mode::Helped(None),
                    (None, helped) => helped,
                };
                self.begin = Some(Begin { worker, at: now, totals });
            }
        }
        matches!(self.mode, Mode::Alone(_))
    }

    /// Returns the mode that follows a trial.
    fn judge(&mut self, now: Instant, trial: &Trial) -> Mode {
        let verdict = now + CROWD_VERDICT;
        let mut alone = match self.mode {
            Mode::Alone(alone) => alone,
            Mode::Helped(until) if trial.waits_much && until.is_none_or(|until| now >= until) => {
                let until = now + self.alone_for;
                return Mode::Alone(Alone { until, helped: trial.polls, best: 0.0, verdict });
            }
            helped => return helped,
        };
        alone.best = alone.best.max(trial.polls);
        if now < alone.verdict {
            return Mode::Alone(alone);
        }
        if alone.best < alone.helped * CROWD_NO_WORSE {
            self.alone_for = CROWD_REST_MIN;
            return Mode::Helped(Some(now + multiply(&mut self.helped_for, 4)));
        }
        if now < alone.until {
            return Mode::Alone(Alone { best: 0.0, verdict, ..alone });
        }
        self.helped_for = CROWD_REST_MIN;
        multiply(&mut self.alone_for, 2);
        Mode::Helped(None)
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
    fn new(begin: Begin, end: Instant, totals: Totals) -> Trial {
        let passed = end.saturating_duration_since(begin.at);
        let waited = totals.waited.saturating_sub(begin.totals.waited);
        let polls = totals.polls.saturating_sub(begin.totals.polls) as f64;
        Trial {
            waits_much: waited * CROWD_WAIT_PART > passed,
            polls: polls * CROWD_TRIAL.as_secs_f64() / passed.as_secs_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Crowd, Totals};
    use blitz_parts::prim::Instant;
    use blitz_parts::tuning::{CROWD_REST_MAX, CROWD_REST_MIN, CROWD_TRIAL};
    use std::time::Duration;

    /// A pool beside other threads. Only worker 0 asks, unless a test says otherwise.
    struct Bench {
        crowd: Crowd,
        now: Instant,
        totals: Totals,
    }

    impl Bench {
        fn new() -> Bench {
            let totals = Totals::default();
            let mut bench = Bench { crowd: Crowd::new(), now: Instant::now(), totals };
            assert!(!bench.is_alone(0), "nothing is known yet");
            bench
        }

        fn is_alone(&mut self, worker: usize) -> bool {
            self.crowd.is_better_alone(worker, self.now, || self.totals)
        }

        /// Lets a trial pass with this many polls. Workers wait for half of it, or not at all.
        /// Returns the new mode.
        fn trial(&mut self, waits: bool, polls: u64) -> bool {
            self.now += CROWD_TRIAL;
            self.totals.waited += if waits { CROWD_TRIAL / 2 } else { Duration::ZERO };
            self.totals.polls += polls;
            self.is_alone(0)
        }

        /// Lets trials pass, with waits and equal polls, until the pool is alone, or is not alone,
        /// as `alone` says. Returns how long that took.
        fn until(&mut self, alone: bool) -> Duration {
            let begin = self.now;
            while self.trial(true, 100) != alone {}
            self.now - begin
        }
    }

    #[test]
    fn a_pool_that_has_enough_processors_is_always_helped() {
        let mut bench = Bench::new();
        assert!((0..1_000).all(|_| !bench.trial(false, 100)));
    }

    #[test]
    fn a_worker_that_polls_as_much_alone_is_alone_for_longer_each_time() {
        let mut bench = Bench::new();
        let mut rest = CROWD_REST_MIN;
        for _ in 0..20 {
            assert!(bench.trial(true, 100), "one trial with help");
            assert_eq!(bench.until(false), rest);
            rest = (rest * 2).min(CROWD_REST_MAX);
        }
        assert_eq!(rest, CROWD_REST_MAX);
    }

    /// Lets a time alone pass until a verdict, with these polls per trial. Returns the new mode.
    fn verdict(bench: &mut Bench, polls: [u64; 2]) -> bool {
        assert!(bench.trial(true, polls[0]), "no verdict yet");
        bench.trial(true, polls[1])
    }

    #[test]
    fn a_worker_that_polls_less_alone_tries_it_less_and_less_often() {
        let mut bench = Bench::new();
        let mut rest = CROWD_REST_MIN;
        assert!(bench.trial(true, 100));
        for _ in 0..20 {
            assert!(!verdict(&mut bench, [80; 2]));
            assert_eq!(bench.until(true), rest);
            rest = (rest * 4).min(CROWD_REST_MAX);
        }
    }

    #[test]
    fn the_best_trial_counts_and_a_small_difference_says_nothing() {
        let mut bench = Bench::new();
        assert!(bench.trial(true, 100));
        assert!(verdict(&mut bench, [50, 95]), "no worse");
        assert!(verdict(&mut bench, [95, 50]), "no worse again");
        assert!(!verdict(&mut bench, [80; 2]), "the next verdict forgets the trials before");
        assert_eq!(bench.until(true), CROWD_REST_MIN);
    }

    #[test]
    fn a_pause_ends_a_time_alone_but_not_the_wait_for_the_next() {
        let mut bench = Bench::new();
        assert!(bench.trial(true, 100));
        bench.now += CROWD_TRIAL * 3;
        assert!(!bench.is_alone(0));
        assert!(bench.trial(true, 100), "it was not worse");
        assert!(!verdict(&mut bench, [50; 2]));
        bench.now += CROWD_TRIAL * 2;
        assert!(!bench.is_alone(0) && !bench.trial(true, 100), "it was worse a moment ago");
    }

    #[test]
    fn a_trial_that_takes_longer_counts_by_its_length() {
        let mut bench = Bench::new();
        assert!(bench.trial(true, 100));
        assert!(bench.trial(true, 0));
        // 120 polls in one and a half times as long.
        bench.now += CROWD_TRIAL / 2;
        assert!(bench.is_alone(0), "the trial is not over");
        assert!(!bench.trial(true, 120));
    }

    #[test]
    fn a_trial_ends_only_by_the_worker_that_began_it() {
        let mut bench = Bench::new();
        bench.now += CROWD_TRIAL * 3 / 2;
        bench.totals.waited += CROWD_TRIAL;
        assert!(!bench.is_alone(1), "worker 1 has not begun it");
        assert!(bench.is_alone(0));
        bench.now += CROWD_TRIAL * 2;
        assert!(!bench.is_alone(1), "worker 1 begins a trial, because worker 0 is gone");
        bench.now += CROWD_TRIAL;
        bench.totals.waited += CROWD_TRIAL;
        assert!(bench.is_alone(1));
    }
}
