//! The watch: a thread that looks after what a stuck worker leaves behind: its LIFO slot and the
//! driver.
//!
//! A task in a LIFO slot is polled as soon as its owner is done with the task that woke it; nobody
//! else is told of it. If the owner computes or blocks in there, perhaps waiting for that very
//! task, then the watch, which looks once per millisecond, moves the task to the queue. In the same
//! way it wakes another worker for the tasks in the ring of one that is stuck, for nobody may have
//! been told of those that the driver woke; and if the worker that left the driver is not back.
//! While workers rush through short polls it looks less often: a look takes a core from somebody.
//!
//! The watch starts when it is first needed, sleeps without a timer while no slot or ring is in use
//! and somebody is in the driver, and never works itself. A pool with one worker has none: there is
//! nobody else.

#![forbid(unsafe_code)]

use super::share::schedule_from_outside;
use crate::team::Team;
use blitz_parts::prim::park_for;
use blitz_parts::prim::thread::{self, Thread};
use blitz_parts::tuning::{WATCH_BRISK_POLLS, WATCH_LOOKS_IDLE, WATCH_PERIOD, WATCH_PERIOD_MAX};
use blitz_parts::watch::{Need, Next};
use std::io;
use std::sync::PoisonError;
use std::time::Duration;

/// What a look finds where something can be left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Finding {
    /// Nothing is left.
    Nothing,
    /// Much has happened since the last look.
    Brisk,
    /// Little has, or nothing at all.
    Slow,
}

/// How long the watch waits between two looks.
struct Pace(Duration);

impl Pace {
    fn new() -> Pace {
        Pace(WATCH_PERIOD)
    }

    /// A look has found these. Only tasks that are brisk make it slower: a free lease alone may
    /// belong to a worker that has just got stuck.
    fn adapt(&mut self, tasks: Finding, lease: Finding) {
        self.0 = match (tasks, lease) {
            (Finding::Brisk, Finding::Nothing | Finding::Brisk) => {
                (self.0 * 2).min(WATCH_PERIOD_MAX)
            }
            _ => WATCH_PERIOD,
        };
    }

    fn wait(&self) {
        // Only time tells whether a worker is stuck.
        park_for(self.0);
    }
}

/// A worker has just filled its LIFO slot.
#[inline]
pub(crate) fn lifo_in_use(team: &Team) {
    meet(team, team.watch.need());
}

/// A worker has just left the driver.
pub(crate) fn lease_is_free(team: &Team) {
    meet(team, team.watch.need());
}

#[inline]
fn meet(team: &Team, need: Need) {
    if need == Need::Wake {
        team.watch.wake(|| start(team));
    }
}

/// Makes every worker publish each fork and use ordinary fences, if the system has refused the
/// heavy fence since the last call. A sleeper calls it between that fence and its last look.
/// Several threads may do this at once; each has done all of it before it looks.
pub(crate) fn notice_refused_fence(team: &Team) {
    team.notice_refused_fence(|| {
        team.publish_all();
        // For owners that do not know yet that the fence is refused the watch stays on.
        meet(team, team.watch.become_symmetric());
    });
}

fn start(team: &Team) -> io::Result<Thread> {
    let watched = team.arc();
    let builder = thread::Builder::new().name("blitz-watch".to_owned());
    let handle = builder.spawn(move || run(&watched))?;
    let thread = handle.thread().clone();
    team.threads.lock().unwrap_or_else(PoisonError::into_inner).push(handle);
    Ok(thread)
}

fn run(team: &Team) {
    let mut polls: Vec<u64> = Vec::new();
    let mut lease_free_since = None;
    let mut idle_looks = 0;
    let mut pace = Pace::new();
    loop {
        match team.watch.next() {
            Next::End => return,
            // A worker that fills a slot turns the watch on and unparks it.
            Next::Park => {
                thread::park();
                continue;
            }
            Next::Look => {}
        }
        pace.wait();
        let tasks = rescue_tasks(team, &mut polls);
        let lease = fill_lease(team, &mut lease_free_since);
        pace.adapt(tasks, lease);
        let in_use = tasks.max(lease) > Finding::Nothing;
        idle_looks = if in_use { 0 } else { idle_looks + 1 };
        if idle_looks >= WATCH_LOOKS_IDLE && turn_watch_off(team) {
            idle_looks = 0;
        }
    }
}

/// Sees to tasks that wait behind the same poll as in the last look: moves those in slots, wakes
/// somebody for those in rings. Says how the slowest gets on, of those that have any or are so fast
/// that they may have some at any time.
fn rescue_tasks(team: &Team, polls: &mut Vec<u64>) -> Finding {
    let mut finding = Finding::Nothing;
    polls.resize(team.num_workers(), u64::MAX);
    for (worker, seen) in team.workers().zip(polls) {
        let now = worker.queues.counters.polled.get();
        let before = std::mem::replace(seen, now);
        if now.saturating_sub(before) >= WATCH_BRISK_POLLS {
            finding = finding.max(Finding::Brisk);
            continue;
        }
        if !worker.queues.has_any() {
            continue;
        }
        finding = Finding::Slow;
        if before != now {
            continue;
        }
        if let Some(task) = worker.queues.rescue() {
            worker.queues.counters.rescued.add_shared(1);
            schedule_from_outside(team, task);
        } else if team.config.stealing {
            // It finds the ring, as whoever looks for work does.
            team.sleep().relieve();
        }
    }
    finding
}

/// Has somebody sit down in the driver, if nobody has been there since the last look.
fn fill_lease(team: &Team, left_at: &mut Option<usize>) -> Finding {
    let now = team.sleep().lease_free_since();
    if std::mem::replace(left_at, now) != now {
        return now.map_or(Finding::Nothing, |_| Finding::Brisk);
    }
    if now.is_none() {
        return Finding::Nothing;
    }
    team.sleep().relieve();
    Finding::Slow
}

/// Says whether the watch is off: not, if a slot was filled meanwhile, and never after the system
/// has refused the heavy fence.
fn turn_watch_off(team: &Team) -> bool {
    team.watch.rest(|| {
        team.sleep().lease_is_free() || team.workers().any(|worker| worker.queues.has_any())
    })
}

#[cfg(test)]
mod tests {
    use super::Finding::{Brisk, Nothing, Slow};
    use super::Pace;
    use blitz_parts::tuning::{WATCH_PERIOD, WATCH_PERIOD_MAX};

    #[test]
    fn the_watch_looks_less_often_while_workers_rush_through_their_tasks() {
        let mut pace = Pace::new();
        let mut last = pace.0;
        while pace.0 < WATCH_PERIOD_MAX {
            pace.adapt(Brisk, Brisk);
            assert_eq!(pace.0, (last * 2).min(WATCH_PERIOD_MAX));
            last = pace.0;
        }
        pace.adapt(Brisk, Nothing);
        assert_eq!(pace.0, WATCH_PERIOD_MAX);
    }

    #[test]
    fn one_slow_worker_or_an_empty_lease_makes_it_look_as_often_as_before() {
        let unlike_brisk =
            [(Slow, Nothing), (Slow, Brisk), (Brisk, Slow), (Nothing, Brisk), (Nothing, Nothing)];
        for (tasks, lease) in unlike_brisk {
            let mut pace = Pace(WATCH_PERIOD_MAX);
            pace.adapt(tasks, lease);
            assert_eq!(pace.0, WATCH_PERIOD, "{tasks:?} tasks, {lease:?} lease");
        }
    }
}
