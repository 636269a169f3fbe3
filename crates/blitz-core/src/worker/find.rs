//! Finds work for a worker, in this order:
//!
//! Own tasks (see `sched`), own deque (newest first, unless tasks or other threads spawned the
//! jobs), own mail, injected jobs (all of them: one is kept, the rest goes onto the own deque), the
//! task queue, other workers' deques and rings from a random start (oldest first). A worker that is
//! about to sleep searches harder: it also makes private jobs of another worker public, if that
//! worker has neither forked nor pushed a job since a thief last looked.
//!
//! No kind of work can keep another waiting for ever. Once per interval of polls and jobs, work
//! from elsewhere goes first. In between, the task queue goes first now and then (see
//! `state/tick`). Every second time that a worker has no own task, it looks into the task queue
//! before it takes an own job.

#![forbid(unsafe_code)]

use super::driver::Visit;
use crate::sched::end::end_orphaned_sections_if_closing;
use crate::sched::work::has_work_but_tasks_of;
use crate::state::Turn;
use crate::team::{Loot, Owner, Worker};
use blitz_parts::job::Work;
use blitz_parts::prim::{Step, broken};
use blitz_parts::task::Runnable;

/// How hard to search.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Look only for public jobs.
    Public,
    /// Also look for private jobs, at the price of a heavy fence.
    Hard,
}

/// Which tasks a worker searches for, besides its own.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    /// Tasks in the shared queue.
    pub(crate) queued: bool,
    /// Tasks in other workers' rings.
    pub(crate) stolen: bool,
}

impl Wanted {
    pub(crate) const ALL: Wanted = Wanted { queued: true, stolen: true };
    pub(crate) const NONE: Wanted = Wanted { queued: false, stolen: false };
}

/// The work that a worker found.
pub(crate) enum Found {
    /// A job, to be run to its end.
    Job(Work),
    /// A task, to be polled once.
    Task(Runnable),
    /// Wakers that the driver has deferred, to be called.
    Wakers,
    /// No work: this worker is a spare that is no longer needed, so it leaves.
    TooMany,
}

impl Owner<'_> {
    /// Works like [`find`](Self::find), but not inlined, for a worker that has found nothing.
    #[inline(never)]
    pub(super) fn find_when_idle(self, look: Look, search: bool) -> Option<Found> {
        self.find(look, search)
    }

    /// Finds any work. This is part of the main loop. If `search` is set, looks in the rings of
    /// other workers, too.
    #[inline(always)]
    pub(super) fn find(self, look: Look, search: bool) -> Option<Found> {
        let turn = self.tasks().take_turn();
        if turn == Turn::Others && self.is_too_many() {
            return Some(Found::TooMany);
        }
        if turn == Turn::Others || turn == Turn::Queue && self.team().tasks.may_have() {
            if let Some(found) = self.find_in_turn(turn, || self.jobs().pop_in_turn()) {
                return Some(found);
            }
        }
        if let Some(task) = self.tasks().next() {
            return Some(Found::Task(task));
        }
        self.find_beyond(look, search)
    }

    /// The part of `find` for a worker without tasks of its own. Not inlined, because the main loop
    /// would run out of registers.
    #[inline(never)]
    fn find_beyond(self, look: Look, search: bool) -> Option<Found> {
        self.forget_poll_end();
        let queued =
            if self.tasks_go_first() { self.tasks().take_queued(usize::MAX) } else { None };
        queued
            .map(Found::Task)
            .or_else(|| self.find_job().map(Found::Job))
            .or_else(|| self.find_elsewhere(look, Wanted { queued: true, stolen: search }))
    }

    fn find_job(self) -> Option<Work> {
        let job = self.jobs().pop().or_else(|| self.jobs().open_mail())?;
        self.tasks().count_job();
        Some(job)
    }

    /// Whether tasks go before own jobs now: every second time.
    #[inline]
    pub(super) fn tasks_go_first(self) -> bool {
        let first = self.own().tasks_first.get();
        self.own().tasks_first.set(!first);
        first
    }

    /// Finds work that goes before own tasks in this turn; `own_job` takes one of the worker's own
    /// jobs.
    #[cold]
    pub(super) fn find_in_turn(
        self,
        turn: Turn,
        own_job: impl Fn() -> Option<Work>,
    ) -> Option<Found> {
        self.forget_poll_end();
        match turn {
            Turn::Own => None,
            Turn::Queue => self.tasks().take_foreign().map(Found::Task),
            Turn::Others => self.find_fairly(own_job),
        }
    }

    /// Finds work that own tasks and jobs would otherwise starve, beginning with a random kind of
    /// work; `own_job` takes one of the worker's own jobs.
    fn find_fairly(self, own_job: impl Fn() -> Option<Work>) -> Option<Found> {
        // A worker that is never idle may have finished the task of a forgotten shield.
        end_orphaned_sections_if_closing(self.team());
        // After wakers were called, the next turn is for other work, however many wakers there are.
        let visits = !self.own().called_wakers.replace(false);
        if visits && self.visit_driver() == Visit::Wakers {
            self.own().called_wakers.set(true);
            self.own().tasks.tick.repeat_turn_of_others();
            self.tasks().notify_of_ring();
            return Some(Found::Wakers);
        }
        let own = || self.jobs().open_mail().or_else(&own_job).map(Found::Job);
        let injected = || self.jobs().take_injected().map(Found::Job);
        let queued = || self.tasks().take_fair_share().map(Found::Task);
        let found = match self.own().rng.below(3) {
            0 => own().or_else(injected).or_else(queued),
            1 => injected().or_else(queued).or_else(own),
            _ => queued().or_else(own).or_else(injected),
        }?;
        // Work found here runs before the own tasks, and may run for long.
        if !broken(Step::RuntimeFairTells) {
            self.tasks().notify_of_ring();
        }
        Some(found)
    }

    /// Finds work that is not this worker's own: jobs, and the `wanted` tasks.
    pub(crate) fn find_elsewhere(self, look: Look, wanted: Wanted) -> Option<Found> {
        let found = self.look_elsewhere(look, wanted);
        if let Some(Found::Job(_)) = found {
            // Count the job: there may be many jobs, and no own task whose polls would lead this
            // worker to the driver.
            self.tasks().count_job();
        }
        found
    }

    fn look_elsewhere(self, look: Look, wanted: Wanted) -> Option<Found> {
        let injected = self.jobs().take_injected().map(Found::Job);
        if injected.is_some() {
            return injected;
        }
        if wanted.queued {
            if let Some(task) = self.tasks().take_queued(usize::MAX) {
                return Some(Found::Task(task));
            }
        }
        self.steal(look, wanted.stolen)
    }

    fn steal(self, look: Look, tasks: bool) -> Option<Found> {
        let team = self.team();
        let workers = team.num_with_spares();
        if workers < 2 {
            return None;
        }
        self.counters.steals_tried.add(1);
        let since = self.searches_since();
        let start = self.own().rng.below(workers);
        let is_other = |victim: &Worker| !std::ptr::eq(victim, self.worker());
        let public = team.find_worker_from(start, |victim| {
            if !is_other(victim) {
                return None;
            }
            let job = victim.give();
            let job = job.map(|job| self.stolen(Found::Job(job), Loot::Job, victim, since));
            if job.is_some() || !tasks {
                return job;
            }
            let task = self.tasks().steal_from(victim);
            task.map(|task| self.stolen(Found::Task(task), Loot::Tasks, victim, since))
        });
        let found = match look {
            Look::Public => public,
            Look::Hard => public.or_else(|| {
                team.find_worker_from(start, |victim| {
                    let forced = is_other(victim) && self.jobs().force(victim);
                    let job = if forced { victim.give() } else { None };
                    job.map(|job| self.stolen(Found::Job(job), Loot::Job, victim, since))
                })
            }),
        };
        self.counters.steals_won.add(u64::from(found.is_some()));
        found
    }

    /// Records that this worker took `found` from `victim`, after searching since `since`.
    fn stolen(self, found: Found, loot: Loot, victim: &Worker, since: u64) -> Found {
        self.note_steal(loot, victim.index(), since);
        found
    }

    /// Whether there is work for other workers besides this worker's own tasks.
    pub(super) fn leaves_work(self) -> bool {
        has_work_but_tasks_of(self.team(), Some(self.index()))
    }
}
