//! Puts tasks where all workers look, from any thread that keeps the team alive.

#![forbid(unsafe_code)]

use super::bitmap;
use crate::state::{TaskQueue, Tick, settle};
use crate::team::Team;
use blitz_parts::job::Work;
use blitz_parts::queue::Chain;
use blitz_parts::task::Runnable;

/// Enqueues a task that became runnable on a thread that is not a worker of its team, or that a
/// worker does not keep, for example because it is about to sleep or is stuck.
pub(crate) fn schedule_from_outside(team: &Team, task: Runnable) {
    // Threads that come here at the same time may lose counts. The counts only choose samples.
    let _ = team.outside.stamp(&task, Tick::STAMP_MASK);
    enqueue(team, task);
}

/// Puts a task into the team's queue, or into its bitmap.
pub(super) fn enqueue(team: &Team, task: Runnable) {
    match &*team.tasks {
        TaskQueue::Stealing(queue) => match queue.push(task) {
            Ok(_) => notify(team),
            // The team has ended, and its tasks with it.
            Err(task) => drop(task),
        },
        TaskQueue::Bitmap(bitmap) => {
            settle(bitmap, &task);
            bitmap::signal(team, bitmap, task);
        }
    }
}

/// Puts a chain of tasks into the queue of a team with the stealing scheduler.
pub(super) fn enqueue_all(team: &Team, chain: Chain) {
    let TaskQueue::Stealing(queue) = &*team.tasks else {
        unreachable!("the bitmap scheduler makes no chains");
    };
    match queue.push_chain(chain) {
        Ok(_) => notify(team),
        Err(chain) => drop(chain),
    }
}

/// Posts a job from any thread.
pub(crate) fn inject(team: &Team, work: Work) {
    if team.inject(work) == 0 {
        team.watch_work();
    }
}

fn notify(team: &Team) {
    // Notify one worker for any number of tasks, and only if no worker searches: a worker that
    // takes a part of them and leaves others wakes the next worker (SLEEP-3).
    let woken = team.sleep().new_jobs(1, true);
    team.notify_guests_of_task();
    if woken == 0 {
        team.watch_work();
    }
}
