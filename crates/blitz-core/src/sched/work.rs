//! Checks whether there is any work. A worker does so for the last time just before it sleeps.

#![forbid(unsafe_code)]

use crate::team::{Team, Worker};

/// Whether there is work that any worker could take, including private jobs.
pub(crate) fn has_work(team: &Team) -> bool {
    has_work_but_tasks_of(team, None)
}

/// Whether there is a task that any worker could take.
pub(crate) fn has_tasks(team: &Team) -> bool {
    let has_public = || team.workers().any(|worker| worker.queues.has_public());
    team.tasks.may_have() || team.config.stealing && has_public()
}

/// Works like [`has_work`], but ignores tasks in the queues of worker `one`.
pub(crate) fn has_work_but_tasks_of(team: &Team, one: Option<usize>) -> bool {
    team.notice_refused_fence();
    let has_tasks = |worker: &Worker| {
        team.config.stealing && one != Some(worker.index()) && worker.queues.has_public()
    };
    !team.injector().is_empty()
        || team.tasks.may_have()
        || team.workers().any(|worker| !worker.deque.is_empty() || has_tasks(worker))
}
