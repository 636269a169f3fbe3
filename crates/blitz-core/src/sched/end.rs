//! Holds that may come late, and holds of shielded sections: beside the end of tasks.

#![forbid(unsafe_code)]

use super::cancel::cancel_tasks_soon;
use super::hold::Hold;
use crate::team::Team;
use blitz_parts::life::{Held, TasksReleased};
use blitz_parts::prim::{Step, broken};
use std::sync::Arc;

/// Holds the team for a thread that is no worker of it. `None` if the team is ending or has ended:
/// holds of others could keep it for ever. A closure of the team itself that blocks may still hold
/// it then.
pub(crate) fn try_hold(team: &Arc<Team>) -> Option<Hold> {
    match team.life.try_hold(|| team.blocking.is_here()) {
        Held::Refused => None,
        Held::AfterTasks => {
            let hold = Hold::granted(team);
            // What comes now may wait for one of them.
            cancel_tasks_soon(team);
            Some(hold)
        }
        Held::Granted => Some(Hold::granted(team)),
    }
}

/// Gives up a reason to poll tasks, and one to go on. With the last of the first kind tasks are
/// cancelled.
pub(crate) fn release_with_tasks(team: &Team) {
    match team.life.release_with_tasks() {
        TasksReleased::NotLast => {}
        TasksReleased::Cancel => {
            cancel_tasks_soon(team);
            team.release();
        }
        TasksReleased::Stop => team.stop_workers(),
    }
}

/// As [`end_orphaned_sections`], if the handle is gone.
pub(crate) fn end_orphaned_sections_if_closing(team: &Team) {
    if team.is_closing() && !broken(Step::SectionsWorkersLook) {
        end_orphaned_sections(team);
    }
}

/// The same for a worker that gets idle: it may have polled the task of a forgotten shield to its
/// end (LIFE-6).
pub(crate) fn end_orphaned_sections_when_idle(team: &Team) {
    if team.life.is_closing_at_last() && !broken(Step::SectionsWorkersLook) {
        end_orphaned_sections(team);
    }
}

/// Gives back what shielded sections hold whose task has ended. Called once the handle is gone: by
/// the thread that drops it, and by each worker that has nothing to do or has a fair turn, so that
/// the one that polled the task last does.
pub(crate) fn end_orphaned_sections(team: &Team) {
    if team.sections.len() > 0 {
        team.sections.take_ended().iter().for_each(|_| release_with_tasks(team));
    }
}
