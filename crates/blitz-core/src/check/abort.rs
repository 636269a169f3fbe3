//! Tasks that are aborted in every state.

use super::futures::{Gate, yield_now};
use super::{Runtime, canary, check, spawn};
use crate::block_on;
use crate::task::shield;
use blitz_parts::prim::{Step, thread};

/// Tasks that wait, yield, join and spawn are aborted by a foreign thread and by a task.
fn aborts() {
    let runtime = Runtime::new(3);
    let gate = Gate::new();
    let tasks: Vec<_> = (0..6)
        .map(|number| {
            let gate = gate.clone();
            runtime.spawn(async move {
                match number % 3 {
                    0 => gate.passed().await,
                    1 => yield_now().await,
                    _ => {
                        let child = spawn(async move {
                            yield_now().await;
                            gate.passed().await;
                        });
                        child.await.unwrap();
                    }
                }
            })
        })
        .collect();
    let victims: Vec<_> = tasks.iter().map(|task| task.abort_handle()).collect();
    let aborter = thread::spawn({
        let gate = gate.clone();
        move || {
            victims.iter().step_by(2).for_each(|task| task.abort());
            gate.open();
        }
    });
    let own = tasks[1].abort_handle();
    let inside = runtime.spawn(async move { own.abort() });
    for (number, task) in tasks.into_iter().enumerate() {
        let output = block_on(task);
        assert!(output.is_some() || number % 2 == 0 || number == 1);
    }
    block_on(inside).unwrap();
    aborter.join().unwrap();
    runtime.shut_down();
}

#[test]
fn aborted_tasks_end_once() {
    check(2_000, aborts);
}

#[test]
fn canary_a_task_is_complete_before_it_is_out_of_its_list() {
    canary(Step::TaskUnlinkFirst, aborts);
}

#[test]
fn canary_an_output_has_no_owner() {
    canary(Step::TaskCompleteUnwanted, aborts);
}

/// A task that waits for ever is aborted, and the thread that waits for its end is notified.
fn abort_of_a_waiting_task() {
    let runtime = Runtime::new(2);
    let waits = runtime.spawn(std::future::pending::<()>());
    let aborter = thread::spawn({
        let task = waits.abort_handle();
        move || task.abort()
    });
    assert!(block_on(waits).is_none());
    aborter.join().unwrap();
    runtime.shut_down();
}

#[test]
fn a_waiting_task_is_aborted() {
    check(1_000, abort_of_a_waiting_task);
}

#[test]
fn canary_an_abort_schedules_nothing() {
    canary(Step::TaskAbortSchedules, abort_of_a_waiting_task);
}

/// Shielded sections end although their tasks are aborted; the code after them does not begin.
fn shields() {
    let runtime = Runtime::new(3);
    let (gate, done) = (Gate::new(), Gate::new());
    let begun = Gate::new();
    let shielded = runtime.spawn({
        let (gate, done, begun) = (gate.clone(), done.clone(), begun.clone());
        async move {
            shield(async move {
                begun.open();
                gate.passed().await;
                yield_now().await;
                done.open();
            })
            .await;
            std::future::pending::<()>().await;
        }
    });
    block_on(begun.passed());
    let opener = thread::spawn(move || gate.open());
    shielded.abort();
    assert!(block_on(shielded).is_none());
    assert!(done.is_open(), "the shielded section has ended");
    opener.join().unwrap();
    runtime.shut_down();
}

#[test]
fn shielded_sections_end() {
    check(2_000, shields);
}

#[test]
fn canary_wakes_of_a_shielded_task_are_refused() {
    canary(Step::TaskWakeShielded, shields);
}
