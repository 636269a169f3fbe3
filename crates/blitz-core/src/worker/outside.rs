//! Jobs from threads that may not be workers of the team.

#![forbid(unsafe_code)]

use super::visit::need_worker;
use crate::sched;
use crate::state::Joint;
use crate::team::{Team, current};
use blitz_parts::job::Work;

/// Posts a job from any thread. On a worker of `team` the job goes to that worker's own deque.
/// `number` is the number of a job that can be joined.
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

/// Posts a job, for a caller that does not wait for it. If the pool's worker is a lent thread that
/// is away, another thread takes its place. A caller that waits sees to that by `wait_outside`.
pub(crate) fn inject(team: &Team, work: Work) {
    sched::inject(team, work);
    need_worker(team);
}
