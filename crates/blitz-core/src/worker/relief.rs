//! The relief worker: a spare that serves the driver and tasks while workers with seats compute.
//!
//! It waits in the driver, and polls the tasks that were woken there, tasks in the queue, and tasks
//! in the rings of stuck workers. It takes no jobs, so it slows the computation down only by the
//! time of the tasks. It hands a task with two long polls in a row to workers with seats, as a job.
//! It stays for a while after it was last needed, because computations pause. Then it leaves the
//! driver to a sleeping worker.

#![forbid(unsafe_code)]

use super::Found;
use super::driver::Visit;
use crate::sched::end::{end_orphaned_sections_if_closing, end_orphaned_sections_when_idle};
use crate::sched::hold::{Hold, job};
use crate::sched::inject;
use crate::sched::work::has_work;
use crate::state::{Clocks, Stopwatch, Turn};
use crate::team::{Owner, Slept, Team, Worker, current};
use blitz_parts::prim::{Instant, since_start};
use blitz_parts::task::Runnable;
use blitz_parts::thread::{self, ThreadId};
use blitz_parts::ticks;
use blitz_parts::tuning::{RELIEF_LINGERS, RELIEF_POLL_LONG, RELIEF_SLICE};
use std::time::Duration;

/// How a duty as relief worker ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Relieved {
    /// The worker is no longer needed.
    Leaves,
    /// It goes on as a worker with a seat: it was stuck in a poll, or no other spare was left for a
    /// free seat.
    Sits,
}

impl Owner<'_> {
    /// Works as the relief worker until it is no longer needed, or the pool ends.
    pub(super) fn be_on_relief(self) -> Relieved {
        let sleep = self.team().sleep();
        let begun = sleep.begin_relief(self.index());
        self.team().spares.relief_has_come();
        if !begun {
            return Relieved::Leaves;
        }
        // Set a short slice, so that this thread preempts computing workers when it wakes. A kernel
        // without slices treats the thread like any other.
        thread::set_slice(thread::current(), Some(RELIEF_SLICE));
        let takes_seat = self.relieve_until_over() == Relieved::Sits;
        if !sleep.end_relief(self.index()) {
            if takes_seat {
                // This worker took a free seat. Meanwhile the watch counted a seat for this worker,
                // too. Give one of the two back.
                self.team().seats.vacate();
            }
            return Relieved::Sits;
        }
        // Let forks take their usual path again. A worker that forks would return to this path by
        // itself, at its next fork. A worker that only pushes would not, and each of its pushes
        // would announce work.
        self.team().workers().for_each(|worker| self.team().end_call_at_forks(worker));
        if takes_seat {
            return Relieved::Sits;
        }
        // The driver is free now, and all other workers may sleep.
        self.tasks().give_away();
        sleep.relieve();
        Relieved::Leaves
    }

    fn relieve_until_over(self) -> Relieved {
        let sleep = self.team().sleep();
        let mut needed = Instant::now();
        let mut stopwatch = Stopwatch::new(OwnClocks(thread::current()));
        while !sleep.is_stopping() {
            // This thread may have moved while it polled or slept.
            sleep.relief_runs_on(thread::processor());
            if let Some(found) = self.find_on_relief() {
                self.run_on_relief(found, &mut stopwatch);
                // The relief worker takes no jobs, not even those that its tasks spawn.
                self.hand_jobs_on();
                if sleep.on_relief() != Some(self.index()) {
                    return Relieved::Leaves;
                }
                continue;
            }
            if is_last_for_a_seat(self.team()) && self.team().seats.try_fill() {
                return Relieved::Sits;
            }
            let now = Instant::now();
            if sleep.counters().load().sleeping() == 0 {
                needed = now;
            } else if now.saturating_duration_since(needed) > RELIEF_LINGERS {
                return Relieved::Leaves;
            }
            end_orphaned_sections_when_idle(self.team());
            let wait = || sleep.wait_on_relief(self.own_bed(), || self.sees_tasks_on_relief());
            self.note_park();
            let lease = self.tasks().while_parking(wait);
            sleep.relief_runs_on(thread::processor());
            self.note_unpark(Slept::Driver);
            let Some(lease) = lease else { break };
            if self.dispatch(lease) == Visit::Wakers {
                self.call_wakers();
            }
        }
        Relieved::Leaves
    }

    fn find_on_relief(self) -> Option<Found> {
        let turn = self.tasks().take_turn();
        if turn == Turn::Others {
            end_orphaned_sections_if_closing(self.team());
            if self.visit_driver() == Visit::Wakers {
                return Some(Found::Wakers);
            }
            if let Some(task) = self.tasks().take_fair_share() {
                return Some(Found::Task(task));
            }
        }
        let foreign = if turn == Turn::Queue { self.tasks().take_foreign() } else { None };
        let steal =
            || stuck_workers(self.team()).find_map(|worker| self.tasks().steal_from(worker));
        let queued = || self.tasks().take_queued(1);
        let own = || self.tasks().next_of_wait();
        foreign.or_else(own).or_else(queued).or_else(steal).map(Found::Task)
    }

    /// The relief worker's last look before it waits.
    fn sees_tasks_on_relief(self) -> bool {
        let team = self.team();
        let stealing = team.config.stealing;
        let sees = self.queues.has_any()
            || team.tasks.may_have()
            || stealing && stuck_workers(team).any(|worker| worker.queues.has_public());
        if !sees {
            self.tell_idle_driver();
        }
        sees
    }

    fn run_on_relief(self, found: Found, stopwatch: &mut Stopwatch<OwnClocks>) {
        let Found::Task(task) = found else { return self.run(found) };
        let (long, address) = (&self.team().long_tasks, task.header().addr().get());
        // A task without a stamp was never polled, and is judged by other tasks of its type. A
        // sample of the new tasks has a stamp already. These are judged like tasks that were
        // polled.
        let kind = (task.stamp() == 0).then(|| task.kind());
        if long.contains(address) || kind.is_some_and(|kind| long.contains(kind)) {
            return leave_to_seats(self.team(), task, kind);
        }
        long.set_tried(kind);
        let measures = &self.own().measures_polls;
        measures.set(true);
        let is_long = stopwatch.is_long(|| self.tasks().poll(task));
        measures.set(false);
        // If this worker did not return for long, the watch may have noted this poll.
        let is_noted = long.end_tried(kind);
        if !is_long {
            long.forget(kind.unwrap_or(address));
        } else if !is_noted {
            long.remember(kind.unwrap_or(address));
        }
    }
}

/// Whether work waits, a seat is free, and only the relief worker is left to take that seat.
pub(super) fn is_last_for_a_seat(team: &Team) -> bool {
    team.seats.free() > 0 && !team.spares.is_any_left() && has_work(team)
}

/// The clocks of the current thread.
struct OwnClocks(ThreadId);

impl Clocks for OwnClocks {
    fn now(&self) -> u64 {
        ticks::now()
    }

    fn to_time(&self, ticks: u64) -> Duration {
        ticks::to_duration(ticks)
    }

    /// Returns the time since some moment if the system does not report the processor time. On such
    /// systems the watch never finds a computing worker, so only this measurement notes long polls.
    fn used(&self) -> Duration {
        thread::time_used(self.0).unwrap_or_else(since_start)
    }
}

/// Workers that have been inside one poll or job for long.
fn stuck_workers(team: &Team) -> impl Iterator<Item = &Worker> {
    team.workers().filter(|worker| worker.seat.is_noted())
}

/// Lets a worker with a seat poll the task. If that poll is short, the relief worker polls the task
/// next time, and also polls the next new task of that `kind`.
fn leave_to_seats(team: &Team, task: Runnable, kind: Option<usize>) {
    let Some(hold) = Hold::while_at_work(team) else { return drop(task) };
    inject(
        team,
        job(hold, move || {
            let Some(owner) = current() else { return drop(task) };
            let (since, address) = (Instant::now(), task.header().addr().get());
            owner.tasks().poll(task);
            if since.elapsed() <= RELIEF_POLL_LONG {
                let long = &owner.team().long_tasks;
                long.forget(address);
                kind.into_iter().for_each(|kind| long.forget(kind));
            }
        }),
    );
}
