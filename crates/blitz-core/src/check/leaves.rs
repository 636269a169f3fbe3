//! Tasks of one signal word that wait for each other in polls that block.

use super::futures::{Event, Gate, yield_now};
use super::{Runtime, canary, check};
use crate::block_on;
use blitz_parts::prim::{Step, thread};

/// Two tasks of one signal word are woken while their worker is busy. The first task blocks until
/// the second task has run.
fn behind_a_blocker() {
    let runtime = Runtime::with_signals(2);
    let (gate, event) = (Gate::new(), Event::new());
    let waits = runtime.spawn({
        let (gate, event) = (gate.clone(), event.clone());
        async move {
            gate.passed().await;
            event.wait();
        }
    });
    let sets = runtime.spawn({
        let gate = gate.clone();
        async move {
            gate.passed().await;
            event.set();
        }
    });
    let busy = runtime.spawn(async {
        for _ in 0..4 {
            yield_now().await;
        }
    });
    let opener = thread::spawn(move || gate.open());
    [waits, sets, busy].into_iter().for_each(|task| block_on(task).unwrap());
    opener.join().unwrap();
    runtime.shut_down();
}

#[test]
fn a_task_behind_a_blocker_runs_elsewhere() {
    check(4_000, behind_a_blocker);
}

#[test]
fn canary_a_worker_that_takes_several_tasks_does_not_notify() {
    canary(Step::RuntimeBehindTells, behind_a_blocker);
}
