//! Which worker the current thread is.

use super::{Worker, stack};
use crate::entered::entered;
use crate::team::Team;
use blitz_parts::prim::thread_local;
use std::cell::{Cell, RefCell};
use std::sync::{Arc, Weak};

thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(std::ptr::null()) };
}

/// The worker that the current thread is, if it is one.
///
/// The reference must not leave the current call: a thread stops being a worker only outside of every
/// job, in `WorkerScope::drop`.
#[inline(always)]
pub(crate) fn current<'a>() -> Option<&'a Worker> {
    // SAFETY: while the pointer is set, the scope's owner keeps the worker's team alive.
    CURRENT.with(|current| unsafe { current.get().as_ref() })
}

/// The current thread is this worker until the scope is dropped.
pub(crate) struct WorkerScope {
    before: *const Worker,
}

impl WorkerScope {
    /// Makes the current thread the worker.
    ///
    /// # Safety
    /// 1. No other thread is this worker at the same time.
    /// 2. The worker outlives the scope, which is dropped on this thread.
    pub(crate) unsafe fn take(worker: &Worker) -> WorkerScope {
        WorkerScope { before: CURRENT.with(|current| current.replace(worker)) }
    }
}

impl Drop for WorkerScope {
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(self.before));
    }
}

thread_local! {
    /// The team of which this thread is worker 0 without having been started as one. It sits down only
    /// while it is inside one of the pool's operations, so that it can leave for good at any other time, and another
    /// thread can end its adoption then.
    static ADOPTED: RefCell<Weak<Team>> = const { RefCell::new(Weak::new()) };
}

/// The team that has adopted the current thread, or had. None while the thread's locals are being destroyed.
fn adopting() -> Option<Arc<Team>> {
    ADOPTED.try_with(|adopted| adopted.borrow().upgrade()).ok().flatten()
}

/// The team that has adopted the current thread.
fn adopted() -> Option<Arc<Team>> {
    adopting().filter(|team| !team.adoption.is_over())
}

/// Makes the current thread worker 0 of `team`, until the pool's handle is dropped or the thread ends. It must not be
/// a worker yet.
pub(crate) fn adopt(team: &Arc<Team>) {
    ADOPTED.with(|adopted| adopted.replace(Arc::downgrade(team)));
}

/// Whether `team` has adopted the current thread.
pub(crate) fn is_adopted_by(team: &Team) -> bool {
    adopted().is_some_and(|adopting| std::ptr::eq(&*adopting, team))
}

/// Whether the current thread is a worker, inside an operation or not.
pub(crate) fn is_worker() -> bool {
    current().is_some() || adopted().is_some()
}

/// Calls `f` with the worker that the current thread is, inside an operation or not.
#[inline(always)]
pub(crate) fn with_worker<R>(f: impl FnOnce(&Worker) -> R) -> Option<R> {
    match current() {
        Some(worker) => Some(f(worker)),
        None => with_adopted(f),
    }
}

/// By itself, so that what the drop-in asks before each of its forks is one load.
#[cold]
#[inline(never)]
fn with_adopted<R>(f: impl FnOnce(&Worker) -> R) -> Option<R> {
    adopted()?.worker(0).map(f)
}

/// The current team: the entered one, else that of the worker.
pub(crate) fn team() -> Option<Arc<Team>> {
    entered().or_else(|| with_worker(|worker| worker.team().arc()))
}

/// Lets a thread that was adopted by a pool be its worker until the visit is dropped. Every operation
/// that may wait begins with it, if the current thread is no worker already.
#[cold]
pub(crate) fn visit() -> Option<Visit> {
    if current().is_some() {
        return None;
    }
    let team = adopting()?;
    if !team.adoption.sit_down() {
        return None;
    }
    // SAFETY: worker 0 of a team that adopts gets a thread of its own only when the adoption is over, which it is not
    // while this thread sits (see `adoption`); the team is kept beside the scope.
    let scope = unsafe { WorkerScope::take(team.worker(0)?) };
    stack::begin(None);
    Some(Visit { scope: Some(scope), team })
}

/// An adopted thread inside one of its pool's operations.
pub(crate) struct Visit {
    // Dropped in this order: the scope before what it sits in.
    scope: Option<WorkerScope>,
    team: Arc<Team>,
}

impl Drop for Visit {
    fn drop(&mut self) {
        let Some(worker) = current() else { return };
        // No thread polls these until the next visit, if there is one.
        worker.give_tasks_away();
        let (team, scope) = (&self.team, &mut self.scope);
        let mut stand_up = |makes_room| {
            team.adoption.stand_up(|| team.is_closing(), makes_room, || drop(scope.take()))
        };
        let mut leaves = stand_up(true);
        // If this thread is only in the way, and no other can be started, it stays.
        while leaves && !worker.hand_over() {
            leaves = stand_up(false);
        }
    }
}
