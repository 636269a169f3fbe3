//! Spares replace blocked workers, serve, leave and end with the pool. Each schedule draws at
//! random which stuck worker counts as blocked.

use super::futures::{Event, yield_now};
use super::{Runtime, any_settings, canary, check, spawn};
use crate::{block_in_place, block_on};
use blitz_parts::prim::Step;

/// A pool of one worker and two spares.
fn with_spares() -> Runtime {
    Runtime::of(any_settings(1).spares(2))
}

/// A task blocks the only worker until another task is polled.
fn blocked_by_a_task() {
    let runtime = with_spares();
    let event = Event::new();
    let waits = runtime.spawn({
        let event = event.clone();
        async move { event.wait() }
    });
    let sets = runtime.spawn(async move { event.set() });
    block_on(waits).unwrap();
    block_on(sets).unwrap();
    runtime.shut_down();
}

#[test]
fn a_task_is_polled_while_another_task_blocks_the_only_worker() {
    check(1_000, blocked_by_a_task);
}

#[test]
fn canary_the_watch_gives_no_seat_away() {
    canary(Step::WatchGivesSeats, blocked_by_a_job);
}

/// A job blocks the only worker until another job from outside has run.
fn blocked_by_a_job() {
    let runtime = with_spares();
    let (event, done) = (Event::new(), Event::new());
    runtime.spawn_job({
        let (event, done) = (event.clone(), done.clone());
        move || {
            event.wait();
            done.set();
        }
    });
    runtime.spawn_job(move || event.set());
    done.wait();
    runtime.shut_down();
}

#[test]
fn a_job_runs_while_another_job_blocks_the_only_worker() {
    check(1_000, blocked_by_a_job);
}

#[test]
fn canary_the_watch_does_not_hear_of_work() {
    canary(Step::WatchHearsOfWork, blocked_by_a_job);
}

/// A task calls `block_in_place`, and blocks until a task in the queue of the same worker has run.
fn in_place() {
    let runtime = with_spares();
    let root = runtime.spawn(async {
        for _ in 0..2 {
            let event = Event::new();
            let sets = spawn({
                let event = event.clone();
                async move {
                    yield_now().await;
                    event.set();
                }
            });
            block_in_place(|| event.wait());
            sets.await.unwrap();
        }
    });
    block_on(root).unwrap();
    runtime.shut_down();
}

#[test]
fn a_spare_takes_the_seat_of_a_worker_that_says_that_it_blocks() {
    check(1_000, in_place);
}

/// The pool ends while a worker is blocked and spares come and go.
fn end_beside_blocked() {
    let runtime = with_spares();
    let event = Event::new();
    runtime.spawn_job({
        let event = event.clone();
        move || event.wait()
    });
    for _ in 0..2 {
        runtime.spawn_job(|| block_in_place(|| ()));
    }
    runtime.spawn_job(move || event.set());
    runtime.shut_down();
}

#[test]
fn a_pool_ends_with_its_spares() {
    check(1_000, end_beside_blocked);
}
