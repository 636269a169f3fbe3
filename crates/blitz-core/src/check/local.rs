//! Tasks of one thread that other threads wake.

use super::futures::{Gate, yield_now};
use super::{Runtime, canary, check, spawn, spawn_on};
use crate::{LocalSet, block_on, spawn_local};
use blitz_parts::prim::{Step, any_below, thread};
use std::cell::Cell;
use std::rc::Rc;

/// A set runs on a thread outside the pool, or on a worker. Its tasks wait for tasks of the pool
/// and for other threads.
fn woken_from_elsewhere() {
    let runtime = Runtime::new(1 + any_below(2));
    let (gate, handle) = (Gate::new(), runtime.pool.handle());
    let opener = thread::spawn({
        let gate = gate.clone();
        move || {
            gate.wake_in_vain();
            gate.open();
        }
    });
    let run = move || {
        let (set, count) = (LocalSet::new(), Rc::new(Cell::new(0)));
        block_on(set.run_until(async {
            let tasks = [0, 1].map(|_| {
                let (gate, handle, count) = (gate.clone(), handle.clone(), count.clone());
                spawn_local(async move {
                    spawn_on(&handle, yield_now()).await.unwrap();
                    gate.passed().await;
                    count.set(count.get() + 1);
                })
            });
            for task in tasks {
                task.await.unwrap();
            }
        }));
        assert_eq!(count.get(), 2);
        drop(set.spawn_local(std::future::pending::<()>()));
    };
    if any_below(2) == 0 {
        run();
    } else {
        runtime.pool.install(run);
    }
    opener.join().unwrap();
    runtime.shut_down();
}

#[test]
fn local_tasks_are_woken_from_everywhere() {
    check(3_000, woken_from_elsewhere);
}

#[test]
fn canary_the_thread_that_runs_a_set_is_not_woken() {
    canary(Step::LocalPostWakes, woken_from_elsewhere);
}

/// Local tasks are aborted by other threads, and by the end of their set.
fn aborted() {
    let runtime = Runtime::new(1);
    let set = LocalSet::new();
    let victims = [0, 1].map(|_| set.spawn_local(std::future::pending::<()>()));
    let aborts = victims[0].abort_handle();
    let aborter = runtime.spawn(async move {
        yield_now().await;
        aborts.abort();
    });
    let [first, second] = victims;
    assert!(block_on(set.run_until(first)).unwrap_err().is_cancelled());
    drop(set);
    assert!(block_on(second).unwrap_err().is_cancelled());
    block_on(aborter).unwrap();
    block_on(runtime.pool.install(|| spawn(yield_now()))).unwrap();
    runtime.shut_down();
}

#[test]
fn local_tasks_are_aborted_from_everywhere() {
    check(2_000, aborted);
}
