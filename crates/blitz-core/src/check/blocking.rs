//! Closures that block, on threads of their own.

use super::futures::{Event, Gate, yield_now};
use super::ledger::Ledger;
use super::{Runtime, any_settings, canary, check, spawn, spawn_on, still};
use crate::{block_on, spawn_blocking};
use blitz_parts::prim::{Step, any_below, thread};
use std::time::Duration;

/// Closures wait for each other and for tasks, and tasks wait for closures.
fn wait_for_each_other() {
    let keep_alive = Duration::from_millis(any_below(2) as u64);
    let runtime = Runtime::of(any_settings(1 + any_below(2)).thread_keep_alive(keep_alive));
    let (event, gate) = (Event::new(), Gate::new());
    let first = runtime.pool.spawn_blocking(Ledger::current().follow({
        let event = event.clone();
        move || {
            event.wait();
            block_on(spawn(yield_now()))
        }
    }));
    let task = runtime.spawn({
        let gate = gate.clone();
        async move {
            let second = spawn_blocking(Ledger::current().follow(move || event.set()));
            second.await.unwrap();
            gate.passed().await;
        }
    });
    let third = runtime.pool.spawn_blocking(Ledger::current().follow(move || gate.open()));
    assert_eq!(first.join().unwrap(), Some(()));
    block_on(task).unwrap();
    third.join().unwrap();
    runtime.shut_down();
}

#[test]
fn closures_that_block_have_threads() {
    check(3_000, wait_for_each_other);
}

/// One thread is idle when two closures arrive, and the first closure waits for the second one.
fn two_for_one_thread() {
    let runtime = Runtime::of(any_settings(1));
    runtime.pool.spawn_blocking(|| ()).join().unwrap();
    let event = Event::new();
    let waits = runtime.pool.spawn_blocking({
        let event = event.clone();
        move || event.wait()
    });
    runtime.pool.spawn_blocking(move || event.set()).join().unwrap();
    waits.join().unwrap();
    runtime.shut_down();
}

#[test]
fn each_closure_that_blocks_has_a_thread() {
    check(2_000, still(two_for_one_thread));
}

#[test]
fn canary_one_idle_thread_is_taken_for_many() {
    canary(Step::BlockingCountsIdle, still(two_for_one_thread));
}

#[test]
fn canary_idle_threads_do_not_hear_of_the_end() {
    canary(Step::BlockingStopTells, still(wait_for_each_other));
}

/// The pool ends while one closure runs and another closure waits for the only thread. Each closure
/// spawns a task and a job. A foreign thread spawns a closure and a task.
fn at_the_end() {
    let runtime = Runtime::of(any_settings(1).max_blocking_threads(1));
    let handle = runtime.pool.handle();
    for _ in 0..2 {
        drop(runtime.pool.spawn_blocking(Ledger::current().follow(|| {
            drop(spawn(yield_now()));
            crate::spawn_detached(Ledger::current().follow_late(|| ()));
        })));
    }
    let late = thread::spawn(move || {
        drop(handle.spawn_blocking(Ledger::current().follow_late(|| ())));
        drop(spawn_on(&handle, yield_now()));
    });
    runtime.shut_down_beside([late]);
}

#[test]
fn closures_that_were_spawned_before_the_end_run_before_the_pool_has_ended() {
    check(3_000, at_the_end);
}
