//! Giving other jobs a turn, from inside a job.

#![forbid(unsafe_code)]

use crate::pool::Pool;
use crate::worker::{Aside, Found, Look, Room, Wanted, current, stack};

/// What a yield did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// A job was run.
    Executed,
    /// There was nothing to run, or half of the thread's stack is in use: each job that yields inside of
    /// another's yield lies on top of that one.
    Idle,
}

/// Runs one job of the current pool, if there is one: the oldest of this worker's own, one for this
/// worker alone, or another's. `None` outside of a pool.
///
/// ```
/// assert_eq!(blitz::yield_now(), None);
/// ```
pub fn yield_now() -> Option<Yield> {
    let _visit = current::visit();
    let worker = current::current()?;
    if is_too_deep() {
        return Some(Yield::Idle);
    }
    let found = worker
        .take_oldest()
        .or_else(|| worker.open_mail())
        .map(Found::Job)
        .or_else(|| worker.find_elsewhere(Look::Public, Wanted::NONE));
    Some(run(found))
}

/// Runs one job of the current worker's own, if there is one. `None` outside of a pool.
///
/// ```
/// assert_eq!(blitz::yield_local(), None);
/// ```
pub fn yield_local() -> Option<Yield> {
    let _visit = current::visit();
    let worker = current::current()?;
    if is_too_deep() {
        return Some(Yield::Idle);
    }
    Some(run(worker.take_oldest().or_else(|| worker.open_mail()).map(Found::Job)))
}

/// Whether the stack is too short for another job. Then others have the core for a moment.
fn is_too_deep() -> bool {
    let too_deep = stack::room() < Room::Strangers;
    if too_deep {
        std::thread::yield_now();
    }
    too_deep
}

fn run(found: Option<Found>) -> Yield {
    match (found, current::current()) {
        (Some(found), Some(worker)) => {
            let _aside = Aside::begin();
            worker.run(found);
            Yield::Executed
        }
        _ => Yield::Idle,
    }
}

impl Pool {
    /// As [`yield_now`](crate::yield_now); `None` if the current thread is not a worker of this pool.
    pub fn yield_now(&self) -> Option<Yield> {
        self.current_worker_index().and_then(|_| yield_now())
    }

    /// As [`yield_local`](crate::yield_local); `None` if the current thread is not a worker of this
    /// pool.
    pub fn yield_local(&self) -> Option<Yield> {
        self.current_worker_index().and_then(|_| yield_local())
    }
}
