//! Polls that block their worker until another task has run. As long as one worker is free, that
//! worker must find the runnable tasks that the blocked workers left where other workers may look.

use super::futures::{Event, yield_now};
use super::{Runtime, canary, check, spawn, still};
use crate::block_on;
use blitz_parts::prim::Step;

/// Spawns as many tasks as workers, from outside. Each task but the last blocks until the next one
/// has run.
fn chain_from_outside() {
    let runtime = Runtime::new(3);
    let events = [Event::new(), Event::new()];
    let [second, third] = events.clone();
    let tasks = [
        runtime.spawn(async move { second.wait() }),
        runtime.spawn({
            let [second, third] = events.clone();
            async move {
                third.wait();
                second.set();
            }
        }),
        runtime.spawn(async move { third.set() }),
    ];
    tasks.into_iter().for_each(|task| block_on(task).unwrap());
    runtime.shut_down();
}

#[test]
fn sleep_3_tasks_from_outside_wait_for_each_other() {
    check(4_000, chain_from_outside);
}

#[test]
fn canary_no_worker_wakes_the_next() {
    canary(Step::SleepCascade, chain_from_outside);
}

#[test]
fn canary_a_sleepy_worker_is_overlooked() {
    canary(Step::SleepNotifySleepy, chain_from_outside);
}

#[test]
fn canary_an_event_wakes_no_worker() {
    canary(Step::LatchSetWake, chain_from_outside);
}

/// One task spawns others and blocks until they have run. Each of them blocks until the next one
/// has run.
fn chain_from_inside() {
    let runtime = Runtime::new(4);
    let root = runtime.spawn(async {
        let events = [Event::new(), Event::new(), Event::new()];
        for number in 0..3 {
            let events = events.clone();
            drop(spawn(async move {
                if let Some(next) = events.get(number + 1) {
                    next.wait();
                }
                events[number].set();
            }));
        }
        events[0].wait();
    });
    block_on(root).unwrap();
    runtime.shut_down();
}

#[test]
fn spawned_tasks_wait_for_each_other() {
    check(4_000, chain_from_inside);
}

/// A task spawns a second task, which will block their worker. Then the first task yields. The
/// first task must go on although its worker is blocked.
fn yields_to_a_blocker() {
    let runtime = Runtime::new(2);
    let root = runtime.spawn(async {
        let event = Event::new();
        let blocker = spawn({
            let event = event.clone();
            async move { event.wait() }
        });
        yield_now().await;
        event.set();
        blocker.await.unwrap();
    });
    block_on(root).unwrap();
    runtime.shut_down();
}

#[test]
fn a_task_that_yields_to_a_blocker_runs_elsewhere() {
    check(2_000, yields_to_a_blocker);
    check(2_000, still(yields_to_a_blocker));
}

#[test]
fn canary_a_yielded_task_is_not_announced() {
    canary(Step::SleepTaskWakes, still(yields_to_a_blocker));
}

#[test]
fn canary_a_yield_does_not_notify() {
    canary(Step::RuntimeYieldTells, still(yields_to_a_blocker));
}

/// A task yields several times. Meanwhile a job is posted to each of the two workers, and the job
/// on worker 0 blocks until the task has yielded for the last time. If worker 0 has the task, the
/// other worker must take the task over.
fn yields_to_mail() {
    let runtime = Runtime::new(2);
    let event = Event::new();
    let task = runtime.spawn({
        let event = event.clone();
        async move {
            for _ in 0..6 {
                yield_now().await;
            }
            event.set();
        }
    });
    for worker in 0..2 {
        let event = event.clone();
        runtime.post_job(worker, move || {
            if worker == 0 {
                event.wait();
            }
        });
    }
    block_on(task).unwrap();
    runtime.shut_down();
}

#[test]
fn a_task_that_yields_to_mail_runs_elsewhere() {
    check(4_000, yields_to_mail);
}

#[test]
fn canary_opening_mail_does_not_notify() {
    canary(Step::RuntimeFairTells, yields_to_mail);
}
