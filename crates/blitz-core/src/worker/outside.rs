//! Jobs from threads that may not be workers of the team.

#![forbid(unsafe_code)]

use super::visit::need_worker;
use crate::sched;
use crate::state::Joint;
use crate::team::{Team, current};
use blitz_parts::job::Work;

/// Posts a job from a thread that may be a worker of `team`: then the job stays close. `number`: of
/// a job that can be joined.
#[inline]
pub(crate) fn push_or_inject(team: &Team, work: Work, number: impl FnOnce() -> Option<u64>) {
    match current() {
        Some(owner) if owner.is_in(team) => owner.jobs().push_detached(work),
        Some(owner) if owner.stands_for(team) => {
            owner.jobs().push_counted(work, number().map(Joint::Job));
        }
        _ => inject(team, work),
    }
}

/// Posts a job that no caller waits for. If a thread was lent to the pool, and is away, another one
/// takes its place.
pub(crate) fn inject(team: &Team, work: Work) {
    sched::inject(team, work);
    need_worker(team);
}
