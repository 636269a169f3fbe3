//! Decides whether a caller may keep a team at work.

#![forbid(unsafe_code)]

use crate::sched::end::try_hold;
use crate::sched::hold::Hold;
use crate::team::{Team, current};
use std::sync::Arc;

/// Whether the current thread is one of the team's workers, and in one of its operations.
pub(super) fn is_inside(team: &Team) -> bool {
    current().is_some_and(|worker| worker.is_in(team))
}

/// Keeps `team` at work; `None` if its end has begun and the caller is outside it.
pub(super) fn hold(team: &Arc<Team>) -> Option<Hold> {
    if is_inside(team) { Some(Hold::new(team)) } else { try_hold(team) }
}

/// Works like [`hold`], for work that threads other than the team's workers run. Even a caller
/// inside the team gets `None` once the workers are leaving.
pub(super) fn hold_at_work(team: &Arc<Team>) -> Option<Hold> {
    if is_inside(team) { Hold::while_at_work(team) } else { try_hold(team) }
}
