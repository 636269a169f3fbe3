//! The thread of a worker, from its first moment to its last.

use super::mail::disown;
use super::stack;
use crate::base::context::Aside;
use crate::base::panic::AbortOnUnwind;
use crate::sched::cancel::{cancel_if_last, leave};
use crate::state::Rest;
use crate::team::{Owner, Team, WorkerScope, current};
use blitz_parts::prim::{thread, yield_now};
use blitz_parts::stock::Stock;
use blitz_parts::thread::current as current_thread;
use blitz_parts::ticks;
use std::sync::{Arc, PoisonError};

/// Works as worker `index` until the team ends.
pub(crate) fn run_worker(team: &Team, index: usize) {
    let stock = Stock::open();
    be_worker(team, index, |owner| {
        team.count_in();
        // Run the handler as work, so that the watch calls a spare if it blocks.
        owner.in_run(|_| run_start_handler(team, index));
        owner.run_until_stopped();
        owner.in_run(|_| run_exit_handler(team, index));
    });
    drop(stock);
    team.count_out();
}

/// Works as spare `index` whenever it is called, until the team ends.
pub(super) fn run_spare(team: &Team, index: usize, rest: &Arc<Rest>) {
    be_worker(team, index, |owner| {
        owner.in_run(|_| run_start_handler(team, index));
        owner.serve_until_over(rest);
        owner.in_run(|_| run_exit_handler(team, index));
    });
    team.count_out();
}

/// Counts out worker `index`, which will have no thread.
pub(crate) fn never_run(team: &Team, index: usize) {
    if let Some(worker) = team.worker(index) {
        disown(worker);
    }
    team.count_in();
    leave(team);
}

/// Calls the pool's start handler.
pub(crate) fn run_start_handler(team: &Team, index: usize) {
    if let Some(handler) = &team.config.start_handler {
        team.catch("a start handler", || handler(index));
    }
}

fn run_exit_handler(team: &Team, index: usize) {
    if let Some(handler) = &team.config.exit_handler {
        team.catch("an exit handler", || handler(index));
    }
}

/// Calls `work` as worker `index`, which then leaves. The caller has the right to be that worker,
/// once.
fn be_worker(team: &Team, index: usize, work: impl FnOnce(Owner<'_>)) {
    let Some(worker) = team.worker(index) else {
        unreachable!("threads are started for workers that exist");
    };
    // SAFETY: a worker that was not adopted has one thread, which calls this once. For an adopted
    // worker, the responsible thread calls this after the adoption is over (see `state/adoption`).
    // The caller keeps the team.
    let scope = unsafe { WorkerScope::enter(worker) };
    let inside = team.be_inside();
    stack::begin(team.config.stack_size);
    worker.seat.sit_down(current_thread());
    // If a worker vanished, others would wait for it for ever.
    let guard = AbortOnUnwind("a worker's loop");
    if let Some(owner) = current() {
        owner.note_begin();
        team.watch_stalls();
        work(owner);
        // Runs jobs that the exit handler spawned, or that another worker posted to this worker
        // while it left.
        retire(owner);
    }
    worker.insight.states.end(ticks::now());
    std::mem::forget(guard);
    drop(inside);
    drop(scope);
}

/// Runs the jobs that perhaps only this worker can run, and leaves.
fn retire(owner: Owner<'_>) {
    // An adopted thread leaves where its pool is dropped, perhaps inside a task of a local set.
    let _aside = Aside::begin();
    owner.tasks().cancel_beside_others();
    loop {
        run_jobs_left(owner);
        owner.tasks().give_away();
        // Jobs in the mail may spawn others.
        disown(owner.worker());
        if owner.worker().deque.is_empty() {
            break;
        }
    }
    let see_to_driver = || {
        if !owner.poll_driver() {
            yield_now();
        }
    };
    if cancel_if_last(owner.team(), see_to_driver) {
        // The drops of tasks and the wakers of the driver may have spawned jobs, and no other
        // worker is left.
        run_jobs_left(owner);
        owner.tasks().give_away();
        owner.team().end_ambient();
    }
}

/// Runs the remaining jobs that perhaps only this worker can run. Call it outside every frame that
/// has forked.
fn run_jobs_left(owner: Owner<'_>) {
    let jobs = owner.jobs();
    let next = || jobs.open_mail().or_else(|| jobs.take_oldest()).or_else(|| jobs.take_injected());
    while let Some(work) = next() {
        owner.execute(work);
    }
}

/// Makes the current thread worker 0 until the pool ends, because the adopted thread has left and
/// no thread can be started.
pub(super) fn stand_in_for_adopted(team: &Team) {
    let _aside = Aside::begin();
    be_worker(team, 0, |owner| owner.run_until_stopped());
    adopted_has_left(team);
}

/// Starts a thread that is worker 0 from now on, until the pool ends. The caller was responsible
/// for the worker, and does not use it after this has returned true. Returns false if the system
/// starts no thread.
pub(super) fn start_successor(team: &Team) -> bool {
    let kept = team.arc();
    let mut builder = thread::Builder::new().name("blitz-0".to_owned());
    if let Some(bytes) = team.config.stack_size {
        builder = builder.stack_size(bytes);
    }
    let started = builder.spawn(move || {
        let stock = Stock::open();
        be_worker(&kept, 0, |owner| owner.run_until_stopped());
        drop(stock);
        adopted_has_left(&kept);
    });
    let Ok(thread) = started else { return false };
    team.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
    true
}

/// Lets the adopted thread leave for good at the end of a visit.
///
/// The adopted thread leaves because the handle is gone, or because the thread is only lent and
/// another thread waits for the pool. The adopted thread runs the work that is there. Another
/// thread takes its place for later work. Returns whether the adopted thread has left. If not, the
/// system starts no thread, and the pool may need the adopted thread.
pub(super) fn hand_over(owner: Owner<'_>) -> bool {
    let team = owner.team();
    let _aside = Aside::begin();
    run_jobs_left(owner);
    owner.tasks().give_away();
    if team.life.holds() > 0 {
        if start_successor(team) {
            return true;
        }
        if !team.is_closing() {
            return false;
        }
    }
    // No more work comes, or no other thread would run it.
    owner.run_until_stopped();
    retire(owner);
    adopted_has_left(team);
    true
}

/// Notes that the adopted worker has retired, or will never exist.
pub(super) fn adopted_has_left(team: &Team) {
    if team.adoption.take_count() {
        team.count_out();
    }
}
