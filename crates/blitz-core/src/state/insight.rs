//! Where a worker's time went.

#![forbid(unsafe_code)]

use super::histogram::Times;
use super::labels::TypeRow;
use blitz_parts::counter::Counter;
use blitz_parts::recorder::Recorder;
use blitz_parts::slots::Slots;
use blitz_parts::ticks;
use std::time::Duration;

/// A worker's recorder and its times. Its own thread writes, any thread reads.
pub(crate) struct Insight {
    pub(crate) recorder: Recorder,
    /// The types of tasks that this worker has polled.
    pub(crate) types: Slots<TypeRow>,
    pub(crate) polls: Times,
    /// Between becoming runnable and being polled.
    pub(crate) delays: Times,
    pub(crate) jobs: Times,
    /// In the driver.
    pub(crate) driver_waits: Times,
    /// Between being woken and running.
    pub(crate) wakes: Times,
    pub(crate) states: States,
}

impl Insight {
    /// `bytes`: of the recorder.
    pub(crate) fn new(bytes: usize) -> Insight {
        Insight {
            recorder: Recorder::new(bytes),
            types: TypeRow::rows(),
            polls: Times::default(),
            delays: Times::default(),
            jobs: Times::default(),
            driver_waits: Times::default(),
            wakes: Times::default(),
            states: States::default(),
        }
    }
}

/// What a worker does when it runs nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idleness {
    /// It looks for work.
    Search,
    /// It sleeps on its word.
    Park,
    /// It sleeps in the driver.
    Driver,
}

/// How many ticks a worker has spent in each state.
#[derive(Default)]
pub(crate) struct States {
    /// When it began; zero before that.
    begun: Counter,
    /// Since when it runs nothing; zero while it runs something.
    idle_since: Counter,
    /// Whether it sleeps then.
    asleep: Counter,
    idle: [Counter; 3],
    /// Ticks of polls and of jobs, extrapolated: only their proportion counts.
    pub(crate) polls: Counter,
    pub(crate) jobs: Counter,
}

impl States {
    /// Notes that a thread becomes the worker. If the worker had a thread before, it slept until
    /// now.
    pub(crate) fn begin(&self, now: u64) {
        if self.begun.get() == 0 {
            self.begun.set(now);
        }
        self.end_idle(now, Idleness::Park);
    }

    /// Notes that the thread is no longer the worker.
    pub(crate) fn end(&self, now: u64) {
        self.begin_idle(now, true);
    }

    /// Notes that the worker runs nothing from now on.
    pub(crate) fn begin_idle(&self, now: u64, asleep: bool) {
        self.asleep.set(u64::from(asleep));
        self.idle_since.set(now);
    }

    /// Ends an idle phase, which was spent as `was`; returns how many ticks it took.
    pub(crate) fn end_idle(&self, now: u64, was: Idleness) -> u64 {
        let since = self.idle_since.get();
        self.idle_since.set(0);
        let passed = if since == 0 { 0 } else { now.saturating_sub(since) };
        self.idle[was as usize].add(passed);
        passed
    }

    /// Whether the worker has noted that it runs nothing.
    pub(crate) fn is_idle(&self) -> bool {
        self.idle_since.get() != 0
    }

    /// Returns the times so far; `in_driver`: if the worker sleeps, it sleeps in the driver.
    pub(crate) fn read(&self, in_driver: bool) -> StateTimes {
        let (begun, since) = (self.begun.get(), self.idle_since.get());
        let now = ticks::now();
        let mut idle = [0, 1, 2].map(|state| self.idle[state].get());
        if since != 0 {
            let state = match (self.asleep.get() != 0, in_driver) {
                (false, _) => Idleness::Search,
                (true, false) => Idleness::Park,
                (true, true) => Idleness::Driver,
            };
            idle[state as usize] += now.saturating_sub(since);
        }
        let all = if begun == 0 { 0 } else { now.saturating_sub(begun) };
        let busy = all.saturating_sub(idle.iter().sum());
        let (polls, jobs) = (self.polls.get(), self.jobs.get());
        let poll = match (polls, jobs) {
            (0, _) => 0,
            (_, 0) => busy,
            _ => share(busy, polls, polls.saturating_add(jobs)),
        };
        let [search, park, driver] = idle.map(ticks::to_duration);
        let (poll, job) = (ticks::to_duration(poll), ticks::to_duration(busy - poll));
        StateTimes { poll, job, search, driver, park }
    }
}

/// Returns `whole * part / all`.
fn share(whole: u64, part: u64, all: u64) -> u64 {
    let share = u128::from(whole) * u128::from(part) / u128::from(all.max(1));
    u64::try_from(share).unwrap_or(whole).min(whole)
}

/// How long a worker was in each state, from its begin to now.
///
/// Searching and sleeping are measured. What is left is divided between polls and jobs by those
/// that were timed.
///
/// ```
/// let pool = blitz::Pool::builder().workers(1).build().unwrap();
/// pool.install(|| ());
/// let time = pool.metrics().workers[0].time;
/// assert!(time.poll + time.job + time.search + time.driver + time.park > std::time::Duration::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateTimes {
    /// Polling tasks.
    pub poll: Duration,
    /// Running jobs.
    pub job: Duration,
    /// Looking for work.
    pub search: Duration,
    /// Sleeping in the driver.
    pub driver: Duration,
    /// Sleeping elsewhere.
    pub park: Duration,
}

impl StateTimes {
    pub(crate) fn add(&mut self, other: &StateTimes) {
        self.poll += other.poll;
        self.job += other.job;
        self.search += other.search;
        self.driver += other.driver;
        self.park += other.park;
    }
}

#[cfg(test)]
mod tests {
    use super::{Idleness, States, share};
    use blitz_parts::ticks;
    use std::time::Duration;

    #[test]
    fn a_worker_that_has_not_begun_has_no_time() {
        let times = States::default().read(false);
        assert_eq!(times, super::StateTimes::default());
    }

    #[test]
    fn sleep_that_goes_on_counts_and_the_rest_is_divided() {
        let states = States::default();
        let now = ticks::now();
        let begun = now.saturating_sub(1_000_000);
        states.begin(begun);
        states.end(begun + 10);
        states.begin(begun + 40);
        assert_eq!(states.idle[Idleness::Park as usize].get(), 30);
        states.idle[Idleness::Park as usize].set(0);
        states.begin_idle(begun + 100, false);
        assert!(states.is_idle());
        assert_eq!(states.end_idle(begun + 300, Idleness::Search), 200);
        assert!(!states.is_idle());
        states.polls.add(3);
        states.jobs.add(1);
        let busy = states.read(false);
        assert!(busy.poll > busy.job * 2 && busy.job > Duration::ZERO, "{busy:?}");
        states.begin_idle(begun + 1_000, true);
        let asleep = states.read(true);
        assert!(asleep.driver > Duration::ZERO && asleep.park.is_zero(), "{asleep:?}");
        assert!(states.read(false).park > Duration::ZERO);
    }

    #[test]
    fn shares_do_not_overflow() {
        assert_eq!(share(u64::MAX, u64::MAX, u64::MAX), u64::MAX);
        assert_eq!(share(10, 0, 0), 0);
        assert_eq!(share(10, 1, 4), 2);
    }
}
