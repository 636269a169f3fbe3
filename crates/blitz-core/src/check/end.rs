//! The runtime ends while its tasks are in every state. Each task completes or is cancelled, and
//! its future is dropped once.

use super::futures::{Gate, yield_now};
use super::ledger::Ledger;
use super::{Runtime, any_settings, canary, check, spawn, spawn_on};
use crate::block_on;
use crate::task::shield;
use blitz_parts::prim::{Step, let_no_thread_start, thread};
use std::sync::Arc;

/// Tasks wait, yield and spawn without end; a foreign thread wakes some of them at the end.
fn end_of_everything() {
    let runtime = Runtime::new(3);
    let gate = Gate::new();
    let handles: Vec<_> = (0..8)
        .map(|number| {
            let gate = gate.clone();
            runtime.spawn(async move {
                match number % 4 {
                    0 => std::future::pending::<()>().await,
                    1 => loop {
                        gate.passed().await;
                        yield_now().await;
                        // Yield the thread, too: otherwise a thread of high priority would starve
                        // the thread that ends the pool.
                        thread::yield_now();
                    },
                    2 => {
                        let child = spawn(async move { gate.passed().await });
                        let _ = child.await;
                    }
                    _ => drop(spawn(async {
                        drop(spawn(std::future::pending::<()>()));
                        std::future::pending::<()>().await;
                    })),
                }
            })
        })
        .collect();
    let opener = thread::spawn({
        let gate = gate.clone();
        move || {
            gate.wake_in_vain();
            gate.open();
        }
    });
    runtime.shut_down();
    opener.join().unwrap();
    for (number, handle) in handles.into_iter().enumerate() {
        let output = block_on(handle);
        assert!(output.is_none() || number % 4 > 1);
    }
}

#[test]
fn everything_ends() {
    check(2_000, end_of_everything);
}

/// The pool ends at once, with tasks that were never polled and a task that waits for another.
fn end_at_once() {
    let runtime = Runtime::new(4);
    let first = runtime.spawn(std::future::pending::<()>());
    drop(runtime.spawn(first));
    drop(runtime.spawn(yield_now()));
    runtime.shut_down();
}

#[test]
fn a_runtime_ends_at_once() {
    check(2_000, end_at_once);
}

#[test]
fn canary_the_end_wakes_no_worker() {
    canary(Step::SleepStopWakes, end_at_once);
}

/// Shutdown waits for a shielded section.
fn end_with_a_shield() {
    let runtime = Runtime::new(2);
    let (begun, gate, done) = (Gate::new(), Gate::new(), Gate::new());
    drop(runtime.spawn({
        let (begun, gate, done) = (begun.clone(), gate.clone(), done.clone());
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
    }));
    block_on(begun.passed());
    let opener = thread::spawn(move || gate.open());
    runtime.shut_down();
    assert!(done.is_open());
    opener.join().unwrap();
}

#[test]
fn a_runtime_ends_after_a_shielded_section() {
    check(2_000, end_with_a_shield);
}

/// A foreign thread spawns while the runtime ends: tasks, and jobs that wait for tasks.
fn spawns_at_the_end() {
    let runtime = Runtime::new(2);
    let handle = runtime.pool.handle();
    let spawner = thread::spawn(move || {
        for _ in 0..2 {
            drop(spawn_on(&handle, yield_now()));
            let job = Ledger::current().follow_late(|| {
                let task = spawn(std::future::pending::<()>());
                assert!(block_on(task).is_none());
            });
            drop(handle.spawn_cpu(job));
        }
    });
    runtime.shut_down_beside([spawner]);
}

/// The adopted thread is gone and no thread can replace it, so its worker never leaves. The last
/// owner of the team cancels the team's tasks. Meanwhile foreign threads wake some of these tasks,
/// and the end of one task wakes the next.
fn end_without_the_last() {
    struct Opens(Gate);
    impl Drop for Opens {
        fn drop(&mut self) {
            self.0.open();
        }
    }

    let alive = Arc::new(());
    let settings = {
        let alive = alive.clone();
        move || {
            any_settings(3).use_current_thread().detach_on_drop().start_handler(move |_| {
                let _ = &alive;
            })
        }
    };
    let builder = thread::spawn(move || Runtime::of(settings()));
    let runtime = builder.join().unwrap();
    let gates: [Gate; 4] = std::array::from_fn(|_| Gate::new());
    for (gate, next) in gates.iter().zip(&gates[1..]) {
        let (gate, next) = (gate.clone(), Opens(next.clone()));
        drop(runtime.spawn(async move {
            let _next = next;
            gate.passed().await;
            yield_now().await;
        }));
    }
    let [first, second, ..] = gates;
    let openers =
        [thread::spawn(move || second.wake_in_vain()), thread::spawn(move || first.open())];
    let_no_thread_start();
    drop(runtime);
    openers.into_iter().for_each(|opener| opener.join().unwrap());
    while Arc::strong_count(&alive) > 1 {
        thread::yield_now();
    }
}

#[test]
fn a_runtime_ends_without_its_last_worker() {
    check(4_000, end_without_the_last);
}

#[test]
fn tasks_spawned_during_shutdown_end() {
    check(2_000, spawns_at_the_end);
}
