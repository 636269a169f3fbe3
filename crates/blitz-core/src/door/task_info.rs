//! The tasks of a pool, as a list.

#![forbid(unsafe_code)]

use super::dump::json::{list, object, string};
use super::task_metrics::TaskMetrics;
use super::task_refs::references;
use crate::state::since_coarse;
use crate::task::Id;
use crate::team::Team;
use blitz_parts::task::{Glance, Life, TaskRef};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// The tasks of a pool at some recent moment: see [`tasks`](crate::tasks()).
///
/// It lists the tasks that have waited at least once and have not ended, the longest wait first. A
/// task that has not waited yet is only [counted](TaskList::unlisted). Tasks of a
/// [`LocalSet`](crate::LocalSet) belong to their thread and are not here.
///
/// ```
/// let pool = blitz::Pool::builder().workers(1).build()?;
/// let task = pool.spawn(std::future::pending::<()>());
/// while pool.tasks().is_empty() {
///     std::thread::yield_now();
/// }
/// let list = pool.tasks();
/// assert_eq!(list.iter().next().unwrap().id(), task.id());
/// assert!(list.to_json().starts_with("[{\"id\":\"0x"));
/// # Ok::<(), blitz::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TaskList {
    tasks: Vec<TaskInfo>,
    unlisted: usize,
}

/// One task in a [`TaskList`].
///
/// ```
/// # let pool = blitz::Pool::builder().workers(1).build()?;
/// # let waits = pool.spawn(std::future::pending::<()>());
/// # while pool.tasks().is_empty() {
/// #     std::thread::yield_now();
/// # }
/// for task in &pool.tasks() {
///     // task 0x100 waits for 12ms: app::session::{{closure}} from src/main.rs:7:5
///     println!("{task}");
///     assert_eq!((task.state(), task.wakers()), (blitz::TaskState::Waiting, 0));
///     assert!(task.type_name().contains("Pending"));
///     assert!(task.site().line() > 0);
/// }
/// # Ok::<(), blitz::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TaskInfo {
    id: Id,
    type_name: &'static str,
    site: &'static Location<'static>,
    name: Option<Arc<str>>,
    state: TaskState,
    idle: Option<Duration>,
    wakers: usize,
}

/// The states of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TaskState {
    /// It waits to be woken.
    Waiting,
    /// It was woken, and waits for a worker.
    Runnable,
    /// A worker polls or drops it.
    Running,
    /// It has ended.
    Ended,
}

impl TaskList {
    pub(in crate::door) fn of(team: &Team) -> TaskList {
        TaskList::of_tasks(team, &references(team))
    }

    /// Makes a list of `tasks`, which [`references`] returned.
    pub(in crate::door) fn of_tasks(team: &Team, tasks: &[TaskRef]) -> TaskList {
        let mut tasks: Vec<_> = tasks.iter().map(|task| TaskInfo::of(team, task)).collect();
        tasks.retain(|task| task.state != TaskState::Ended);
        tasks.sort_by(|a, b| b.idle.cmp(&a.idle).then(a.id.cmp(&b.id)));
        let unlisted = alive(team).saturating_sub(tasks.len());
        TaskList { tasks, unlisted }
    }

    /// Returns the tasks, the one that has waited longest first.
    pub fn iter(&self) -> std::slice::Iter<'_, TaskInfo> {
        self.tasks.iter()
    }

    /// Returns how many tasks are in the list.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Returns whether no task is in the list.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Returns about how many tasks are not in the list, because they have not waited yet.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build()?;
    /// assert_eq!(pool.tasks().unlisted(), 0);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    #[must_use]
    pub fn unlisted(&self) -> usize {
        self.unlisted
    }

    /// Returns the task of this id.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build()?;
    /// let task = pool.spawn(std::future::pending::<()>());
    /// while pool.tasks().get(task.id()).is_none() {
    ///     std::thread::yield_now();
    /// }
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    #[must_use]
    pub fn get(&self, id: Id) -> Option<&TaskInfo> {
        self.tasks.iter().find(|task| task.id == id)
    }

    /// Returns the list as one line of JSON, with what [`TaskInfo::to_json`] returns for each task.
    #[must_use]
    pub fn to_json(&self) -> String {
        list(self.tasks.iter().map(TaskInfo::to_json))
    }
}

impl<'a> IntoIterator for &'a TaskList {
    type Item = &'a TaskInfo;
    type IntoIter = std::slice::Iter<'a, TaskInfo>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for TaskList {
    type Item = TaskInfo;
    type IntoIter = std::vec::IntoIter<TaskInfo>;

    fn into_iter(self) -> Self::IntoIter {
        self.tasks.into_iter()
    }
}

impl fmt::Display for TaskList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tasks.iter().try_for_each(|task| writeln!(f, "{task}"))?;
        match self.unlisted {
            0 => Ok(()),
            1 => writeln!(f, "and 1 task that has not waited yet"),
            more => writeln!(f, "and {more} tasks that have not waited yet"),
        }
    }
}

impl TaskInfo {
    pub(in crate::door) fn of(team: &Team, task: &TaskRef) -> TaskInfo {
        let id = Id::of(task);
        let Glance { life, wakers } = task.glance();
        let state = match life {
            Life::Idle => TaskState::Waiting,
            Life::Scheduled => TaskState::Runnable,
            Life::Running => TaskState::Running,
            Life::Complete => TaskState::Ended,
        };
        TaskInfo {
            id,
            type_name: task.type_name(),
            site: task.site(),
            name: team.names.get(id),
            state,
            idle: since_coarse(task.stamp()).filter(|_| state == TaskState::Waiting),
            wakers,
        }
    }

    /// Returns its id, which is that of its [`JoinHandle`](crate::JoinHandle::id).
    #[must_use]
    pub fn id(&self) -> Id {
        self.id
    }

    /// Returns the type of its future. For an `async fn` it is the path of the function, followed
    /// by `::{{closure}}`.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        self.type_name
    }

    /// Returns where it was spawned.
    #[must_use]
    pub fn site(&self) -> &'static Location<'static> {
        self.site
    }

    /// Returns the name that [`task::Builder`](crate::TaskBuilder) gave it.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns its state.
    #[must_use]
    pub fn state(&self) -> TaskState {
        self.state
    }

    /// Returns how long it has waited since its last poll began; `None` if it does not wait.
    ///
    /// The time grows in steps of about a millisecond.
    #[must_use]
    pub fn idle(&self) -> Option<Duration> {
        self.idle
    }

    /// Returns how many wakers of the task there are.
    ///
    /// [`AbortHandle`](crate::AbortHandle)s count as wakers. A task that waits and has no waker is
    /// never woken.
    #[must_use]
    pub fn wakers(&self) -> usize {
        self.wakers
    }

    /// Returns the task as one line of JSON.
    ///
    /// Its fields are `id`, `type`, `site`, `name` if the task has one, `state`, `idle_ms`,
    /// `wakers` and `waits`. 64-bit numbers are strings.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.json_with(list(Vec::<String>::new()))
    }

    /// Works like `to_json`, with a list of the task's waits.
    pub(in crate::door) fn json_with(&self, waits: String) -> String {
        let idle = self.idle.unwrap_or_default().as_millis();
        let name = self.name().map(|name| ("name", string(name)));
        let before = [
            ("id", string(&self.id.to_string())),
            ("type", string(self.type_name)),
            ("site", string(&self.site.to_string())),
        ];
        let after = [
            ("state", string(self.state.name())),
            ("idle_ms", string(&idle.to_string())),
            ("wakers", self.wakers.to_string()),
            ("waits", waits),
        ];
        object(before.into_iter().chain(name).chain(after))
    }
}

/// Writes the task's id, its name if it has one, its state, its type, and where it was spawned.
impl fmt::Display for TaskInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}", self.id)?;
        if let Some(name) = self.name() {
            write!(f, " {name:?}")?;
        }
        match (self.state, self.idle) {
            (TaskState::Waiting, Some(idle)) => write!(f, " waits for {idle:.0?}")?,
            (TaskState::Waiting, None) => f.write_str(" waits")?,
            (state, _) => write!(f, " is {}", state.name())?,
        }
        write!(f, ": {} from {}", self.type_name, self.site)
    }
}

impl TaskState {
    /// Returns the state in one word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TaskState::Waiting => "waiting",
            TaskState::Runnable => "runnable",
            TaskState::Running => "running",
            TaskState::Ended => "ended",
        }
    }
}

/// About how many tasks `team` has.
fn alive(team: &Team) -> usize {
    usize::try_from(TaskMetrics::of(team).alive()).unwrap_or(usize::MAX)
}
