//! Cancels tasks at the end of their team: each is complete before the team is gone.
//!
//! 1. Tasks end once the team's handle is gone and no shielded section of a task is left (see
//!    `shutdown`). From then on a new task is cancelled as soon as it is spawned, and a worker that
//!    finds a task cancels it instead of polling it. Waiting tasks are aborted, which puts them
//!    into a queue. So workers find all of them.
//! 2. Jobs may keep the team at work for longer. The last worker to leave looks for tasks once
//!    more. If a foreign thread has just woken a task, that task is on its way into the queue, and
//!    the last worker waits for it.
//! 3. The queue closes. A thread that comes later keeps its task, and cancels it.
//!
//! A worker may be stuck in a poll that blocks until another task ends, perhaps the task in the
//! LIFO slot of that worker. So not only the last worker cancels: each leaving worker cancels the
//! tasks that it can reach, and from then on no list takes tasks. The watch may hold a task
//! meanwhile, on its way from a stuck worker to the queue: then a further thread cancels it (see
//! `worker/ending`).
//!
//! Dropping a future runs user code. It may wake other tasks: they go into the queues and are
//! cancelled later, never on top of each other. It may spawn new ones, which are cancelled at once.
//! And it may wait for other tasks: so the cancelling thread never takes all tasks at once.

use super::hold::{Hold, job};
use super::own::Tasks;
use super::share::inject;
use crate::team::{Owner, Team};
use blitz_parts::life::Left;
use blitz_parts::prim::yield_now;
use blitz_parts::task::{Owned, Runnable, TaskRef};

impl Tasks<'_> {
    /// Cancels the tasks that no worker runs, if the team cancels its tasks by now. Called by a
    /// worker that leaves: another worker may be stuck until one of these tasks is gone.
    pub(crate) fn cancel_beside_others(self) {
        let team = self.team();
        if !team.tasks_end() {
            return;
        }
        // The drop of a task may wait for the drop of another: keep all tasks where other threads
        // can take them.
        self.give_away();
        self.while_parking(|| cancel_reachable(team));
    }
}

/// Cancels the tasks that no worker runs and that any thread can reach.
pub(crate) fn cancel_reachable(team: &Team) {
    cancel_waiting_tasks(team);
    for worker in team.workers() {
        let rescued = worker.queues.rescue();
        team.outside.cancelled.add_shared(u64::from(rescued.is_some()));
        drop(rescued);
    }
    cancel_queued(team);
}

impl Drop for Team {
    fn drop(&mut self) {
        // A thread that the pool adopted may have ended without leaving.
        cancel_all(self, yield_now);
        self.shut_driver_down();
    }
}

/// Counts out a worker that will never work, or the handle.
pub(crate) fn leave(team: &Team) {
    if cancel_if_last(team, yield_now) {
        team.end_ambient();
    }
    team.count_out();
}

/// Counts the caller out: a worker, or the handle. The last one cancels every task that is left.
/// Returns whether the caller was the last: then it also has to end the team's ambient context,
/// once no job is left. `meanwhile` is called as long as other threads hold tasks, whose drops may
/// wait for the driver.
pub(crate) fn cancel_if_last(team: &Team, meanwhile: impl Fn()) -> bool {
    let is_last = team.life.leave() == Left::Last;
    if is_last {
        cancel_all(team, meanwhile);
        team.shut_driver_down();
    }
    if is_last || team.all_have_left() {
        team.notify_ending();
    }
    is_last
}

/// Cancels every task. Call it only when no other thread is a worker any more.
fn cancel_all(team: &Team, meanwhile: impl Fn()) {
    while cancel_round(team) > 0 || team.life.anyone_late() {
        meanwhile();
    }
    // Cancels the tasks that came since the last round.
    team.tasks.close();
}

/// Injects a job that cancels every task, while the other workers go on with jobs. The caller holds
/// the team.
#[cold]
pub(crate) fn cancel_tasks_soon(team: &Team) {
    let kept = team.arc();
    inject(
        team,
        job(Hold::new(team), move || {
            cancel_waiting_tasks(&kept);
            cancel_queued(&kept);
        }),
    );
}

/// Hands a task to the thread that drops the team, because the task was woken during that drop.
/// That thread waits for it: first because the task is not complete, then because `Life` counts the
/// late waker. The waker does not cancel the task itself, because the drop of another task may have
/// called the waker.
pub(super) fn cancel_late(team: &Team, task: Runnable) {
    team.life.come_late(|| team.tasks.leave_to_the_end(task));
}

/// Cancels the tasks that wait to be woken. Returns how many could not be cancelled here, because
/// they are in a queue, or because a thread is queueing or polling them.
pub(crate) fn cancel_waiting_tasks(team: &Team) -> usize {
    team.workers().for_each(|worker| abort_all(&worker.queues.owned));
    team.workers().map(|worker| worker.queues.owned.close_and_cancel()).sum()
}

/// Cancels the tasks in the team's queue, one by one, and returns how many there were.
fn cancel_queued(team: &Team) -> usize {
    let mut cancelled = 0;
    while let Some(task) = team.tasks.take_one() {
        drop(task);
        cancelled += 1;
    }
    team.outside.cancelled.add_shared(cancelled as u64);
    cancelled
}

/// Cancels the tasks that it finds. Returns 0 only if it found none, so that none is left. Like
/// [`cancel_all`], it may be called only when no other thread is a worker any more.
fn cancel_round(team: &Team) -> usize {
    let waiting = cancel_waiting_tasks(team);
    // SAFETY: no thread is a worker any more except the caller, which uses its own worker only
    // through these owners.
    let left = |worker| unsafe { Owner::of_left(worker) };
    let queued: usize = team.workers().map(|worker| Tasks(left(worker)).cancel_queued()).sum();
    waiting + queued + cancel_queued(team)
}

/// Moves every waiting task into a queue. No shields are left.
fn abort_all(owned: &Owned) {
    owned.tasks().iter().for_each(TaskRef::abort);
}
