//! Runs other jobs from inside a job.

#![forbid(unsafe_code)]

use crate::base::context::Aside;
use crate::team::current;
use crate::worker::{Found, Look, Room, Wanted, room, visit};
use blitz_parts::prim;

/// The outcome of a yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// A job was run.
    Executed,
    /// There was no job to run, or half of the thread's stack is in use. When jobs yield, they pile
    /// up on the stack: each runs on top of the job that yielded to it.
    Idle,
}

/// Runs one job of the worker's own pool, if there is one: see [`yield_job`](crate::yield_job).
pub(crate) fn yield_job() -> Option<Yield> {
    let _visit = visit();
    let owner = current()?;
    if is_too_deep() {
        return Some(Yield::Idle);
    }
    let own = owner.jobs().take_oldest().or_else(|| owner.jobs().open_mail()).map(Found::Job);
    Some(run(own.or_else(|| owner.find_elsewhere(Look::Public, Wanted::NONE))))
}

/// Runs one of the current worker's own jobs, if there is one.
pub(crate) fn yield_local() -> Option<Yield> {
    let _visit = visit();
    let owner = current()?;
    if is_too_deep() {
        return Some(Yield::Idle);
    }
    Some(run(owner.jobs().take_oldest().or_else(|| owner.jobs().open_mail()).map(Found::Job)))
}

/// Whether the stack has no room for another job. If so, yields the core for a moment.
fn is_too_deep() -> bool {
    let too_deep = room() < Room::Strangers;
    if too_deep {
        prim::yield_now();
    }
    too_deep
}

fn run(found: Option<Found>) -> Yield {
    match (found, current()) {
        (Some(found), Some(owner)) => {
            let _aside = Aside::begin();
            owner.run(found);
            Yield::Executed
        }
        _ => Yield::Idle,
    }
}
