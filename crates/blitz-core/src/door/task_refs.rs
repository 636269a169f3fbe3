//! Collects references to the tasks of a team.

#![forbid(unsafe_code)]

use crate::team::Team;
use blitz_parts::task::TaskRef;

/// Returns the tasks of `team` that have waited and not ended. It delays a worker only as long as
/// it takes to read a few tasks.
pub(in crate::door) fn references(team: &Team) -> Vec<TaskRef> {
    team.workers().flat_map(|worker| worker.queues.owned.tasks()).collect()
}
