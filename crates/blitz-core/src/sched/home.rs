//! The team of a task, as the task's scheduler.

use super::cancel::cancel_late;
use super::share::schedule_from_outside;
use crate::base::context;
use crate::base::panic::Payload;
use crate::team::{Owner, Team, current};
use blitz_parts::bitmap::Position;
use blitz_parts::task::{self, Header, LateReport, Owned, Place, Runnable};
use std::ptr::NonNull;

/// The name of a task in reports of panics that no thread waits for.
const DETACHED: &str = "a detached task";

/// The team that a task belongs to, in one word. It has no reference count: a team outlives its
/// tasks (see `cancel`), and a complete task does not use it.
#[derive(Clone, Copy)]
pub(crate) struct Home(NonNull<Team>);

// SAFETY: a team is shared between threads; the pointer is followed only while the team is alive.
unsafe impl Send for Home {}
// SAFETY: as above.
unsafe impl Sync for Home {}

impl Home {
    pub(crate) fn of(team: &Team) -> Home {
        Home(NonNull::from(team))
    }

    /// Schedules a task on a thread that is not a worker of its team.
    #[inline(never)]
    fn schedule_elsewhere(self, task: Runnable) {
        let team = self.team();
        // Once the task is in the queue it may run, and the team may end: keep the team until
        // workers were notified. A team that is being dropped waits until its tasks are complete.
        match team.try_arc() {
            Some(team) => schedule_from_outside(&team, task),
            None => cancel_late(team, task),
        }
    }

    #[inline]
    fn team(&self) -> &Team {
        // SAFETY: the task that asks is not complete, so its team is alive.
        unsafe { self.0.as_ref() }
    }
}

// SAFETY: a team outlives its tasks until they are complete, and a thread that runs or drops a task
// keeps the team meanwhile: workers do, `try_arc` does, and a team that is being dropped waits
// (`late`). The lists belong to the workers, which the team keeps in place. Nothing here unwinds:
// panics of the panic handler are caught.
unsafe impl task::Scheduler for Home {
    // A team accepts tasks until the last waiting task is complete, so no wake finds it closed.
    const ONLY_QUEUES: bool = true;

    #[inline]
    fn schedule(&self, task: Runnable) {
        match current() {
            Some(owner) if owner.is_in(self.team()) => owner.tasks().schedule(task),
            _ => self.schedule_elsewhere(task),
        }
    }

    #[inline]
    fn has_yielded(&self) -> bool {
        context::has_yielded()
    }

    fn settle(&self, task: NonNull<Header>) -> (Place, &Owned) {
        let Some(owner) = current() else {
            unreachable!("tasks are polled on workers");
        };
        match owner.tasks().part() {
            None => {
                // A worker polls tasks of its own team only, and the team keeps the worker in
                // place.
                (Place::new(owner.index()), &owner.worker().queues.owned)
            }
            Some(part) => {
                let place = owner.tasks().reserve_slot(part, task);
                (place, self.owned(place))
            }
        }
    }

    fn unsettle(&self, place: Place) {
        if let Some(owner) = current() {
            owner.tasks().free_slot(place);
        }
    }

    fn owned(&self, place: Place) -> &Owned {
        let team = self.team();
        let list = match team.bitmap() {
            None => {
                // Most tasks end on the worker where they first waited: skip the table of workers
                // then.
                let here = |owner: &Owner<'_>| owner.index() == place.index() && owner.is_in(team);
                if let Some(owner) = current().filter(here) {
                    return &owner.worker().queues.owned;
                }
                place.index()
            }
            // The owner of a leaf never changes, so a task stays in its list.
            Some(_) => Position::of(place).leaf % team.lists,
        };
        match team.worker(list) {
            Some(worker) => &worker.queues.owned,
            None => unreachable!("workers stay"),
        }
    }

    fn report_panic(&self, payload: Payload) {
        self.team().report_panic_of(DETACHED, payload);
    }

    fn late_report(&self) -> Option<LateReport> {
        let team = self.team().try_arc()?;
        Some(Box::new(move |payload| team.report_panic_of(DETACHED, payload)))
    }
}
