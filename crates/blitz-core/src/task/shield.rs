//! Sections of a task that a cancellation does not interrupt.

#![forbid(unsafe_code)]

use super::local;
use crate::base::context;
use crate::sched::end::release_with_tasks;
use crate::team::Team;
use crate::team::current;
use blitz_parts::prim::{Step, broken};
use blitz_parts::task::TaskRef;
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Runs `future` to completion even if the task is aborted meanwhile. The abort takes effect when
/// the task next waits after its last shield has ended. Shields nest.
///
/// A shield begins with its first poll. While one task of a pool is shielded, a drop of the pool
/// cancels no task. A shield that begins after that drop is granted only inside another shield:
/// otherwise its task is cancelled before `future` is polled. Outside a task `future` simply runs.
/// A shield protects from aborts only: a caller that drops the future, as `select!` does, ends it.
///
/// A section may be forgotten (`std::mem::forget`) instead of run or dropped. It counts until its
/// task has ended. Until then it looks like a section that goes on: the drop of the pool waits for
/// it, and `Runtime::shutdown_within` waits for its time limit and then reports it.
///
/// ```
/// # blitz::block_on(async {
/// let (started, wait) = blitz::sync::oneshot::channel();
/// let (go, commit) = blitz::sync::oneshot::channel();
/// let (committed, is_committed) = blitz::sync::oneshot::channel();
/// let handle = blitz::spawn(async move {
///     blitz::task::shield(async move {
///         started.send(()).unwrap();
///         commit.await.unwrap(); // an abort does not get in here
///         committed.send(()).unwrap();
///     })
///     .await;
///     std::future::pending::<()>().await; // the abort takes effect here
/// });
/// wait.await.unwrap();
/// handle.abort();
/// go.send(()).unwrap();
/// assert!(handle.await.unwrap_err().is_cancelled());
/// is_committed.await.unwrap();
/// # });
/// ```
pub fn shield<F: Future>(future: F) -> Shield<F> {
    Shield { future, guard: None }
}

pin_project! {
    /// Future returned by [`shield`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Shield<F> {
        // Dropped in this order: the future first, then its protection.
        #[pin]
        future: F,
        guard: Option<Guard>,
    }
}

impl<F: Future> Future for Shield<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        if let Some(task) = context::task() {
            // A future may move to another task between two polls, and its shield with it.
            if this.guard.as_ref().is_none_or(|guard| guard.task != task) {
                match Guard::new(task) {
                    Ok(guard) => *this.guard = Some(guard),
                    Err(task) => {
                        // The pool ends: do not begin a section that cannot finish.
                        task.abort();
                        return Poll::Pending;
                    }
                }
            }
        }
        let result = std::task::ready!(this.future.poll(cx));
        *this.guard = None;
        Poll::Ready(result)
    }
}

/// One level of protection.
struct Guard {
    task: TaskRef,
    #[expect(dead_code, reason = "held for its drop")]
    hold: Option<TaskHold>,
}

impl Guard {
    /// Creates a guard. Returns the task if its pool is already ending.
    fn new(task: TaskRef) -> Result<Guard, TaskRef> {
        // A local task ends with its set, not with a pool.
        let worker = current().filter(|_| local::current().is_none());
        let hold = match worker.map(|worker| TaskHold::try_new(worker.team(), &task)) {
            Some(None) => return Err(task),
            Some(hold) => hold,
            None => None,
        };
        if task.add_shield().is_err() {
            panic!("a task can have up to 255 shields at once; this one would be one more");
        }
        Ok(Guard { task, hold })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.task.remove_shield();
    }
}

/// Keeps the pool from ending, and its tasks from being cancelled.
struct TaskHold {
    team: Arc<Team>,
    /// The section's entry in the team's list.
    key: u64,
}

impl TaskHold {
    /// Refuses once the pool is dropped: otherwise tasks could go from one shield to the next for
    /// ever. A shield inside another one is granted.
    fn try_new(team: &Team, task: &TaskRef) -> Option<TaskHold> {
        let held = if broken(Step::ShieldHoldsTasks) {
            team.life.hold_at_work()
        } else {
            team.try_hold_tasks(|| task.is_shielded())
        };
        held.then(|| TaskHold { team: team.arc(), key: team.sections.add(task.clone()) })
    }
}

impl Drop for TaskHold {
    fn drop(&mut self) {
        // False if the hold was already released when the task ended.
        if self.team.sections.remove(self.key) {
            if broken(Step::ShieldHoldsTasks) {
                self.team.release();
            } else {
                release_with_tasks(&self.team);
            }
        }
    }
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guard").field("task", &self.task.serial()).finish_non_exhaustive()
    }
}
