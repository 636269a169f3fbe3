//! Where a worker looks for work, and in which order.
//!
//! Own tasks (see `sched`), own deque (newest first), own mail, injected jobs (all of them: one is kept,
//! the rest goes onto the own deque), the task queue, other workers' deques and rings from a random
//! start (oldest first). A worker that is about to sleep looks harder: it also forces private jobs of
//! workers that sit in a long leaf into the open. Once per interval of polls and jobs what comes from
//! elsewhere goes first, and every second time the task queue goes before own jobs: no kind of work can
//! keep another waiting for ever.

use super::Worker;
use crate::driver_slot::Visit;
use crate::team::Team;
use blitz_parts::deque::{Mark, Steal};
use blitz_parts::job::{Header, Work};
use blitz_parts::task::Runnable;
use blitz_parts::trim::outgrown;
use std::ptr::NonNull;

/// How hard to look.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// At what others have published.
    Public,
    /// Also at what they have not, at the price of a heavy fence.
    Hard,
}

/// Which tasks of others a worker looks for.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    /// Those in the queue that all share.
    pub(crate) queued: bool,
    /// Those in other workers' rings.
    pub(crate) stolen: bool,
}

impl Wanted {
    pub(crate) const ALL: Wanted = Wanted { queued: true, stolen: true };
    pub(crate) const NONE: Wanted = Wanted { queued: false, stolen: false };
}

/// What a worker found.
pub(crate) enum Found {
    /// A job, to be run to its end.
    Job(Work),
    /// A task, to be polled once.
    Task(Runnable),
    /// Wakers that the driver keeps, to be called.
    Wakers,
}

impl Worker {
    /// As [`find`](Self::find), as a call: for a worker that has found nothing.
    #[inline(never)]
    pub(super) fn find_when_idle(&self, look: Look, search: bool) -> Option<Found> {
        self.find(look, search)
    }

    /// Any work at all: a part of the main loop; `search`: also in the rings of others. Own thread only.
    #[inline(always)]
    pub(super) fn find(&self, look: Look, search: bool) -> Option<Found> {
        if self.is_fair_turn() {
            if let Some(found) = self.find_fairly(|| self.pop()) {
                return Some(found);
            }
        }
        if let Some(task) = self.next_task() {
            return Some(Found::Task(task));
        }
        self.find_beyond(look, search)
    }

    /// What `find` does when this worker has no task of its own. By itself, since all of it inside of the
    /// main loop would leave that no registers.
    #[inline(never)]
    fn find_beyond(&self, look: Look, search: bool) -> Option<Found> {
        let queued = if self.tasks_go_first() { self.take_queued(usize::MAX) } else { None };
        queued
            .map(Found::Task)
            .or_else(|| self.find_job().map(Found::Job))
            .or_else(|| self.find_elsewhere(look, Wanted { queued: true, stolen: search }))
    }

    fn find_job(&self) -> Option<Work> {
        let job = self.pop().or_else(|| self.open_mail())?;
        self.count_job();
        Some(job)
    }

    /// Whether tasks go before own jobs now: every second time. Own thread only.
    #[inline]
    pub(super) fn tasks_go_first(&self) -> bool {
        let first = self.tasks_first.get();
        self.tasks_first.set(!first);
        first
    }

    /// What own tasks and jobs would keep waiting for ever, a different kind first each time; `own_job` takes
    /// one of the own jobs. Own thread only.
    #[cold]
    pub(super) fn find_fairly(&self, own_job: impl Fn() -> Option<Work>) -> Option<Found> {
        // A worker that is never idle may have polled the task of a forgotten shield to its end.
        self.team().end_orphaned_sections_if_closing();
        // After wakers were called the next turn is for the others, however many wakers there are.
        let visits = !self.called_wakers.replace(false);
        if visits && self.visit_driver() == Visit::Wakers {
            self.called_wakers.set(true);
            self.tasks().repeat_fair_turn();
            self.tell_of_ring();
            return Some(Found::Wakers);
        }
        let own = || self.open_mail().or_else(&own_job).map(Found::Job);
        let injected = || self.take_injected().map(Found::Job);
        let queued = || self.take_fair_share().map(Found::Task);
        let found = match self.rng.below(3) {
            0 => own().or_else(injected).or_else(queued),
            1 => injected().or_else(queued).or_else(own),
            _ => queued().or_else(own).or_else(injected),
        }?;
        // What is found here runs before the own tasks, and may run for long.
        self.tell_of_ring();
        Some(found)
    }

    /// Work of others: jobs, and the `wanted` tasks. Own thread only.
    pub(crate) fn find_elsewhere(&self, look: Look, wanted: Wanted) -> Option<Found> {
        let found = self.look_elsewhere(look, wanted);
        if let Some(Found::Job(_)) = found {
            // There may be many, and nothing of its own that would bring this worker to the driver.
            self.count_job();
        }
        found
    }

    fn look_elsewhere(&self, look: Look, wanted: Wanted) -> Option<Found> {
        let injected = self.take_injected().map(Found::Job);
        if injected.is_some() {
            return injected;
        }
        if wanted.queued {
            if let Some(task) = self.take_queued(usize::MAX) {
                return Some(Found::Task(task));
            }
        }
        self.steal(look, wanted.stolen)
    }

    /// The newest own job. Own thread only, and only in the main loop: elsewhere it may belong to a frame.
    pub(crate) fn pop(&self) -> Option<Work> {
        self.pop_above(Mark::START)
    }

    /// The newest own job, if it came after `mark`: jobs below belong to frames that will
    /// take them back. Own thread only.
    pub(crate) fn pop_above(&self, mark: Mark<Header>) -> Option<Work> {
        let job = self.own().pop_above(mark)?;
        self.counters.popped.add(1);
        Some(taken(job))
    }

    /// The oldest own job, taken like a thief does, so that the frame it may belong to finds it
    /// stolen. Own thread only.
    pub(crate) fn take_oldest(&self) -> Option<Work> {
        if self.deque.is_empty() {
            return None;
        }
        if self.deque.public_len() == 0 {
            let _ = self.publish(|_| 1);
        }
        self.give()
    }

    /// The oldest job for this worker alone. Own thread only.
    pub(crate) fn open_mail(&self) -> Option<Work> {
        let mut opened = self.opened_mail.borrow_mut();
        if opened.is_empty() && self.has_mail() {
            opened.extend(self.mail.take_all());
        }
        let first = opened.pop_front()?;
        drop(outgrown(&mut opened));
        // Nobody else was told of this mail, nor of a task that is alone in the ring: it would wait for
        // the mail although others sleep.
        self.tell_of_ring();
        Some(first)
    }

    pub(super) fn take_injected(&self) -> Option<Work> {
        let team = self.team();
        if team.injector().is_empty() {
            return None;
        }
        let mut batch = team.injector().take_all();
        let first = batch.next()?;
        self.counters.injected.add(1);
        // They have nothing to do with each other: the next one must not wait for the first.
        for work in batch {
            self.push(work);
        }
        Some(first)
    }

    fn steal(&self, look: Look, tasks: bool) -> Option<Found> {
        let team = self.team();
        let workers = team.num_workers();
        if workers < 2 {
            return None;
        }
        self.counters.steals_tried.add(1);
        let start = self.rng.below(workers);
        let victims = || {
            (start..workers)
                .chain(0..start)
                .filter(|&index| index != self.index)
                .filter_map(|index| team.worker(index))
        };
        let public = victims().find_map(|victim| {
            let job = victim.give().map(Found::Job);
            if job.is_some() || !tasks {
                return job;
            }
            self.steal_tasks(victim).map(Found::Task)
        });
        let found = match look {
            Look::Public => public,
            Look::Hard => public.or_else(|| {
                let force = |victim: &Worker| if self.force(victim) { victim.give() } else { None };
                victims().find_map(force).map(Found::Job)
            }),
        };
        self.counters.steals_won.add(u64::from(found.is_some()));
        found
    }

    /// Whether there is work for others besides this worker's own tasks. Own thread only.
    pub(super) fn leaves_work(&self) -> bool {
        self.team().has_work_but_tasks_of(Some(self.index))
    }

    /// The oldest public job of this worker, for whoever calls.
    pub(super) fn give(&self) -> Option<Work> {
        self.give_if(|| true)
    }

    /// The same, if `valid` still holds when the job is known.
    pub(super) fn give_if(&self, valid: impl Fn() -> bool) -> Option<Work> {
        loop {
            match self.deque.steal_if(&valid) {
                Steal::Success(job) => return Some(taken(job)),
                Steal::Empty => return None,
                Steal::Retry => {}
            }
        }
    }
}

/// A job that just left a deque.
pub(super) fn taken(job: NonNull<Header>) -> Work {
    // SAFETY: what is in a deque came from `Work::into_raw`, and by DEQUE-1 it leaves it once.
    unsafe { Work::new(job) }
}

impl Team {
    /// Whether there is work that an arbitrary worker could take, private jobs included.
    pub(crate) fn has_work(&self) -> bool {
        self.has_work_but_tasks_of(None)
    }

    /// Whether there is a task that an arbitrary worker could take.
    pub(super) fn has_tasks(&self) -> bool {
        let has_public = || self.workers().any(|worker| worker.tasks().has_public());
        self.tasks.may_have() || self.config.stealing && has_public()
    }

    fn has_work_but_tasks_of(&self, one: Option<usize>) -> bool {
        self.notice_refused_fence();
        let has_tasks = |worker: &Worker| {
            self.config.stealing && one != Some(worker.index) && worker.tasks().has_public()
        };
        !self.injector().is_empty()
            || self.tasks.may_have()
            || self.workers().any(|worker| !worker.deque.is_empty() || has_tasks(worker))
    }
}
