//! Jobs beside tasks: jobs spawn tasks and wait for them, and the reverse.

use super::futures::{Event, Gate, yield_now};
use super::{Runtime, canary, check, spawn, spawn_job};
use crate::{block_on, join};
use blitz_parts::prim::{AtomicUsize, Relaxed, Step};
use std::sync::Arc;

/// Jobs from outside spawn tasks and jobs; tasks spawn jobs and wait for them.
fn jobs_and_tasks() {
    let runtime = Runtime::new(3);
    let gates: Vec<_> = (0..4).map(|_| Gate::new()).collect();
    for gate in &gates {
        let gate = gate.clone();
        runtime.spawn_job(move || {
            drop(spawn(async move {
                yield_now().await;
                let inner = Gate::new();
                for _ in 0..2 {
                    let inner = inner.clone();
                    spawn_job(move || inner.open());
                }
                inner.passed().await;
                gate.open();
            }));
        });
    }
    gates.iter().for_each(|gate| block_on(gate.passed()));
    runtime.shut_down();
}

#[test]
fn jobs_and_tasks_spawn_each_other() {
    check(1_000, jobs_and_tasks);
}

/// Tasks and jobs call `block_on` for tasks. While they wait, their workers help with other work.
fn waiting_inside() {
    let runtime = Runtime::new(2);
    let gate = Gate::new();
    let tasks = [0, 1, 2].map(|_| {
        let gate = gate.clone();
        runtime.spawn(async move {
            let inner = spawn(async move {
                yield_now().await;
                gate.passed().await;
            });
            block_on(inner).unwrap();
        })
    });
    runtime.spawn_job(move || block_on(spawn(async move { gate.open() })).unwrap());
    tasks.into_iter().for_each(|task| block_on(task).unwrap());
    runtime.shut_down();
}

#[test]
fn sleep_5_a_worker_that_waits_for_a_task_is_woken() {
    check(2_000, waiting_inside);
}

#[test]
fn canary_the_latch_wakes_no_worker() {
    canary(Step::LatchSetWake, waiting_inside);
}

/// The only worker waits for a foreign thread.
fn waiting_alone() {
    let runtime = Runtime::new(1);
    let (gate, done) = (Gate::new(), Gate::new());
    runtime.spawn_job({
        let (gate, done) = (gate.clone(), done.clone());
        move || {
            block_on(gate.passed());
            done.open();
        }
    });
    gate.open();
    block_on(done.passed());
    runtime.shut_down();
}

#[test]
fn sleep_5_the_only_worker_is_woken() {
    check(2_000, waiting_alone);
}

#[test]
fn canary_the_latch_is_marked_first() {
    canary(Step::SleepLatchAfterWord, waiting_alone);
}

/// A job forks two jobs and blocks until both have run. If the forks were kept private, a thief has
/// to force them.
fn leaf() {
    let runtime = Runtime::new(3);
    let done = Gate::new();
    runtime.spawn_job({
        let done = done.clone();
        move || {
            let (first, second) = (Event::new(), Event::new());
            let wait = || {
                first.wait();
                second.wait();
            };
            join(|| join(wait, || second.set()), || first.set());
            done.open();
        }
    });
    drop(runtime.spawn(yield_now()));
    block_on(done.passed());
    runtime.shut_down();
}

#[test]
fn sleep_4_private_jobs_of_a_blocked_worker_are_found() {
    check(3_000, leaf);
}

/// Forks are taken back or stolen. While a fork is in the deque, a newer job is spawned, which lies
/// above the fork. A task runs at the same time.
fn forks() {
    let runtime = Runtime::new(3);
    let ran = Arc::new(AtomicUsize::new(0));
    let gates = [Gate::new(), Gate::new()];
    for gate in &gates {
        let (gate, ran) = (gate.clone(), ran.clone());
        runtime.spawn_job(move || {
            let count = || {
                ran.fetch_add(1, Relaxed);
            };
            let inner = Gate::new();
            let spawn_one = || {
                let inner = inner.clone();
                spawn_job(move || inner.open());
                join(count, count);
            };
            join(|| join(spawn_one, count), || join(count, count));
            block_on(inner.passed());
            gate.open();
        });
    }
    drop(runtime.spawn(yield_now()));
    gates.iter().for_each(|gate| block_on(gate.passed()));
    assert_eq!(ran.load(Relaxed), 10, "each fork runs once");
    runtime.shut_down();
}

#[test]
fn deque_1_forks_with_jobs_above_them_run_once() {
    check(2_000, forks);
}

#[test]
fn canary_jobs_are_kept_from_sleepers() {
    canary(Step::RuntimeKeepsFromAwake, leaf);
}
