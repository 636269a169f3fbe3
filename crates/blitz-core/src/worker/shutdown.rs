//! Ends a pool, in these steps:
//!
//! 1. The pool's handle is dropped: it gives up its count of `task_holds`, then that of `holds`.
//!    Threads outside the pool can post no more jobs.
//! 2. Every shielded section of a task has a count of both, too. From now on a section begins only
//!    inside another section. A section that is still there when its task has ended was forgotten,
//!    and its counts are given back. When `task_holds` is zero, no task is polled any more, and all
//!    are cancelled (see `sched/cancel`). Jobs go on, because a job may wait for a task's end.
//! 3. Every detached job gives up its count of `holds` when it has run. A job that spawns another
//!    job adds the count of the new job before it gives up its own. So `holds` is zero only if
//!    nothing is left.
//! 4. The thread that brings `holds` to zero stops the sleep protocol: every worker wakes and stays
//!    awake.
//! 5. A worker that finds nothing and sees `stopping` leaves its loop, runs the exit handler and
//!    the jobs that the handler spawned, gives up its scope and counts itself out. Mail that comes
//!    later is run by its sender. The last worker to leave cancels the remaining tasks.
//! 6. The handle's drop joins the threads, so their thread-local destructors have run, too. For
//!    threads from a custom spawner it waits only until step 5, because the spawner has their
//!    handles.
//!
//! A drop of the handle on one of the pool's own threads does not wait, because it would wait for
//! itself. With `detach_on_drop` no drop waits.
//!
//! The thread that a pool has adopted (see `state/adoption`) is free when the handle is gone. If
//! it drops the handle outside the pool's operations, and that drop waits, it works as the pool's
//! threads do until step 5. In all other cases a new thread takes its place. If the adopted thread
//! is inside an operation, it starts the new thread at the end of that operation, unless nothing is
//! left to do then. Otherwise the thread that drops the handle starts the new thread.

#![forbid(unsafe_code)]

use super::adopted::is_adopted_by;
use super::thread::{adopted_has_left, stand_in_for_adopted, start_successor};
use super::visit::visit;
use super::{help_outside, mark};
use crate::base::context::Aside;
use crate::sched::cancel::leave;
use crate::sched::end::{end_orphaned_sections, release_with_tasks};
use crate::team::{AnyLatch, Owner, Team, current};
use blitz_parts::prim::{Instant, Step, broken, thread};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

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
    // Threads of a custom spawner end by themselves; the spawner may have kept some for later.
    if !team.config.detach_on_drop {
        join_own_threads(team);
    }
}

/// Ends the team, for the drop of its handle. If `may_wait`, waits for the end, unless the team is
/// configured not to wait, or the end waits for this thread.
pub(crate) fn shut_down(team: &Team, may_wait: bool) {
    team.life.close();
    // Leave before the workers can: then one of them is the last, and cancels what is left.
    leave(team);
    release_with_tasks(team);
    // Either this thread sees that a task has ended, or the worker that polled it sees that the
    // handle is gone (LIFE-6).
    if !broken(Step::SectionsDropLooks) {
        end_orphaned_sections(team);
    }
    if is_inside(team) {
        // This thread is inside one of the pool's own operations, whose frames need the worker
        // until they end. An adopted thread hands over at that point.
        return;
    }
    let waits = may_wait && !team.config.detach_on_drop && !is_beside(team);
    end_adoption(team, waits);
    if !waits {
        return;
    }
    let _visit = visit();
    if let Some(owner) = current() {
        // This thread is a worker of another pool. The last jobs of `team` may wait for a job of
        // that pool, so this worker keeps working for its own pool.
        wait_for_end_on(team, owner);
    }
    wait_for_end(team);
}

/// Waits until the team has ended. The thread is none of the team's, and is the only one that waits
/// like this.
pub(crate) fn wait_for_end(team: &Team) {
    join_own_threads(team);
    team.ended().wait();
}

/// Waits at most `patience` until the team has ended; returns whether it has. Looks at intervals:
/// this is for a caller that could not start the thread that would wait.
pub(crate) fn ends_within(team: &Team, patience: Duration) -> bool {
    let start = Instant::now();
    while !team.ended().probe() {
        let left = patience.saturating_sub(start.elapsed());
        if left.is_zero() {
            return false;
        }
        thread::sleep(left.min(Duration::from_millis(1)));
    }
    true
}

/// Whether the end of the team waits for the current thread. A wait of this thread for that end
/// would be a wait for itself.
pub(crate) fn is_own_thread(team: &Team) -> bool {
    is_inside(team) || is_beside(team)
}

/// Whether the current thread is inside one of the team's own operations.
fn is_inside(team: &Team) -> bool {
    current().is_some_and(|owner| owner.is_in(team))
}

/// Whether the current thread is one that works for the team beside its workers.
fn is_beside(team: &Team) -> bool {
    team.blocking.is_here() || team.is_ambient_here() || team.watch.is_here()
}

/// Ends the adoption of a thread, if there is one. Work that only worker 0 may run runs here, if
/// this is the adopted thread and `waits` is set; otherwise on a thread that takes its place.
fn end_adoption(team: &Team, waits: bool) {
    if is_adopted_by(team) {
        let visit = visit();
        if let Some(owner) = current().filter(|_| waits) {
            // No frame of this worker is on the stack, so it may work like a thread of the pool.
            let _aside = Aside::begin();
            owner.run_until_stopped();
        }
        drop(visit);
    } else if !team.adoption.end() {
        // The end of the pool does not wait for operations of the adopted thread.
        if team.adoption.take_count_while_here() {
            team.count_out();
        }
        team.notify_ending();
    } else if !start_successor(team) {
        // The system starts no thread.
        if waits {
            stand_in_for_adopted(team);
        } else {
            // The adopted thread runs this work after its next visit.
            team.adoption.resume();
        }
    }
}

/// Waits for the end of `team` on a worker of another team. The worker helps its own team
/// meanwhile, and sleeps if there is nothing to do.
fn wait_for_end_on(team: &Team, owner: Owner<'_>) {
    let latch = Arc::new(AnyLatch::for_worker(owner));
    let awaited = Some(latch.clone());
    *team.end_awaited.lock().unwrap_or_else(PoisonError::into_inner) = awaited;
    // The last thread to count itself out sets the team's latch before it looks for the latch that
    // is stored here.
    if !team.ended().probe() {
        latch.wait(mark(), help_outside(owner.team()));
    }
    let awaited = team.end_awaited.lock().unwrap_or_else(PoisonError::into_inner).take();
    drop(awaited);
}

fn join_own_threads(team: &Team) {
    let next = || team.threads.lock().unwrap_or_else(PoisonError::into_inner).pop();
    // Join the threads one by one, because a worker may start the watch while this thread already
    // waits for other threads.
    while let Some(thread) = next() {
        // A worker thread does not unwind, so there is no panic to report.
        let _ = thread.join();
    }
    team.blocking.join();
}
