//! Holds for threads outside the team, even after the end of tasks, and holds of shielded sections.

#![forbid(unsafe_code)]

use super::cancel::cancel_tasks_soon;
use super::hold::Hold;
use crate::team::Team;
use blitz_parts::life::{Held, TasksReleased};
use blitz_parts::prim::{Step, broken};
use std::sync::Arc;

/// Holds the team for a thread that is not its worker. Returns `None` if the team is ending or has
/// ended: such holds could keep it alive for ever. Only a blocking closure of the team itself may
/// still get a hold then.
pub(crate) fn try_hold(team: &Arc<Team>) -> Option<Hold> {
    match team.life.try_hold(|| team.blocking.is_here()) {
        Held::Refused => None,
        Held::AfterTasks => {
            let hold = Hold::granted(team);
            // The caller may wait for one of the tasks, so cancel them.
            cancel_tasks_soon(team);
            Some(hold)
        }
        Held::Granted => Some(Hold::granted(team)),
    }
}

/// Releases a hold of the tasks, and one of the team. The last hold of the tasks cancels them.
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

/// Calls [`end_orphaned_sections`] if the handle is gone.
pub(crate) fn end_orphaned_sections_if_closing(team: &Team) {
    if team.is_closing() && !broken(Step::SectionsWorkersLook) {
        end_orphaned_sections(team);
    }
}

/// Works like [`end_orphaned_sections_if_closing`], for a worker that becomes idle: it may have
/// finished the task of a forgotten shield (LIFE-6).
pub(crate) fn end_orphaned_sections_when_idle(team: &Team) {
    if team.life.is_closing_at_last() && !broken(Step::SectionsWorkersLook) {
        end_orphaned_sections(team);
    }
}

/// Releases the holds of shielded sections whose task has ended. After the handle is gone, the
/// thread that dropped it calls this. Each worker that is idle or has a fair turn calls this, too.
/// So the worker that polled the task last also calls it.
pub(crate) fn end_orphaned_sections(team: &Team) {
    if team.sections.len() > 0 {
        team.sections.take_ended().iter().for_each(|_| release_with_tasks(team));
    }
}
