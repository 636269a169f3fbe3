//! The pool that has adopted the current thread; see `state/adoption`.

#![forbid(unsafe_code)]

use crate::team::{Team, Worker, current, entered};
use blitz_parts::prim::thread_local;
use std::cell::RefCell;
use std::sync::{Arc, Weak};

thread_local! {
    /// The team that has adopted this thread as worker 0. The thread is the worker only inside of
    /// the pool's operations. At any other time it can leave for good, and another thread can end
    /// its adoption.
    static ADOPTED: RefCell<Weak<Team>> = const { RefCell::new(Weak::new()) };
}

/// Returns the team that adopted the current thread, even if the adoption is over. Returns `None`
/// while the thread's locals are being destroyed.
pub(super) fn adopting() -> Option<Arc<Team>> {
    ADOPTED.try_with(|adopted| adopted.borrow().upgrade()).ok().flatten()
}

/// The team that has adopted the current thread.
fn adopted() -> Option<Arc<Team>> {
    adopting().filter(|team| !team.adoption.is_over())
}

/// Makes the current thread worker 0 of `team`, until the pool's handle is dropped or the thread
/// ends. The thread must not be a worker yet.
pub(crate) fn adopt(team: &Arc<Team>) {
    ADOPTED.with(|adopted| adopted.replace(Arc::downgrade(team)));
}

/// Whether `team` has adopted the current thread.
pub(super) fn is_adopted_by(team: &Team) -> bool {
    adopted().is_some_and(|adopting| std::ptr::eq(&*adopting, team))
}

/// Whether the current thread is a worker, inside an operation or not.
pub(crate) fn is_worker() -> bool {
    current().is_some() || adopted().is_some()
}

/// Calls `f` with the worker of the current thread, inside an operation or not.
#[inline(always)]
pub(crate) fn with_worker<R>(f: impl FnOnce(&Worker) -> R) -> Option<R> {
    match current() {
        Some(owner) => Some(f(owner.worker())),
        None => with_adopted(f),
    }
}

/// Does what [`with_worker`] does outside operations. This is a separate function, so that the
/// check before each fork of the drop-in `rayon-core` is one load.
#[cold]
#[inline(never)]
fn with_adopted<R>(f: impl FnOnce(&Worker) -> R) -> Option<R> {
    adopted()?.worker(0).map(f)
}

/// The index of the current thread among the workers of `team`, if it is one of them.
pub(crate) fn index_in(team: &Team) -> Option<usize> {
    with_worker(|worker| worker.is_in(team).then(|| worker.index())).flatten()
}

/// The current team: the entered one, else that of the worker.
pub(crate) fn current_team() -> Option<Arc<Team>> {
    entered().or_else(|| with_worker(|worker| worker.team().arc()))
}
