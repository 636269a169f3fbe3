//! Tasks behind the leaves of one worker also run on other workers, and slots of tasks that have
//! ended are used again. A task is behind a leaf if its slot has a bit below that leaf.

use crate::common::{Tally, wait_for, wait_for_parked, watched};
use crate::{WORKERS, rounds, signal_runtime, signals, wait_until_empty, wait_until_idle};
use blitz::sync::Semaphore;
use blitz::task::yield_now;
use std::collections::HashMap;
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};

#[test]
fn tasks_behind_one_leaf_get_a_worker_each() {
    watched("tasks behind one leaf", |watch| {
        for workers in [2, 4, 8, 64] {
            for _ in 0..rounds(100) {
                // Each round has a new runtime, because a worker that has ended tasks of other
                // workers has cached slots in the leaves of those workers.
                let runtime = signal_runtime(watch, workers);
                let all_run = Arc::new(Barrier::new(workers + 1));
                let arrived = Arc::new(AtomicUsize::new(0));
                let spawner = runtime.spawn({
                    let (all_run, arrived) = (all_run.clone(), arrived.clone());
                    async move {
                        for _ in 0..workers {
                            let (all_run, arrived) = (all_run.clone(), arrived.clone());
                            drop(blitz::spawn(async move {
                                arrived.fetch_add(1, SeqCst);
                                all_run.wait();
                            }));
                        }
                    }
                });
                spawner.join().unwrap();
                wait_for(|| arrived.load(SeqCst) == workers);
                let mut behind: HashMap<usize, u64> = HashMap::new();
                for task in runtime.pool().dump().tasks {
                    *behind.entry(task.slot.unwrap().0).or_default() += 1;
                }
                all_run.wait();
                // The last task stays in the spawner's LIFO slot. A task that the watch rescues
                // from that slot may get a slot behind any leaf.
                let elsewhere = 1 + runtime.metrics().tasks.rescued;
                assert!(behind.values().sum::<u64>() + 1 >= workers as u64, "{behind:?}");
                assert!(behind.values().max().unwrap() + elsewhere >= workers as u64, "{behind:?}");
                wait_until_empty(&runtime);
            }
        }
    });
}

#[test]
fn many_leaves_are_empty_in_the_end_and_used_again() {
    watched("many leaves", |watch| {
        let runtime = signal_runtime(watch, 2);
        let mut leaves = Vec::new();
        for round in 0..3 {
            let gate = Arc::new(Semaphore::new(0));
            let count = 100_000;
            let waits =
                |gate: Arc<Semaphore>| async move { assert!(gate.acquire().await.is_err()) };
            let half = gate.clone();
            let inside = runtime.spawn(async move {
                (0..count / 2).for_each(|_| drop(blitz::spawn(waits(half.clone()))));
            });
            (0..count / 2).for_each(|_| drop(runtime.spawn(waits(gate.clone()))));
            inside.join().unwrap();
            wait_for_parked(&runtime.handle(), count);
            wait_until_idle(&runtime);
            let dump = runtime.pool().dump();
            assert_eq!(dump.tasks.len() as u64, count, "round {round}");
            assert!(dump.tasks.iter().all(|task| task.state.starts_with("IDLE")));
            leaves.push(dump.signal.unwrap().leaves.len());
            gate.close();
            wait_until_empty(&runtime);
        }
        assert_eq!(runtime.metrics().panics_reported, 0);
        assert!(leaves[0] >= 100_000 / (64 * 64), "{leaves:?}");
        // The workers that spawn and end the tasks may change from round to round, and each worker
        // has a slot cache of its own.
        assert!(leaves[2] <= 2 * leaves[0], "{leaves:?}");
    });
}

#[test]
fn a_worker_that_blocks_keeps_no_task_of_its_leaves() {
    watched("a worker that blocks", |watch| {
        for workers in [2, 8] {
            let runtime = signal_runtime(watch, workers);
            for _ in 0..rounds(100) {
                let (done, is_done) = mpsc::channel();
                let blocks = runtime.spawn(async move {
                    for number in 0..100 {
                        let done = done.clone();
                        drop(blitz::spawn(async move {
                            if number % 2 == 0 {
                                yield_now().await;
                            }
                            done.send(number).unwrap();
                        }));
                    }
                    drop(done);
                    is_done.iter().sum::<u32>()
                });
                assert_eq!(blocks.join().unwrap(), 4_950);
            }
            wait_until_empty(&runtime);
            assert!(signals(&runtime).taken_elsewhere > 0);
        }
    });
}

#[test]
fn tasks_that_yielded_do_not_wait_behind_a_worker_that_blocks() {
    watched("yielded behind one that blocks", |watch| {
        for workers in [2, 8] {
            let runtime = signal_runtime(watch, workers);
            for _ in 0..rounds(100) {
                let (done, is_done) = mpsc::channel();
                let blocks = runtime.spawn(async move {
                    for _ in 0..20 {
                        let done = done.clone();
                        drop(blitz::spawn(async move {
                            for _ in 0..5 {
                                yield_now().await;
                            }
                            done.send(1).unwrap();
                        }));
                    }
                    drop(done);
                    // After this, some of the tasks have yielded on this worker, and wait in its
                    // yield queue.
                    yield_now().await;
                    is_done.iter().sum::<u32>()
                });
                assert_eq!(blocks.join().unwrap(), 20);
            }
            wait_until_empty(&runtime);
        }
    });
}

#[test]
fn aborts_during_first_polls_leave_no_slot_behind() {
    watched("aborts during first polls", |watch| {
        for workers in WORKERS {
            let runtime = signal_runtime(watch, workers);
            let tally = Tally::default();
            let aborts = AtomicUsize::new(0);
            for _ in 0..rounds(100) {
                let (send, receive) = mpsc::channel();
                let made = tally.clone();
                let spawner = runtime.spawn(async move {
                    for _ in 0..50 {
                        let token = made.token();
                        let task = blitz::spawn(async move {
                            let _token = token;
                            pending::<()>().await;
                        });
                        send.send(task).unwrap();
                        yield_now().await;
                    }
                });
                for task in receive {
                    task.abort();
                    aborts.fetch_add(1, SeqCst);
                }
                spawner.join().unwrap();
            }
            wait_until_empty(&runtime);
            assert_eq!(runtime.metrics().tasks.cancelled, aborts.load(SeqCst) as u64);
            assert!(tally.is_even());
        }
    });
}
