//! Cancels tasks while workers are blocked at the end of a pool.
//!
//! A worker that leaves cancels the tasks that it can reach (see `sched/cancel`). The drop of a
//! task is user code. It may wait for the drop of another task, and a job that still runs may do
//! the same. If every worker waits like this, none of them reaches the task that the others wait
//! for. So a pool that ends with tasks starts one more thread, which checks that tasks keep ending.
//! While no task ends, that thread starts further threads, and each of these cancels the remaining
//! tasks.

#![forbid(unsafe_code)]

use crate::sched::cancel::cancel_reachable;
use crate::team::{Entered, Team};
use blitz_parts::prim::park_for;
use blitz_parts::prim::thread::{self, Thread};
use blitz_parts::tuning::{END_PERIOD, END_PERIOD_MAX, END_THREADS};
use std::io;
use std::sync::PoisonError;

/// Starts the thread that supervises the end of tasks. It leaves when all workers have left, except
/// perhaps an adopted thread, for which the end does not wait. It does not leave when it sees no
/// task: the watch may hold one that it takes from a stuck worker to the queue.
pub(super) fn start(team: &Team) -> io::Result<Thread> {
    spawn(team, see_tasks_end)
}

fn spawn(team: &Team, run: fn(&Team)) -> io::Result<Thread> {
    let kept = team.arc();
    let mut builder = thread::Builder::new().name("blitz-end".to_owned());
    if let Some(bytes) = team.config.stack_size {
        builder = builder.stack_size(bytes);
    }
    let handle = builder.spawn(move || run(&kept))?;
    let thread = handle.thread().clone();
    team.threads.lock().unwrap_or_else(PoisonError::into_inner).push(handle);
    Ok(thread)
}

fn see_tasks_end(team: &Team) {
    let (mut before, mut helpers, mut wait) = (usize::MAX, 0, END_PERIOD);
    loop {
        // The last worker that leaves unparks this thread.
        park_for(wait);
        if team.all_have_left() {
            return;
        }
        let left = team.tasks_left();
        if left < before {
            wait = END_PERIOD;
        } else {
            if left > 0 && helpers < END_THREADS && spawn(team, cancel_here).is_ok() {
                helpers += 1;
            }
            wait = (wait * 2).min(END_PERIOD_MAX);
        }
        before = left;
    }
}

fn cancel_here(team: &Team) {
    let _entered = Entered::new(team.arc());
    let _inside = team.be_inside();
    // The last worker to leave waits until this thread holds no task (LIFE-7).
    team.life.come_late(|| cancel_reachable(team));
}
