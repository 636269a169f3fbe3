//! Explains why a pool does nothing: which task waits for what, and which waits never end.

#![forbid(unsafe_code)]

mod blocked;
mod edge;
mod graph;
mod json;
mod length;
mod look;
mod stacks;
mod text;

use super::task_info::{TaskInfo, TaskList};
use crate::base::Id;
use crate::state::StallReport;
use crate::team::{Team, Worker};
use crate::worker;
pub use edge::{WaitEdge, WaitKind};
use look::{Circles, Look};
use stacks::{PATIENCE, Probed};
pub use stacks::{TaskFrame, TaskStack};
use std::collections::HashMap;

/// Which task waits for what in a pool, and which waits never end: see
/// [`explain`](crate::explain()).
///
/// [`Display`](std::fmt::Display) writes it in words, [`to_json`](Explanation::to_json) for
/// programs.
///
/// ```
/// let pool = blitz::Pool::builder().workers(1).build()?;
/// let lost = pool.spawn(std::future::pending::<()>());
/// while pool.explain().never_wake().is_empty() {
///     std::thread::yield_now();
/// }
/// let explanation = pool.explain();
/// assert_eq!(explanation.never_wake(), [lost.id()]);
/// println!("{explanation}"); // never wakes: 0x101 core::future::pending::Pending<()> (src/main.rs:3)
/// # Ok::<(), blitz::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Explanation {
    tasks: Vec<WaitingTask>,
    unlisted: usize,
    cycles: Circles,
    possible: Circles,
    never: Vec<Id>,
    behind: Vec<Id>,
    workers: Vec<WaitingWorker>,
    stalls: Vec<StallReport>,
    /// The result of the probes, if there were any.
    probed: Option<Probed>,
}

/// A waiting task and the events that could wake it: a part of an [`Explanation`].
///
/// ```
/// let pool = blitz::Pool::builder().workers(1).build()?;
/// let first = pool.spawn(std::future::pending::<()>());
/// let id = first.id();
/// let second = pool.spawn(first);
/// while pool.explain().get(second.id()).is_none_or(|task| task.waits().is_empty()) {
///     std::thread::yield_now();
/// }
/// let explanation = pool.explain();
/// let edge = &explanation.get(second.id()).unwrap().waits()[0];
/// assert_eq!((edge.kind(), edge.target()), (blitz::WaitKind::Join, Some(id)));
/// # Ok::<(), blitz::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct WaitingTask {
    info: TaskInfo,
    waits: Vec<WaitEdge>,
    stacks: Vec<TaskStack>,
}

/// A worker that sleeps inside a job or poll until another worker has run something.
#[derive(Clone, Copy, Debug)]
struct WaitingWorker {
    index: usize,
    waits_for: usize,
}

impl Explanation {
    pub(in crate::door) fn of(team: &Team) -> Explanation {
        let Look { tasks, waits, never, behind, cycles, possible } = Look::at(team);
        let list = TaskList::of_tasks(team, &tasks);
        let unlisted = list.unlisted();
        let mut by_id: HashMap<_, _> = tasks.iter().map(Id::of).zip(waits).collect();
        let tasks = list.into_iter().map(|info| {
            let waits = by_id.remove(&info.id()).unwrap_or_default();
            WaitingTask { info, waits, stacks: Vec::new() }
        });
        Explanation {
            tasks: tasks.collect(),
            unlisted,
            cycles,
            possible,
            never,
            behind,
            workers: team.workers().filter_map(WaitingWorker::of).collect(),
            stalls: worker::stalls(team),
            probed: None,
        }
    }

    /// Does what `of` does, and adds the stacks of waiting tasks. Workers poll these tasks to find
    /// the stacks.
    pub(in crate::door) fn probed(team: &Team) -> Explanation {
        // Look before the polls, because each poll begins a wait anew.
        let mut explanation = Explanation::of(team);
        let waiting = explanation.tasks.iter().filter(|task| task.info.idle().is_some());
        let (probed, mut found) =
            stacks::stacks(team, waiting.map(|task| task.info.id()), PATIENCE);
        for task in &mut explanation.tasks {
            task.stacks = found.remove(&task.info.id()).unwrap_or_default();
        }
        explanation.probed = Some(probed);
        explanation
    }

    /// Returns the deadlocks. In each, every task waits for the next one, and the last waits for
    /// the first.
    ///
    /// A deadlock has the ids of tasks, and of jobs and blocking closures that wait for the next
    /// one. Nothing else could let any of them go on. A task that also waits for something else,
    /// for example for a timeout, is not in a deadlock. A task of which any other waker exists is
    /// not, either.
    #[must_use]
    pub fn cycles(&self) -> &[Vec<Id>] {
        &self.cycles.ids
    }

    /// Returns possible deadlocks.
    ///
    /// Each is a circle like those of [`cycles`](Explanation::cycles), but some of its tasks have
    /// wakers that the pool did not find. If each of these wakers is an
    /// [`AbortHandle`](crate::AbortHandle) that the program keeps but never uses, the circle is a
    /// deadlock. If one is in a channel or a lock, the task may go on.
    #[must_use]
    pub fn possible_cycles(&self) -> &[Vec<Id>] {
        &self.possible.ids
    }

    /// Returns the tasks that wait and have no waker left: nothing can wake them any more. Only an
    /// abort ends them.
    #[must_use]
    pub fn never_wake(&self) -> &[Id] {
        &self.never
    }

    /// Returns the tasks that wait only for tasks in a deadlock, or for tasks that never wake.
    #[must_use]
    pub fn behind(&self) -> &[Id] {
        &self.behind
    }

    /// Returns the tasks that wait or have waited, and those whose polls block a thread. The one
    /// that has waited longest is the first.
    #[must_use]
    pub fn tasks(&self) -> &[WaitingTask] {
        &self.tasks
    }

    /// Returns the task of this id, if it waits or has waited.
    #[must_use]
    pub fn get(&self, id: Id) -> Option<&WaitingTask> {
        self.tasks.iter().find(|task| task.info.id() == id)
    }

    /// Returns about how many tasks are not listed because they have not waited yet.
    #[cfg(feature = "inspect")]
    pub(in crate::door) fn unlisted(&self) -> usize {
        self.unlisted
    }

    /// Returns the stuck workers, as [`stalls`](crate::stalls()) does.
    #[must_use]
    pub fn stalls(&self) -> &[StallReport] {
        &self.stalls
    }

    /// Whether the explanation has a deadlock, a task that never wakes, or a stuck worker.
    #[must_use]
    pub fn has_findings(&self) -> bool {
        !(self.cycles.ids.is_empty() && self.never.is_empty() && self.stalls.is_empty())
    }
}

impl WaitingTask {
    /// Returns the identity and state of the task.
    #[must_use]
    pub fn info(&self) -> &TaskInfo {
        &self.info
    }

    /// Returns the events that could wake the task, as far as the pool knows.
    #[must_use]
    pub fn waits(&self) -> &[WaitEdge] {
        &self.waits
    }

    /// Returns the places at which the task waits, if it was [probed](crate::probe()).
    ///
    /// There is one stack for each place at which the task's future kept a waker in the poll of the
    /// probe, up to 16. All tasks together have at most 2,000 stacks: if many tasks were probed,
    /// each may have fewer.
    #[must_use]
    pub fn stacks(&self) -> &[TaskStack] {
        &self.stacks
    }
}

impl WaitingWorker {
    fn of(worker: &Worker) -> Option<WaitingWorker> {
        let sleeps = worker.is_in_work() && worker.insight.states.is_idle();
        let runner = worker.trail.waits_now().filter(|_| sleeps)?;
        Some(WaitingWorker { index: worker.index(), waits_for: runner.index as usize })
    }
}
