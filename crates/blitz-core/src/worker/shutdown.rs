//! How a pool ends, step by step.
//!
//! 1. The pool's handle is dropped: it gives up its count of `task_holds`, then that of `alive`.
//!    Threads outside of the pool get no more jobs into it.
//! 2. Every shielded section of a task has a count of both, too; none begins any more. A section
//!    that is still there when its task has ended was forgotten, and its counts are given back.
//!    When the first is zero no task is polled any more, and all are cancelled (see
//!    `sched/cancel`). Jobs go on: one may wait for a task's end.
//! 3. Every detached job gives up its count of `alive` when it has run; a job that spawns another
//!    does so before it gives up its own, so the count is zero only if nothing is left.
//! 4. The thread that brings that count to zero stops the sleep protocol: every worker wakes and
//!    stays awake.
//! 5. A worker that finds nothing and sees `stopping` leaves its loop, runs the exit handler and
//!    what that spawned, gives up its scope and counts itself out. Mail that comes later its sender
//!    runs. The last to leave cancels the tasks that are left.
//! 6. The handle's drop joins the threads, so their thread-local destructors have run, too. Threads
//!    from a custom spawner are waited for up to step 5 only: their handles are the spawner's.
//!
//! A handle that is dropped on one of the pool's own threads cannot wait for itself: it does not
//! wait. Nor does one whose pool was built with `detach_on_drop`.
//!
//! The thread that a pool has adopted (see `worker/adoption`) is free when the handle is gone. If
//! it drops the handle outside of the pool's operations, it works as the pool's threads do until
//! step 5. In all other cases a thread is started that takes its place: by the thread that drops
//! the handle, or by the adopted one at the end of the operation that it is in, unless nothing is
//! left then.

#![forbid(unsafe_code)]

use super::adopted::is_adopted_by;
use super::thread::{adopted_has_left, stand_in_for_adopted, start_successor};
use super::visit::visit;
use super::{help_outside, mark};
use crate::base::context::Aside;
use crate::sched::cancel::leave;
use crate::sched::end::{end_orphaned_sections, release_with_tasks};
use crate::team::{AnyLatch, Owner, Team, current};
use blitz_parts::prim::{Step, broken};
use std::sync::{Arc, PoisonError};

/// Ends the workers of a team whose builder could not start a thread. `unstarted` of them never
/// ran.
pub(crate) fn give_up(team: &Team, unstarted: usize) {
    for _ in 0..unstarted {
        team.count_in();
        leave(team);
    }
    team.count_in();
    leave(team);
    adopted_has_left(team);
    release_with_tasks(team);
    // Threads that a custom spawner started end by themselves; it may have kept some for later.
    if !team.config.detach_on_drop {
        join_own_threads(team);
    }
}

/// Ends the team: what the handle's drop does.
pub(crate) fn shut_down(team: &Team) {
    team.life.close();
    // Before the workers can leave: so one of them is the last, and cancels what is left.
    leave(team);
    release_with_tasks(team);
    // Either this sees that a task has ended, or the worker that polled it sees that the handle is
    // gone (LIFE-6).
    if !broken(Step::SectionsDropLooks) {
        end_orphaned_sections(team);
    }
    if current().is_some_and(|owner| owner.is_in(team)) {
        // Inside of one of the pool's own operations, whose frames need the worker until they end.
        // A thread that the pool has adopted hands over then.
        return;
    }
    let is_own_thread = team.blocking.is_here() || team.is_ambient_here() || team.watch.is_here();
    let waits = !team.config.detach_on_drop && !is_own_thread;
    end_adoption(team, waits);
    if !waits {
        return;
    }
    let _visit = visit();
    if let Some(owner) = current() {
        // A worker of another pool: our last jobs may wait for one of its pool's, so it works on.
        wait_for_end_on(team, owner);
    }
    join_own_threads(team);
    team.ended().wait();
}

/// The thread that the pool has adopted, if any, is worker 0 no more. What only that could run
/// runs: here, if this is the thread and `waits`; else on a thread that takes its place.
fn end_adoption(team: &Team, waits: bool) {
    if is_adopted_by(team) {
        let visit = visit();
        if let Some(owner) = current().filter(|_| waits) {
            // No frame of this worker is on the stack, so it may do as a thread of the pool does.
            let _aside = Aside::begin();
            owner.run_until_stopped();
        }
        drop(visit);
    } else if !team.adoption.end() {
        // The end of the pool waits for no operation of the adopted thread.
        if team.adoption.take_count_while_here() {
            team.count_out();
        }
        team.notify_ending();
    } else if !start_successor(team) {
        // The system starts no thread.
        if waits {
            stand_in_for_adopted(team);
        } else {
            // Late is better than never: the adopted thread does it after its next visit.
            team.adoption.resume();
        }
    }
}

/// Waits for the end of `team` on a worker of another one. It helps its own team meanwhile, and
/// sleeps if there is nothing to do.
fn wait_for_end_on(team: &Team, owner: Owner<'_>) {
    let latch = Arc::new(AnyLatch::for_worker(owner));
    let awaited = Some(latch.clone());
    *team.end_awaited.lock().unwrap_or_else(PoisonError::into_inner) = awaited;
    // The last one to leave sets the team's latch before it looks for this one.
    if !team.ended().probe() {
        latch.wait(mark(), help_outside(owner.team()));
    }
    let awaited = team.end_awaited.lock().unwrap_or_else(PoisonError::into_inner).take();
    drop(awaited);
}

fn join_own_threads(team: &Team) {
    let next = || team.threads.lock().unwrap_or_else(PoisonError::into_inner).pop();
    // One by one, for a worker may start the watch while others are waited for already.
    while let Some(thread) = next() {
        // A worker thread does not unwind; if it did, there is no thread left to tell.
        let _ = thread.join();
    }
    team.blocking.join();
}
