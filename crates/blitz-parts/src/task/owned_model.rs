//! The list of tasks under the model checker: a thread takes references while tasks come and go.

use super::rig::{Gate, Rig};
use super::{Life, TaskRef};
use crate::prim::{Step, canary, check, thread};
use core::task::Waker;
use std::sync::Arc;

/// A task that waits for its gate and has no join handle, and a waker of it.
fn waiting() -> (Arc<Rig>, Arc<Gate>, Waker) {
    let (rig, gate) = (Rig::new(), Gate::new());
    drop(rig.spawn(gate.pass()));
    assert_eq!(rig.run_all(), 1);
    let waker = gate.waker();
    (rig, gate, waker)
}

/// The references of a reader are valid after the task has ended.
fn assert_ended(listed: &[TaskRef]) {
    assert!(listed.len() <= 1, "each task once");
    assert!(listed.iter().all(|task| task.glance().life == Life::Complete));
}

/// The task ends while a thread reads the list. No handle waits for the task, so its runner may
/// hold the last reference, and free the task.
fn a_reader_meets_an_end() {
    let (rig, gate, waker) = waiting();
    gate.open();
    waker.wake();
    let running = thread::spawn({
        let rig = rig.clone();
        move || rig.run_all()
    });
    let listed = rig.owned.tasks();
    running.join().unwrap();
    assert_ended(&listed);
    drop(listed);
    assert_eq!(gate.futures_dropped(), 1);
    assert!(rig.is_well_and_done());
}

#[test]
fn task_6_a_reader_of_the_list_keeps_a_task_that_ends() {
    check(100, None, a_reader_meets_an_end);
}

#[test]
fn canary_a_reader_finds_a_task_that_is_freed() {
    canary(&[Step::TaskUnlinkFirst], None, a_reader_meets_an_end);
}

/// The task joins the list while a thread reads the list. For a moment the task is in the list, and
/// the list does not have a reference to it yet.
fn a_reader_meets_a_first_wait() {
    let (rig, gate) = (Rig::new(), Gate::new());
    drop(rig.spawn(gate.pass()));
    let running = thread::spawn({
        let rig = rig.clone();
        move || rig.run_all()
    });
    let listed = rig.owned.tasks();
    running.join().unwrap();
    gate.open();
    gate.waker().wake();
    rig.run_all();
    assert_ended(&listed);
    drop(listed);
    assert_eq!(gate.futures_dropped(), 1);
    assert!(rig.is_well_and_done());
}

#[test]
fn task_6_a_reader_of_the_list_keeps_a_task_that_comes() {
    check(50, None, a_reader_meets_a_first_wait);
}

/// The list is closed while a thread reads it.
fn a_reader_meets_closing() {
    let (rig, gate, waker) = waiting();
    let closing = thread::spawn({
        let rig = rig.clone();
        move || rig.owned.close_and_cancel()
    });
    let listed = rig.owned.tasks();
    assert_eq!(closing.join().unwrap(), 0, "the task waits, so the closer ends it");
    assert_ended(&listed);
    drop((listed, waker));
    assert_eq!(gate.futures_dropped(), 1);
    assert!(rig.is_well_and_done());
}

#[test]
fn task_6_a_reader_of_the_list_keeps_a_task_that_is_cancelled() {
    check(5, None, a_reader_meets_closing);
}
