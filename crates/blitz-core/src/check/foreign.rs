//! Wakes and spawns by threads that are not workers.

use super::futures::{Gate, yield_now};
use super::{Runtime, canary, check, spawn_on};
use crate::block_on;
use blitz_parts::prim::{Step, thread};

/// Tasks wait for gates that other threads open after one useless wake.
fn gates() {
    let runtime = Runtime::new(3);
    let gates = [Gate::new(), Gate::new(), Gate::new()];
    let tasks: Vec<_> = (0..9)
        .map(|number| {
            let gates = gates.clone();
            runtime.spawn(async move {
                gates[number % 3].passed().await;
                yield_now().await;
                gates[(number + 1) % 3].passed().await;
                number
            })
        })
        .collect();
    let openers = gates.map(|gate| {
        thread::spawn(move || {
            gate.wake_in_vain();
            gate.open();
        })
    });
    let numbers: Vec<_> = tasks.into_iter().map(|task| block_on(task).unwrap()).collect();
    assert_eq!(numbers, (0..9).collect::<Vec<_>>());
    openers.into_iter().for_each(|opener| opener.join().unwrap());
    runtime.shut_down();
}

#[test]
fn tasks_are_woken_by_foreign_threads() {
    check(2_000, gates);
}

#[test]
fn canary_a_parked_thread_is_not_woken() {
    canary(Step::ParkWake, gates);
}

#[test]
fn canary_a_word_is_read_before_the_lock() {
    canary(Step::FutexRecheck, gates);
}

/// Three threads each spawn tasks, and wait for their own tasks. All of these tasks wait for one
/// gate, which a task of the last thread opens.
fn spawners() {
    let runtime = Runtime::new(3);
    let gate = Gate::new();
    let spawners = [0, 1, 2].map(|spawner| {
        let (handle, gate) = (runtime.pool.handle(), gate.clone());
        thread::spawn(move || {
            let tasks: Vec<_> = (0..4)
                .map(|_| {
                    let gate = gate.clone();
                    spawn_on(&handle, async move {
                        yield_now().await;
                        gate.passed().await;
                    })
                })
                .collect();
            if spawner == 2 {
                block_on(spawn_on(&handle, async move { gate.open() })).unwrap();
            }
            tasks.into_iter().for_each(|task| block_on(task).unwrap());
        })
    });
    spawners.into_iter().for_each(|spawner| spawner.join().unwrap());
    runtime.shut_down();
}

#[test]
fn foreign_threads_spawn() {
    check(1_000, spawners);
}

#[test]
fn canary_no_worker_is_woken_for_a_signalled_task() {
    canary(Step::RuntimeSignalTells, gates);
}

#[test]
fn canary_a_waking_worker_takes_no_permit() {
    canary(Step::SignalPermitTaken, gates);
}

#[test]
fn canary_a_worker_does_not_look_below_the_leaf_that_it_cleared() {
    canary(Step::SignalClearLooks, gates);
}

#[test]
fn canary_a_worker_does_not_look_below_the_root_that_it_cleared() {
    canary(Step::SignalRootClearLooks, gates);
}

/// The only worker goes to sleep while a foreign thread wakes its only task. There is no other
/// worker that could poll the task.
fn alone() {
    let runtime = Runtime::new(1);
    let gate = Gate::new();
    let waits = runtime.spawn({
        let gate = gate.clone();
        async move { gate.passed().await }
    });
    let opener = thread::spawn(move || {
        gate.wake_in_vain();
        gate.open();
    });
    block_on(waits).unwrap();
    opener.join().unwrap();
    runtime.shut_down();
}

#[test]
fn one_worker_is_woken_by_a_foreign_thread() {
    check(2_000, alone);
}

#[test]
fn canary_a_worker_counts_as_a_sleeper_too_late() {
    canary(Step::RuntimeSleeperFirst, alone);
}
