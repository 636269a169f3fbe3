//! Whether there are more threads to run than cores: then a worker that is woken only takes somebody's core.
//!
//! A worker that has more tasks than it is done with at once wakes another for them. If the cores are taken, by
//! whoever sends the requests perhaps, the two then wait for each other. So while it has help a worker looks, every few
//! milliseconds, at how long the system has let it wait for a core. If that is a large part of the time it goes
//! without help for a while, twice as long after each time that help was in vain.

#![forbid(unsafe_code)]

use blitz_parts::prim::{self, Instant};
use blitz_parts::tuning::{CROWD_REST_MAX, CROWD_REST_MIN, CROWD_TRIAL, CROWD_WAIT_PART};
use std::cell::Cell;
use std::time::Duration;

/// What one worker knows about the cores. Its own thread only.
#[derive(Default)]
pub(crate) struct Crowd {
    /// How the last question was answered.
    crowded: Cell<bool>,
    /// When that was, and for how long the thread had waited for a core until then.
    asked: Cell<Option<(Instant, Duration)>>,
    /// How long a worker goes without help from then on.
    rest: Cell<Duration>,
}

impl Crowd {
    /// Whether somebody who is woken now would only take a core from others. `waited`: for how long the thread
    /// has waited for a core since it started, if the system tells.
    pub(crate) fn is_crowded(
        &self,
        now: Instant,
        waited: impl FnOnce() -> Option<Duration>,
    ) -> bool {
        let was = self.crowded.get();
        let last = self.asked.get();
        let passed = last.map_or(Duration::MAX, |(asked, _)| now.saturating_duration_since(asked));
        if passed < if was { self.rest.get() } else { CROWD_TRIAL } {
            return was;
        }
        // Who does not tell is asked once in a while, which costs little.
        let total = waited().unwrap_or_default();
        self.asked.set(Some((now, total)));
        // A longer time says nothing: most of it the worker had nothing to do.
        let crowded = match last {
            Some((_, before)) if !was && passed < CROWD_TRIAL * 2 => {
                let crowded = total.saturating_sub(before) * CROWD_WAIT_PART > passed;
                let rest = self.rest.get();
                self.rest.set(if crowded {
                    (rest * 2).clamp(CROWD_REST_MIN, CROWD_REST_MAX)
                } else {
                    // Not all at once: somebody else may have been the one that waited.
                    rest / 2
                });
                crowded
            }
            _ => false,
        };
        self.crowded.set(crowded);
        crowded
    }
}

/// For how long this thread could have run but had no core, if the system tells: Linux does.
pub(crate) fn waited_for_core() -> Option<Duration> {
    waited(&prim::schedstat()?)
}

/// Such a line has nanoseconds on a core, nanoseconds of waiting for one, and how often it got one.
fn waited(schedstat: &str) -> Option<Duration> {
    schedstat.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::{Crowd, waited};
    use blitz_parts::prim::Instant;
    use blitz_parts::tuning::{CROWD_REST_MAX, CROWD_REST_MIN, CROWD_TRIAL};
    use std::time::Duration;

    /// A crowd, the time, and how long the thread has waited for a core until then.
    struct Test {
        crowd: Crowd,
        now: Instant,
        waited: Duration,
    }

    impl Test {
        fn new() -> Test {
            let test =
                Test { crowd: Crowd::default(), now: Instant::now(), waited: Duration::ZERO };
            assert!(!test.is_crowded(), "nothing is known yet");
            test
        }

        fn is_crowded(&self) -> bool {
            self.crowd.is_crowded(self.now, || Some(self.waited))
        }

        /// Lets a trial pass, for which the thread had a core or half of one.
        fn trial(&mut self, has_core: bool) -> bool {
            self.now += CROWD_TRIAL;
            self.waited += if has_core { Duration::ZERO } else { CROWD_TRIAL / 2 };
            self.is_crowded()
        }

        /// How long the worker goes without help.
        fn rest(&mut self) -> Duration {
            let start = self.now;
            while self.is_crowded() {
                self.now += CROWD_TRIAL;
            }
            self.now - start
        }
    }

    #[test]
    fn help_in_vain_is_tried_half_as_often_down_to_a_limit() {
        let mut test = Test::new();
        let mut rest = CROWD_REST_MIN;
        for _ in 0..20 {
            assert!(test.trial(false));
            assert_eq!(test.rest(), rest);
            rest = (rest * 2).min(CROWD_REST_MAX);
        }
        assert_eq!(rest, CROWD_REST_MAX);
    }

    #[test]
    fn help_that_takes_nobodys_core_makes_it_start_anew() {
        let mut test = Test::new();
        for _ in 0..5 {
            assert!(test.trial(false));
            assert!(test.rest() >= CROWD_REST_MIN);
        }
        for _ in 0..10 {
            assert!(!test.trial(true));
        }
        assert!(test.trial(false));
        assert_eq!(test.rest(), CROWD_REST_MIN);
    }

    #[test]
    fn what_was_long_ago_says_nothing() {
        let mut test = Test::new();
        test.now += CROWD_TRIAL * 100;
        test.waited += CROWD_TRIAL * 99;
        assert!(!test.is_crowded());
        assert!(!test.trial(true));
    }

    #[test]
    fn a_system_that_does_not_tell_has_no_crowd() {
        let (crowd, start) = (Crowd::default(), Instant::now());
        for millis in 0..100 {
            assert!(!crowd.is_crowded(start + Duration::from_millis(millis), || None));
        }
    }

    #[test]
    fn the_system_tells_in_nanoseconds() {
        assert_eq!(waited("203 2608329 1\n"), Some(Duration::from_nanos(2_608_329)));
        assert_eq!(waited("203"), None);
        assert_eq!(waited("a b c"), None);
    }
}
