//! Visits of an adopted thread to its pool, and waits of other threads for it; see
//! `state/adoption`.

use super::adopted::{adopting, is_adopted_by};
use super::stack;
use super::thread::{hand_over, stand_in_for_adopted, start_successor};
use crate::sched::work::has_work;
use crate::team::{Inside, Team, WorkerScope, current};
use blitz_parts::prim::{Step, broken};
use blitz_parts::{thread, ticks, trail};
use std::sync::Arc;

/// Makes an adopted thread the worker of its pool until the visit is dropped. Every operation that
/// may wait begins with a visit, unless the current thread is already a worker.
#[cold]
pub(crate) fn visit() -> Option<Visit> {
    if current().is_some() {
        return None;
    }
    let team = adopting()?;
    if !team.adoption.sit_down() {
        return None;
    }
    // SAFETY: worker 0 of an adopting team gets its own thread only when the adoption is over. It
    // is not over while this thread sits (see `adoption`); the team is kept beside the scope.
    let scope = unsafe { WorkerScope::enter(team.worker(0)?) };
    stack::begin(None);
    let owner = current()?;
    owner.seat.sit_down(thread::current());
    owner.note_begin();
    // If this thread blocks in user code, the watch handles the work that it leaves behind.
    let (_, outside) = owner.own_trail().begin();
    if has_work(&team) {
        team.watch_left();
    }
    team.watch_stalls();
    let inside = team.be_inside();
    Some(Visit { scope: Some(scope), outside: Some(outside), _inside: inside, team })
}

/// An adopted thread inside one of its pool's operations.
pub(crate) struct Visit {
    // Dropped in this order: the scope before the team, and both after the hand-over.
    scope: Option<WorkerScope>,
    /// The whole visit is one run.
    outside: Option<trail::Outside>,
    _inside: Option<Inside>,
    team: Arc<Team>,
}

impl Drop for Visit {
    fn drop(&mut self) {
        let Some(owner) = current() else { return };
        if let Some(outside) = self.outside.take() {
            owner.own_trail().end(outside);
        }
        owner.attend_if_noted();
        // Give the tasks away: no thread would poll them until the next visit, if there is one.
        if !broken(Step::AdoptionGivesAway) {
            owner.tasks().give_away();
        }
        owner.insight.states.end(ticks::now());
        let (team, scope) = (&self.team, &mut self.scope);
        let mut stand_up = |makes_room| {
            team.adoption.stand_up(|| team.is_closing(), makes_room, || drop(scope.take()))
        };
        let mut leaves = stand_up(true);
        // If no other thread can be started, this thread stays.
        while leaves && !hand_over(owner) {
            leaves = stand_up(false);
        }
    }
}

/// Called when the current thread needs a worker. If another thread was lent to the pool and is in
/// none of its operations, the pool starts a thread that takes the place of the lent thread.
#[inline]
pub(crate) fn need_worker(team: &Team) {
    if team.config.lends_thread {
        replace_lent(team);
    }
}

#[cold]
fn replace_lent(team: &Team) {
    let other = !is_adopted_by(team);
    if other && team.adoption.end() && !start_successor(team) {
        // The lent thread stays the worker: no other thread can be started.
        team.adoption.resume();
        // If another thread dropped the handle meanwhile, that thread has left the worker to this
        // thread.
        if team.is_closing() && team.adoption.end() {
            stand_in_for_adopted(team);
        }
    }
}

/// Notes that the current thread, which is not a worker of this pool, waits for the pool until the
/// returned value is dropped.
pub(crate) fn wait_outside(team: &Team) -> Option<Outside<'_>> {
    if !team.config.lends_thread || is_adopted_by(team) {
        return None;
    }
    team.adoption.begin_waiting();
    if !broken(Step::AdoptionReplacesLent) {
        replace_lent(team);
    }
    Some(Outside(team))
}

/// A wait of a thread for a pool to which another thread was lent.
pub(crate) struct Outside<'a>(&'a Team);

impl Drop for Outside<'_> {
    fn drop(&mut self) {
        self.0.adoption.end_waiting();
    }
}
