//! The current pool: the entered one, else that of the worker, else the global one.

#![forbid(unsafe_code)]

use super::dump::Dump;
use super::explain::Explanation;
use super::global;
use super::holds::{hold, hold_at_work};
use super::metrics::PoolMetrics;
use super::task_info::TaskList;
use super::trace::Trace;
use super::unfinished::Unfinished;
use crate::base::{BuildError, context};
use crate::sched::end::try_hold;
use crate::sched::hold::Hold;
use crate::state::{Scheduler, StallReport};
use crate::team::{Team, Worker, current, entered};
use crate::worker::{self, current_team, visit, with_worker};
use std::time::Duration;

/// Returns the index of the current thread among the workers of its pool, if it is a worker. A
/// [spare](crate::PoolBuilder::spares) has an index from [`current_num_workers`] on.
///
/// ```
/// assert_eq!(blitz::current_worker_index(), None);
/// let inside = blitz::scope(|_| blitz::current_worker_index());
/// assert!(inside.is_some());
/// ```
#[inline]
#[doc(alias = "current_thread_index")]
#[must_use]
pub fn current_worker_index() -> Option<usize> {
    with_worker(Worker::index)
}

/// Returns whether the current worker's own queue holds jobs that have not begun.
///
/// Returns `None` on a thread that is not a worker. Such a job may be stolen at any moment, so use
/// the answer for heuristics only.
///
/// ```
/// assert_eq!(blitz_core::current_worker_has_jobs(), None);
/// let pool = blitz_core::Pool::builder().workers(1).build().unwrap();
/// pool.scope(|s| {
///     assert_eq!(blitz_core::current_worker_has_jobs(), Some(false));
///     s.spawn(|_| ());
///     assert_eq!(blitz_core::current_worker_has_jobs(), Some(true));
/// });
/// ```
#[must_use]
pub fn current_worker_has_jobs() -> Option<bool> {
    with_worker(|worker| !worker.deque.is_empty())
}

/// Returns how many workers the current or the global pool has.
///
/// ```
/// assert!(blitz::current_num_workers() >= 1);
/// ```
///
/// # Panics
/// If the global pool is needed and cannot be built: see [`global`](crate::global).
#[doc(alias = "current_num_threads")]
#[track_caller]
#[must_use]
pub fn current_num_workers() -> usize {
    with_current_team(Team::num_workers)
}

/// Returns the scheduler of the current or the global pool.
///
/// ```
/// let pool = blitz::Pool::builder().workers(1).scheduler(blitz::Scheduler::Signal).build()?;
/// assert_eq!(pool.install(blitz::scheduler), blitz::Scheduler::Signal);
/// # Ok::<(), blitz::BuildError>(())
/// ```
///
/// # Panics
/// If the global pool is needed and cannot be built: see [`global`](crate::global).
#[must_use]
#[track_caller]
pub fn scheduler() -> Scheduler {
    with_current_team(|team| team.tasks.scheduler())
}

/// Returns what the workers of the current or the global pool have done so far.
///
/// Counting is always on. This call also counts the queued jobs, which holds up workers with
/// private forks for some microseconds.
///
/// ```
/// blitz::join(|| (), || ());
/// assert!(blitz::metrics().total().pushes >= 1);
/// ```
///
/// # Panics
/// If the global pool is needed and cannot be built: see [`global`](crate::global).
#[must_use]
#[track_caller]
pub fn metrics() -> PoolMetrics {
    with_current_team(PoolMetrics::of)
}

/// Returns the state of the current or the global pool, for example for a watchdog.
///
/// The dump has the counters, latches and deques of the workers, and the tasks that have waited. It
/// is data, and can be written as text and JSON.
///
/// ```
/// assert!(blitz::dump().to_string().contains("worker 0"));
/// ```
///
/// # Panics
/// If the global pool is needed and cannot be built: see [`global`](crate::global).
#[must_use]
#[track_caller]
pub fn dump() -> Dump {
    with_current_team(Dump::of)
}

/// Returns the timeline of the current or the global pool for the time `last` before now.
///
/// See [`Pool::trace`](crate::Pool::trace).
///
/// ```
/// let trace = blitz::trace(std::time::Duration::from_secs(1));
/// assert_eq!(trace.tracks[0].name, "worker 0");
/// ```
///
/// # Panics
/// If the global pool is needed and cannot be built: see [`global`](crate::global).
#[must_use]
#[track_caller]
pub fn trace(last: Duration) -> Trace {
    with_current_team(|team| Trace::of(team, last))
}

/// Returns the tasks of the current or the global pool, with the identity and state of each.
///
/// No worker stops for it, and it also works when the pool hangs.
///
/// ```
/// let tasks = blitz::tasks();
/// println!("{tasks}{} more", tasks.unlisted());
/// # assert!(tasks.iter().all(|task| !task.type_name().is_empty()));
/// ```
///
/// # Panics
/// If the global pool is needed and cannot be built: see [`global`](crate::global).
#[must_use]
#[track_caller]
pub fn tasks() -> TaskList {
    with_current_team(TaskList::of)
}

/// Returns the stuck workers of the current or the global pool.
///
/// Such a worker has been in the same poll or job for 20 ms or more, without a fork. The time
/// counts from the first look at the worker in this poll or job. The watch looks while work waits,
/// and each call of this function looks. So a worker that is stuck while nothing waits is in the
/// list 20 ms after the first call. A worker in [`block_in_place`](crate::block_in_place) is not in
/// the list: it has said that it blocks, and another thread works in its place. No worker stops for
/// this call.
///
/// [`PoolBuilder::stall_handler`](crate::PoolBuilder::stall_handler) is called for each worker that
/// stays stuck for about a tenth of a second.
///
/// ```
/// for report in blitz::stalls() {
///     eprintln!("{report}");
/// }
/// ```
///
/// # Panics
/// If the global pool is needed and cannot be built: see [`global`](crate::global).
#[must_use]
#[track_caller]
pub fn stalls() -> Vec<StallReport> {
    with_current_team(worker::stalls)
}

/// Returns which task waits for what in the current or the global pool, and which waits never end.
///
/// The explanation knows which tasks wait for each other's join handles, for sockets and other
/// descriptors (and their peers), for timers, for closures of
/// [`spawn_blocking`](crate::spawn_blocking) and for jobs of [`spawn_cpu`](crate::spawn_cpu). It
/// also knows which workers wait for each other. It does not know the holder of a lock or of the
/// other end of a channel: a task that waits for one of these waits for an unknown holder.
///
/// Its findings about deadlocks and lost wakers are certain: nothing else could wake these tasks.
/// No worker stops for this call, and it also works when the pool hangs.
///
/// ```
/// println!("{}", blitz::explain());
/// # assert!(blitz::explain().cycles().is_empty());
/// ```
///
/// # Panics
/// If the global pool is needed and cannot be built: see [`global`](crate::global).
#[must_use]
#[track_caller]
pub fn explain() -> Explanation {
    with_current_team(Explanation::of)
}

/// Does what [`explain`](crate::explain()) does, and polls the waiting tasks to find where they
/// wait.
///
/// It wakes up to 1,000 tasks once: those that have waited longest. Each is polled with a waker
/// whose clones note the stack that they are made on; a future that waits keeps such a clone. For
/// the task this is a wake without a reason, which every future has to allow. The probe changes the
/// pool nevertheless: code of the program runs, and the time that a task has waited begins anew. So
/// use it for hangs that `explain` does not explain, and not at regular intervals.
///
/// It waits for the polls for one second at most, even if the pool hangs. Call it from a thread
/// that is not a worker, since a worker polls nothing while it probes. Only one thread of a process
/// probes at a time; other threads wait for a turn. A turn ends after at most that second and the
/// lookup of names, even if a worker that should poll is itself waiting for a turn to probe.
///
/// Names of functions need a program that is not stripped; lines need information for debuggers
/// (`debug = "line-tables-only"`). Looking them up takes some tenths of a second the first time.
///
/// ```
/// let pool = blitz::Pool::builder().workers(1).build()?;
/// async fn session(done: blitz::sync::oneshot::Receiver<()>) {
///     let _ = done.await;
/// }
/// let (_done, ended) = blitz::sync::oneshot::channel();
/// let task = pool.spawn(session(ended));
/// while pool.tasks().is_empty() {
///     std::thread::yield_now();
/// }
/// let explanation = pool.probe();
/// println!("{explanation}"); // .. waits in tokio::sync::oneshot::.. app::session::{{closure}}
/// assert_eq!(explanation.get(task.id()).unwrap().stacks().len(), 1);
/// # Ok::<(), blitz::BuildError>(())
/// ```
///
/// # Panics
/// If the global pool is needed and cannot be built: see [`global`](crate::global).
#[must_use]
#[track_caller]
pub fn probe() -> Explanation {
    with_current_team(Explanation::probed)
}

/// Returns what the end of the current or the global pool waits for, or would wait for.
///
/// ```
/// assert_eq!(blitz::unfinished().workers, blitz::current_num_workers());
/// ```
///
/// # Panics
/// If the global pool is needed and cannot be built: see [`global`](crate::global).
#[must_use]
#[track_caller]
pub fn unfinished() -> Unfinished {
    with_current_team(Unfinished::of)
}

/// Calls `f` with the current team, else with the global one. The team may have ended if it was
/// entered.
#[inline]
#[track_caller]
pub(super) fn with_current_team<R>(f: impl FnOnce(&Team) -> R) -> R {
    match current() {
        Some(worker) if !context::is_entered() => f(worker.team()),
        _ => with_another_team(f),
    }
}

/// Works as [`with_current_team`], but does not build the global team.
pub(super) fn try_with_current_team<R>(f: impl FnOnce(&Team) -> R) -> Option<R> {
    if let Some(worker) = current().filter(|_| !context::is_entered()) {
        return Some(f(worker.team()));
    }
    match current_team() {
        Some(team) => Some(f(&team)),
        None => global::built().map(f),
    }
}

/// The slow path of [`with_current_team`]: the thread is not a worker, or it has entered a pool.
#[cold]
#[track_caller]
pub(super) fn with_another_team<R>(f: impl FnOnce(&Team) -> R) -> R {
    match entered() {
        Some(team) => f(&team),
        None => with_own_team(f),
    }
}

/// Works as [`with_another_team`], and returns an error where that function panics.
///
/// # Errors
/// If the global pool is needed and cannot be built.
#[cold]
pub(super) fn try_with_another_team<R>(f: impl FnOnce(&Team) -> R) -> Result<R, BuildError> {
    if let Some(team) = entered() {
        return Ok(f(&team));
    }
    let _visit = visit();
    match current() {
        Some(worker) => Ok(f(worker.team())),
        None => global::global().map(|pool| f(pool.team())),
    }
}

/// Works as [`with_current_team`], and passes `f` a hold that keeps the team at work. There may be
/// no hold if the team was entered: see [`hold`].
#[track_caller]
pub(super) fn with_held_team<R>(f: impl FnOnce(&Team, Option<Hold>) -> R) -> R {
    match entered() {
        Some(team) => f(&team, hold(&team)),
        None => with_own_team(|team| f(team, Some(Hold::new(team)))),
    }
}

/// Works as [`with_held_team`], for work that threads other than the team's workers run. If the
/// team was not entered, there is no hold once its workers are leaving.
#[track_caller]
pub(super) fn with_team_at_work<R>(f: impl FnOnce(&Team, Option<Hold>) -> R) -> R {
    match entered() {
        Some(team) => f(&team, hold_at_work(&team)),
        None => with_own_team(|team| f(team, Hold::while_at_work(team))),
    }
}

/// Works as [`with_current_team`], for a call that waits for jobs. A thread that has entered a team
/// uses it only while the team is not ending. Then `f` gets a hold, and must drop it before the
/// caller's wait has ended: while the caller waits, it may run other work on top of its frame, and
/// that work may drop the pool.
#[track_caller]
pub(super) fn with_working_team<R>(f: impl FnOnce(&Team, Option<Hold>) -> R) -> R {
    let entered = entered();
    match entered.as_ref().and_then(|team| Some((team, try_hold(team)?))) {
        Some((team, hold)) => f(team, Some(hold)),
        None => with_own_team(|team| f(team, None)),
    }
}

/// Calls `f` with the team of the calling worker, else with the global one. Neither ends meanwhile.
#[track_caller]
fn with_own_team<R>(f: impl FnOnce(&Team) -> R) -> R {
    let _visit = visit();
    match current() {
        Some(worker) => f(worker.team()),
        None => f(global::team()),
    }
}
