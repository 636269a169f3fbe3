//! The watch: a thread that looks for stuck workers.
//!
//! It passes the tasks, the driver and the seat of a stuck worker on to others.
//!
//! A worker is stuck if it is inside a poll or job and has begun no other poll or job between two
//! looks, which are about a millisecond apart. In that case:
//!
//! | what waits | what the watch does |
//! |---|---|
//! | an unannounced task in the LIFO slot of the stuck worker | moves it to the queue |
//! | tasks in its ring, or no worker in the driver | wakes a sleeper; if all workers are busy, calls the relief worker |
//! | any work, and the stuck worker is blocked: it computes nothing | gives its seat to a spare |
//! | any work, and no worker has come back from its computation for a tenth of a second | gives one seat to a spare, the next after twice as long |
//! | work for a free seat, and only the spare on relief is left | gives the seat to that spare |
//! | anything behind the relief worker, which is stuck itself | gives it a seat, and calls the next spare |
//!
//! While workers run many short polls the watch looks less often, because a look takes a core from
//! one of them.
//!
//! The watch starts when it is first needed, sleeps without a timer while nothing waits and a
//! worker is in the driver, and never works itself. A worker that fills its LIFO slot turns the
//! watch on, and so does a worker that leaves the driver. If the pool may have spares, each job
//! that is pushed, and each task that a worker leaves behind, turns the watch on, too; forks alone
//! do not. If stalls are reported to the user, each worker that begins to work turns the watch on,
//! and the watch looks while any worker is awake.

#![forbid(unsafe_code)]

use super::relief::is_last_for_a_seat;
use super::stall::{kind_of, sample, submit};
use crate::sched::schedule_from_outside;
use crate::sched::work::has_work;
use crate::state::{Duty, Sight};
use crate::team::{Team, Worker};
use blitz_parts::prim::thread::{self, Thread};
use blitz_parts::prim::{SeqCst, Step, broken, fence, park_for};
use blitz_parts::thread as system_thread;
use blitz_parts::tuning::{
    COMPUTE_SLICE, RELIEF_SLICE, STALL_LOOKS, STALL_LOOKS_HALF, STALL_LOOKS_REPORT,
    WATCH_BRISK_POLLS, WATCH_COMPUTES, WATCH_LOOKS_DOZED, WATCH_LOOKS_HOGGED, WATCH_LOOKS_IDLE,
    WATCH_LOOKS_READY, WATCH_PERIOD, WATCH_PERIOD_MAX,
};
use blitz_parts::watch::Next;
use std::io;
use std::sync::PoisonError;
use std::time::Duration;

/// The result of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Finding {
    /// There is nothing to look after. For tasks: none wait. For the lease: it is not free.
    Nothing,
    /// Much has happened since the last look.
    Brisk,
    /// Little has happened, or nothing at all.
    Slow,
}

/// How long the watch waits between two looks.
struct Pace(Duration);

impl Pace {
    fn new() -> Pace {
        Pace(WATCH_PERIOD)
    }

    /// Adapts the pace to what a look has found. Only brisk tasks make the watch slower: a free
    /// lease alone may mean that a worker has just got stuck.
    fn adapt(&mut self, tasks: Finding, lease: Finding) {
        self.0 = match (tasks, lease) {
            (Finding::Brisk, Finding::Nothing | Finding::Brisk) => {
                (self.0 * 2).min(WATCH_PERIOD_MAX)
            }
            _ => WATCH_PERIOD,
        };
    }

    fn wait(&self) {
        // Time has to pass to see whether a worker is stuck.
        park_for(self.0);
    }
}

/// Starts the watch.
pub(super) fn start(team: &Team) -> io::Result<Thread> {
    let watched = team.arc();
    let builder = thread::Builder::new().name("blitz-watch".to_owned());
    let handle = builder.spawn(move || run(&watched))?;
    let thread = handle.thread().clone();
    team.threads.lock().unwrap_or_else(PoisonError::into_inner).push(handle);
    Ok(thread)
}

fn run(team: &Team) {
    team.watch.begin_here();
    // Set a slice so that the watch runs in time although all processors are busy.
    system_thread::set_slice(system_thread::current(), Some(RELIEF_SLICE));
    let mut seen = Vec::new();
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
        let tasks = look_after_workers(team, &mut seen);
        relieve_if_hogged(team, &mut seen);
        fill_seats(team);
        let lease = fill_lease(team, &mut lease_free_since);
        pace.adapt(tasks, lease);
        let in_use = tasks.max(lease) > Finding::Nothing
            || has_work(team) && is_any_there(team)
            || may_have_to_report(team);
        idle_looks = if in_use { 0 } else { idle_looks + 1 };
        if idle_looks >= WATCH_LOOKS_IDLE && turn_watch_off(team) {
            idle_looks = 0;
        }
    }
}

/// Whether stuck workers are reported to the user and some worker is awake, and so may get stuck. A
/// worker that stops looking for work notifies the watch first.
fn may_have_to_report(team: &Team) -> bool {
    let is_awake = |worker: &Worker| {
        worker.bed().serves() && worker.insight.states.is_awake() && is_there(team, worker)
    };
    team.reports_stalls && team.workers().any(is_awake)
}

/// The last look at a worker.
#[derive(Clone, Default)]
struct Seen {
    polls: u64,
    /// Polls and jobs that it had begun.
    begun: u64,
    /// The processor time that it had used, if it was stuck or on relief.
    used: Option<Duration>,
    /// In how many looks in a row it was stuck.
    looks: u32,
    /// In how many looks in a row it was blocked, and had used hardly any processor time.
    dozed: u32,
    /// Whether a spare has this worker's seat although the worker computes.
    is_hogged: bool,
    /// How long it has been in the same poll or job without a fork.
    stall: Stall,
}

/// A phase in which a worker makes no progress at all.
#[derive(Clone, Copy, Default)]
struct Stall {
    progress: u64,
    /// The number of looks in this phase.
    looks: u32,
    /// The first of these looks.
    sight: Sight,
}

impl Seen {
    /// Takes a new look; returns how many polls there were since the last look.
    fn look(&mut self, worker: &Worker) -> u64 {
        let polls = worker.queues.counters.polled.get();
        let begun = polls + worker.counters.executed.get();
        let since = polls.saturating_sub(self.polls);
        let stuck = begun == self.begun && worker.is_in_work();
        (self.polls, self.begun) = (polls, begun);
        if stuck {
            self.looks = self.looks.saturating_add(1);
        } else {
            (self.looks, self.dozed, self.stall.looks) = (0, 0, 0);
            (self.is_hogged, self.used) = (false, None);
        }
        since
    }

    /// Counts the worker as stalled, and requests a report, if it has made no progress for long. A
    /// worker that sleeps inside a poll or job waits and is not stuck.
    fn note_stall(&mut self, team: &Team, worker: &Worker) {
        let (stall, progress) = (&mut self.stall, worker.progress());
        if std::mem::replace(&mut stall.progress, progress) != progress || !worker.is_busy() {
            stall.looks = 0;
            return;
        }
        stall.looks = stall.looks.saturating_add(1);
        match stall.looks {
            1 => stall.sight = Sight::new(progress),
            STALL_LOOKS_HALF => stall.sight.sample = sample(worker),
            STALL_LOOKS => {
                let sight = team.stalls.keep(worker.index(), stall.sight);
                team.note_stall(worker, stall.looks, kind_of(worker, sight));
            }
            STALL_LOOKS_REPORT if team.config.reports_by_words() => {
                submit(team, worker.index(), stall.sight);
            }
            _ => {}
        }
    }

    fn is_stuck(&self) -> bool {
        self.looks > 0
    }

    /// Notes the processor time that the worker has used; returns what it had used at the last
    /// look.
    fn note_used(&mut self, worker: &Worker) -> Option<Duration> {
        let used = worker.seat.thread().and_then(system_thread::time_used);
        std::mem::replace(&mut self.used, used)
    }

    /// What the stuck worker has done since the last look. If the worker's time was noted before it
    /// was stuck, one look is enough to see that it computes. The relief worker's time is noted in
    /// every look.
    fn doing(&mut self, worker: &Worker) -> Doing {
        let Some(thread) = worker.seat.thread() else { return Doing::Unknown };
        let before = self.note_used(worker);
        let used = self.used;
        let computes = |before: Duration| used.is_some_and(|used| used >= before + WATCH_COMPUTES);
        if before.is_some_and(computes) {
            self.dozed = 0;
            return Doing::Computes;
        }
        if self.looks < 2 {
            return Doing::Unknown;
        }
        let is_blocked = system_thread::is_blocked(thread);
        self.dozed = if is_blocked { self.dozed.saturating_add(1) } else { 0 };
        match is_blocked {
            // A loop that sleeps and checks again counts as blocked, too.
            true if used == before || self.dozed >= WATCH_LOOKS_DOZED => Doing::Nothing,
            // Other threads have the processors. Otherwise this worker would compute.
            false if self.looks >= WATCH_LOOKS_READY => Doing::Waits,
            _ => Doing::Unknown,
        }
    }
}

/// The activity of a stuck worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// It computes.
    Computes,
    /// It waits for a processor.
    Waits,
    /// It is blocked: it has used no processor time, and does not wait for a processor.
    Nothing,
    /// The system does not report it, or the worker had no processor.
    Unknown,
}

/// Handles what waits behind stuck workers. Returns the slowest pace among workers that have tasks,
/// or that are so fast that they may have some at any time.
fn look_after_workers(team: &Team, seen: &mut Vec<Seen>) -> Finding {
    let (mut finding, mut stuck) = (Finding::Nothing, false);
    // Computed at most once, because it examines every worker.
    let mut is_left = None;
    let mut is_left = || *is_left.get_or_insert_with(|| work_is_left(team));
    seen.resize(team.num_with_spares(), Seen::default());
    for (worker, seen) in team.workers().zip(seen.iter_mut()) {
        let polls = seen.look(worker);
        call_at_forks(team, worker);
        let is_relief = team.sleep().on_relief() == Some(worker.index());
        if is_relief && !seen.is_stuck() {
            seen.note_used(worker);
        }
        if polls >= WATCH_BRISK_POLLS {
            finding = finding.max(Finding::Brisk);
            continue;
        }
        let has_tasks = worker.queues.has_any();
        if has_tasks {
            finding = Finding::Slow;
        }
        if seen.is_stuck() {
            seen.note_stall(team, worker);
            // A spare has taken the seat of this worker.
            let is_replaced = worker.seat.is_lost() && team.seats.free() <= 0;
            stuck |= !is_replaced;
            if has_tasks {
                rescue_tasks(team, worker);
            }
            let has_seat = !worker.seat.is_lost() && team.spares.max() > 0;
            let doing = if has_seat { seen.doing(worker) } else { Doing::Unknown };
            let is_long = seen.looks > 1 || doing == Doing::Computes;
            let is_retired = is_long && retire_relief(team, worker);
            match doing {
                Doing::Computes => {
                    if is_retired {
                        team.long_tasks.remember_tried();
                    }
                    worker.seat.note_long();
                    let_relief_preempt(team, worker);
                }
                Doing::Waits => {
                    worker.seat.note_stuck();
                    let_relief_preempt(team, worker);
                }
                Doing::Nothing if is_left() => give_seat_away(team, worker),
                Doing::Nothing | Doing::Unknown => {}
            }
        }
    }
    if !team.tasks.may_have() {
        return finding;
    }
    if stuck {
        relieve(team);
    }
    finding.max(Finding::Slow)
}

/// Moves the task in the LIFO slot of a stuck worker to the queue. If the slot is empty, makes
/// another worker look for the tasks in the ring of the stuck worker.
fn rescue_tasks(team: &Team, worker: &Worker) {
    if let Some(task) = worker.queues.rescue() {
        worker.queues.counters.rescued.add_shared(1);
        team.note_rescue(worker, &task);
        schedule_from_outside(team, task);
        team.rescued_one();
    } else if team.config.stealing {
        relieve(team);
    }
}

/// Wakes a sleeper, which finds the waiting task. If all workers are busy, the relief worker finds
/// it. A worker that runs only descendants while it waits counts as busy, too.
fn relieve(team: &Team) {
    if team.sleep().wake_one() > 0 || team.sleep().tell_relief() {
        return;
    }
    if team.sleep().on_relief().is_none() {
        team.call_spare(Duty::Relief);
    }
}

/// Lengthens the slice of a worker that computes. Then the relief worker preempts that worker when
/// the relief worker wakes. A thread that the pool has adopted keeps its slice.
fn let_relief_preempt(team: &Team, worker: &Worker) {
    let Some(relief) = team.sleep().on_relief() else { return };
    let is_adopted = team.config.use_current_thread && worker.index() == 0;
    if worker.index() == relief || is_adopted || worker.seat.has_slice() {
        return;
    }
    if let Some(thread) = worker.seat.thread() {
        if system_thread::set_slice(thread, Some(COMPUTE_SLICE)) {
            worker.seat.note_slice();
        }
    }
}

/// Makes a worker stand aside at its forks as long as a relief worker is on duty.
fn call_at_forks(team: &Team, worker: &Worker) {
    let relief = team.sleep().on_relief();
    if relief.is_some_and(|relief| relief != worker.index()) && worker.is_in_work() {
        team.call_at_forks(worker);
    }
}

/// Gives a seat to a stuck worker if it is the relief worker. Returns whether it was.
fn retire_relief(team: &Team, worker: &Worker) -> bool {
    let is_retired =
        team.sleep().on_relief() == Some(worker.index()) && team.sleep().end_relief(worker.index());
    if is_retired {
        // From now on there is one worker too many.
        team.seats.take_back();
    }
    is_retired
}

/// Gives the seat of a stuck worker to a spare, because work waits. If another worker sleeps, wakes
/// that worker for the work instead.
fn give_seat_away(team: &Team, worker: &Worker) {
    let gives = !broken(Step::WatchGivesSeats);
    if gives && team.sleep().wake_one() == 0 && worker.seat.lose(&team.seats) {
        fence(SeqCst);
        if worker.bed().serves() {
            team.fill_seat();
        } else {
            // The stuck worker was a spare, and has gone to rest meanwhile. It needs no seat. It
            // may have checked its notes before the loss was noted, so act on the note here.
            let noted = worker.seat.attend(&team.seats);
            if let Some(thread) = worker.seat.thread().filter(|_| noted.slice) {
                system_thread::set_slice(thread, None);
            }
        }
    }
}

/// Lets a spare take a seat although all workers compute, if none has finished for long and work
/// waits. The more spares already work, the longer this takes.
fn relieve_if_hogged(team: &Team, seen: &mut [Seen]) {
    let extra = seen.iter().filter(|seen| seen.is_hogged).count().min(16);
    let relief = team.sleep().on_relief();
    let sits = |worker: &Worker| {
        worker.bed().serves() && relief != Some(worker.index()) && is_there(team, worker)
    };
    let is_long = |(worker, seen): (&Worker, &Seen)| {
        !sits(worker) || seen.looks >= WATCH_LOOKS_HOGGED << extra
    };
    if !team.workers().zip(&*seen).all(is_long) || !work_is_left(team) {
        return;
    }
    let mut hogs = team.workers().zip(seen);
    if let Some((worker, seen)) = hogs.find(|(worker, _)| sits(worker) && !worker.seat.is_lost()) {
        give_seat_away(team, worker);
        seen.is_hogged = worker.seat.is_lost();
    }
}

/// Whether the worker has a thread now: an adopted thread may be elsewhere.
fn is_there(team: &Team, worker: &Worker) -> bool {
    worker.index() > 0 || !team.adoption.is_away()
}

/// Whether any worker has a thread now.
fn is_any_there(team: &Team) -> bool {
    team.num_workers() > 1 || !team.adoption.is_away()
}

/// Makes a worker go to sleep in the driver, if no worker has been there since the last look.
fn fill_lease(team: &Team, left_at: &mut Option<usize>) -> Finding {
    let now = team.sleep().lease_free_since();
    if std::mem::replace(left_at, now) != now {
        return now.map_or(Finding::Nothing, |_| Finding::Brisk);
    }
    if now.is_none() {
        return Finding::Nothing;
    }
    // This also notifies a worker that runs only descendants while it waits: it can wait in the
    // driver.
    if team.sleep().relieve() == 0 {
        relieve(team);
    }
    Finding::Slow
}

/// Calls a spare for a seat that could not be filled before. If only the relief worker is left,
/// notifies that worker.
fn fill_seats(team: &Team) {
    if is_last_for_a_seat(team) {
        team.sleep().tell_relief();
    } else if team.seats.free() > 0 && has_work(team) {
        team.fill_seat();
    }
}

/// Whether work waits for any worker.
fn work_is_left(team: &Team) -> bool {
    has_work(team) || team.seats.free() > 0
}

/// Turns the watch off, and returns whether it is off. It stays on if there is something to look
/// after again, and always after the system has refused the heavy fence.
fn turn_watch_off(team: &Team) -> bool {
    team.watch.rest(|| {
        team.sleep().lease_is_free()
            || has_work(team) && is_any_there(team)
            || team.workers().any(|worker| worker.queues.has_any())
            || may_have_to_report(team)
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
    fn one_slow_worker_or_a_free_lease_makes_the_watch_look_as_often_as_before() {
        let unlike_brisk =
            [(Slow, Nothing), (Slow, Brisk), (Brisk, Slow), (Nothing, Brisk), (Nothing, Nothing)];
        for (tasks, lease) in unlike_brisk {
            let mut pace = Pace(WATCH_PERIOD_MAX);
            pace.adapt(tasks, lease);
            assert_eq!(pace.0, WATCH_PERIOD, "{tasks:?} tasks, {lease:?} lease");
        }
    }
}
