//! Where a worker's time went.

#![forbid(unsafe_code)]

use super::histogram::Times;
use super::labels::{RegionRow, TypeRow};
use blitz_parts::counter::Counter;
use blitz_parts::prim::Mutex;
use blitz_parts::recorder::Recorder;
use blitz_parts::slots::Slots;
use blitz_parts::ticks;
use std::sync::PoisonError;
use std::time::Duration;

/// A worker's recorder and its times. Its own thread writes, any thread reads.
pub(crate) struct Insight {
    pub(crate) recorder: Recorder,
    /// The types of tasks that this worker has polled.
    pub(crate) types: Slots<TypeRow>,
    /// The names of regions that this worker has run.
    pub(crate) regions: Slots<RegionRow>,
    pub(crate) polls: Times,
    /// How long tasks waited between becoming runnable and being polled.
    pub(crate) delays: Times,
    pub(crate) jobs: Times,
    /// How long the worker slept in the driver.
    pub(crate) driver_waits: Times,
    /// How long it took the worker to run after it was woken.
    pub(crate) wakes: Times,
    /// How long the worker looked for work before it stole some.
    pub(crate) steals: Times,
    pub(crate) states: States,
    /// The worker's progress (see `Worker::progress`) when it entered `block_in_place`, plus one;
    /// zero outside of `block_in_place`.
    pub(crate) in_place: Counter,
}

impl Insight {
    /// `bytes` is the size of the recorder.
    pub(crate) fn new(bytes: usize) -> Insight {
        Insight {
            recorder: Recorder::new(bytes),
            types: TypeRow::rows(),
            regions: Slots::new(),
            polls: Times::default(),
            delays: Times::default(),
            jobs: Times::default(),
            driver_waits: Times::default(),
            wakes: Times::default(),
            steals: Times::default(),
            states: States::default(),
            in_place: Counter::new(),
        }
    }
}

/// The states of a worker that runs nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idleness {
    /// It looks for work.
    Search,
    /// It sleeps outside of the driver, or has no thread now.
    Park,
    /// It sleeps in the driver.
    Driver,
}

/// How many ticks a worker has spent in each state.
#[derive(Default)]
pub(crate) struct States {
    /// When the worker began; zero before that.
    begun: Counter,
    /// When the worker began to run nothing; zero while it runs something.
    idle_since: Counter,
    /// Whether the worker sleeps while it runs nothing.
    asleep: Counter,
    idle: [Counter; 3],
    /// Ticks of polls and of jobs, extrapolated. Only their ratio matters.
    pub(crate) polls: Counter,
    pub(crate) jobs: Counter,
    /// The values that readers have returned. Only readers lock it.
    shown: Mutex<Shown>,
}

/// The values that readers have returned for a worker. No later reading returns less.
#[derive(Default)]
struct Shown {
    idle: [Sum; 3],
    busy: u64,
    poll: Busy,
    job: Busy,
}

/// A time in ticks that only grows. It also grows when converted to nanoseconds, although the rate
/// may be refined.
#[derive(Clone, Copy, Default)]
struct Sum {
    ticks: u64,
    nanos: u64,
}

impl Sum {
    fn add(&mut self, ticks: u64) {
        self.ticks += ticks;
        self.nanos += ticks::to_nanos(ticks);
    }

    fn raise_to(&mut self, ticks: u64) {
        self.add(ticks.saturating_sub(self.ticks));
    }

    fn time(&self) -> Duration {
        Duration::from_nanos(self.nanos)
    }
}

/// The part of a worker's polls, or of its jobs, that readers have seen.
#[derive(Default)]
struct Busy {
    /// The ticks of the polls, or jobs, that have ended.
    ended: u64,
    /// Ticks that were credited in advance, because the worker was in a poll or job that had not
    /// ended.
    ahead: u64,
    shown: Sum,
}

impl Busy {
    /// Returns the increase of ended ticks, without the ticks credited in advance.
    fn grow(&mut self, ended: u64) -> u64 {
        let new = ended.saturating_sub(std::mem::replace(&mut self.ended, ended));
        let ahead = if new > 0 { std::mem::take(&mut self.ahead) } else { 0 };
        new.saturating_sub(ahead)
    }

    /// Credits ticks in advance to the poll or job that the worker is in.
    fn go_ahead(&mut self, ticks: u64) {
        self.ahead += ticks;
        self.shown.add(ticks);
    }
}

impl Shown {
    /// Divides the time since the last reading between polls and jobs, in proportion to the polls
    /// and jobs that have ended meanwhile. If none has ended, all of it goes to the kind that the
    /// worker runs now.
    fn divide(&mut self, busy: u64, polls: u64, jobs: u64, is_polling: bool) {
        let grown = busy.saturating_sub(self.busy);
        self.busy = self.busy.max(busy);
        let (polls, jobs) = (self.poll.grow(polls), self.job.grow(jobs));
        match (polls, jobs) {
            (0, 0) if is_polling => self.poll.go_ahead(grown),
            (0, 0) => self.job.go_ahead(grown),
            _ => {
                let poll = share(grown, polls, polls.saturating_add(jobs));
                self.poll.shown.add(poll);
                self.job.shown.add(grown - poll);
            }
        }
    }
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

    /// The time since which the worker has been awake and searching; `None` if it has not noted
    /// that.
    pub(crate) fn searches_since(&self) -> Option<u64> {
        let since = self.idle_since.get();
        (since != 0 && self.asleep.get() == 0).then_some(since)
    }

    /// Whether the worker has noted that it runs nothing.
    pub(crate) fn is_idle(&self) -> bool {
        self.idle_since.get() != 0
    }

    /// Whether the worker has a thread that has not noted that it runs nothing. A worker may never
    /// get a thread: a spawn handler may drop its builder.
    pub(crate) fn is_awake(&self) -> bool {
        self.begun.get() != 0 && !self.is_idle()
    }

    /// Returns the times so far, none less than in an earlier reading. `in_driver` says that the
    /// worker, if it sleeps, sleeps in the driver. `is_polling` says that the worker, if it runs
    /// something, polls.
    pub(crate) fn read(&self, in_driver: bool, is_polling: bool) -> StateTimes {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
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
        shown.divide(busy, self.polls.get(), self.jobs.get(), is_polling);
        // A worker that changes its state meanwhile is seen in no state, or in two.
        for (shown, idle) in shown.idle.iter_mut().zip(idle) {
            shown.raise_to(idle);
        }
        let [search, park, driver] = shown.idle.map(|idle| idle.time());
        let [poll, job] = [shown.poll.shown, shown.job.shown].map(|busy| busy.time());
        StateTimes { poll, job, search, driver, park }
    }
}

/// Returns `whole * part / all`.
fn share(whole: u64, part: u64, all: u64) -> u64 {
    let share = u128::from(whole) * u128::from(part) / u128::from(all.max(1));
    u64::try_from(share).unwrap_or(whole).min(whole)
}

/// How long a worker was in each state, from its start to now.
///
/// Searching and sleeping are measured. The rest is divided between polls and jobs in proportion to
/// those that were timed since the previous reading. No reading returns less than an earlier one.
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
    use super::{Idleness, Shown, States, share};
    use blitz_parts::ticks;
    use std::time::Duration;

    #[test]
    fn a_worker_that_has_not_begun_has_no_time() {
        let times = States::default().read(false, false);
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
        let busy = states.read(false, false);
        assert!(busy.poll > busy.job * 2 && busy.job > Duration::ZERO, "{busy:?}");
        states.begin_idle(begun + 1_000, true);
        let asleep = states.read(true, false);
        assert!(asleep.driver > Duration::ZERO && asleep.park.is_zero(), "{asleep:?}");
        assert!(states.read(false, false).park > Duration::ZERO);
    }

    #[test]
    fn no_reading_says_less_than_one_before() {
        let states = States::default();
        states.begin(ticks::now());
        let mut last = states.read(false, true);
        // Jobs and polls in turns, each much longer than all before. If overall proportions were
        // used, the time of the other kind would shrink.
        for round in 0..20_u32 {
            let ended = if round % 2 == 0 { &states.jobs } else { &states.polls };
            ended.add(1 << round);
            if round % 3 == 0 {
                states.begin_idle(ticks::now(), round % 2 == 0);
            }
            let now = states.read(round % 4 == 0, round % 5 == 0);
            assert!(now.poll >= last.poll && now.job >= last.job, "{last:?}, then {now:?}");
            let idle = |times: super::StateTimes| [times.search, times.driver, times.park];
            assert!(idle(now).iter().zip(idle(last)).all(|(now, last)| *now >= last));
            if round % 3 == 0 {
                states.end_idle(ticks::now(), Idleness::Search);
            }
            last = now;
        }
        assert!(last.poll > Duration::ZERO && last.job > Duration::ZERO);
    }

    fn ticks_of(shown: &Shown) -> (u64, u64) {
        (shown.poll.shown.ticks, shown.job.shown.ticks)
    }

    #[test]
    fn time_is_divided_since_the_last_reading() {
        let mut shown = Shown::default();
        shown.divide(100, 0, 50, false);
        assert_eq!(ticks_of(&shown), (0, 100));
        shown.divide(300, 70, 50, false);
        assert_eq!(ticks_of(&shown), (200, 100));
        // A long poll counts while it lasts, and its end changes nothing.
        shown.divide(800, 70, 50, true);
        assert_eq!(ticks_of(&shown), (700, 100));
        shown.divide(1_000, 570, 250, false);
        assert_eq!(ticks_of(&shown), (700, 300));
        // The clock of another core may be behind.
        shown.divide(900, 570, 250, false);
        assert_eq!(ticks_of(&shown), (700, 300));
    }

    #[test]
    fn shares_do_not_overflow() {
        assert_eq!(share(u64::MAX, u64::MAX, u64::MAX), u64::MAX);
        assert_eq!(share(10, 0, 0), 0);
        assert_eq!(share(10, 1, 4), 2);
    }
}
