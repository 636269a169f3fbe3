//! References to the tasks that a team knows of.

#![forbid(unsafe_code)]

use crate::team::Team;
use blitz_parts::task::TaskRef;

/// The tasks of `team` that have waited and not ended. No worker waits for this for longer than it
/// takes to read a few of them.
pub(in crate::door) fn references(team: &Team) -> Vec<TaskRef> {
    team.workers().flat_map(|worker| worker.queues.owned.tasks()).collect()
}
