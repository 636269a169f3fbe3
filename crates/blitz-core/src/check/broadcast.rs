//! Jobs that are posted to one worker each.

use super::futures::{Gate, yield_now};
use super::{Runtime, any_settings, canary, check, post_in, spawn, still};
use crate::team::current;
use crate::{block_on, join};
use blitz_parts::prim::{AtomicUsize, Relaxed, Step, any_below, thread};
use std::sync::Arc;

/// A thread outside the pool, a job and a task broadcast at the same time.
fn everywhere() {
    let runtime = Runtime::new(1 + any_below(3));
    let workers = runtime.pool.num_workers();
    let all: Vec<_> = (0..workers).collect();
    let done = Gate::new();
    runtime.spawn_job({
        let (done, all) = (done.clone(), all.clone());
        move || {
            join(|| (), || ());
            assert_eq!(crate::broadcast(|context| context.index()), all);
            done.open();
        }
    });
    let task = runtime.spawn(async move {
        yield_now().await;
        crate::broadcast(|context| context.num_workers()).len()
    });
    assert_eq!(runtime.pool.broadcast(|context| context.index()), all);
    assert_eq!(block_on(task), Some(workers));
    block_on(done.passed());
    runtime.shut_down();
}

#[test]
fn broadcasts_reach_every_worker() {
    check(3_000, everywhere);
}

#[test]
fn canary_a_worker_with_mail_sleeps() {
    canary(Step::WorkerSeesMail, still(everywhere));
}

/// The pool ends while two broadcasts are under way: one from outside, one from a job.
fn at_the_end() {
    let count = Arc::new(AtomicUsize::new(0));
    let runtime = Runtime::new(2);
    let ran = count.clone();
    runtime.pool.spawn_broadcast(move |_| {
        ran.fetch_add(1, Relaxed);
        drop(spawn(yield_now()));
    });
    let counted = count.clone();
    runtime.spawn_job(move || {
        crate::spawn_broadcast(move |_| {
            counted.fetch_add(1, Relaxed);
        });
    });
    runtime.shut_down();
    assert_eq!(count.load(Relaxed), 4, "each worker runs each closure");
}

#[test]
fn broadcasts_at_the_end_run() {
    check(2_000, at_the_end);
}

/// Each of two workers posts a job to the other worker from its exit handler. The other worker may
/// have left by then.
fn from_an_exit_handler() {
    let settings = any_settings(2).exit_handler(|index| {
        let worker = current().unwrap();
        post_in(worker.team(), 1 - index, || ());
    });
    let runtime = Runtime::of(settings);
    let other = thread::spawn(thread::yield_now);
    runtime.shut_down_beside([other]);
}

#[test]
fn mail_for_a_worker_that_has_left_runs() {
    check(2_000, from_an_exit_handler);
}

#[test]
fn canary_mail_for_a_worker_that_has_left_is_not_looked_at() {
    canary(Step::MailPostLooks, from_an_exit_handler);
}
