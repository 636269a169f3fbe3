//! More operations of io_uring than its queues hold.

mod common;

use blitz::net::UnixStream;
use blitz::{Backend, JoinSet, Runtime};
use common::{forget, io_metrics, wait_for, watched};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};

/// Far more operations than the completion queue holds, which has 1,024 entries.
const OPERATIONS: usize = 10_000;
const PAIRS: usize = 20;

/// Builds a runtime whose sockets use io_uring, if this system has it.
///
/// The runtime has no spare that could be a relief worker.
fn runtime(workers: usize) -> Option<Runtime> {
    let builder = Runtime::builder().workers(workers).spares(0).backend(Backend::IoUring);
    builder.build().inspect_err(|error| println!("no io_uring here: {error}")).ok()
}

/// Keeps all workers busy during `meanwhile`: no thread collects completions.
fn with_workers_busy(runtime: &Runtime, workers: usize, meanwhile: impl FnOnce()) {
    let begun = Arc::new(Barrier::new(workers + 1));
    let over = Arc::new(Barrier::new(workers + 1));
    let busy: Vec<_> = (0..workers)
        .map(|_| {
            let (begun, over) = (begun.clone(), over.clone());
            runtime.spawn_cpu(move || {
                begun.wait();
                over.wait();
            })
        })
        .collect();
    begun.wait();
    meanwhile();
    over.wait();
    busy.into_iter().for_each(|job| job.join().unwrap());
}

#[test]
fn every_operation_completes_however_many_are_under_way() {
    for workers in [1, 2, 8] {
        let Some(runtime) = runtime(workers) else { return };
        watched("ten thousand operations", |watch| {
            let runtime = watch.runtime(runtime);
            let handle = runtime.handle();
            let entered = runtime.enter();
            let pairs: Vec<_> = (0..PAIRS)
                .map(|_| {
                    let (here, there) = UnixStream::pair().unwrap();
                    (here, Arc::new(there))
                })
                .collect();
            drop(entered);
            for round in 0..3 {
                let (send, received) = channel();
                for number in 0..OPERATIONS {
                    let (there, send) = (pairs[number % PAIRS].1.clone(), send.clone());
                    drop(runtime.spawn(async move {
                        let (count, _) = there.recv_owned(vec![0; 1]).await;
                        send.send(count.unwrap()).unwrap();
                    }));
                }
                drop(send);
                wait_for(|| io_metrics(&handle).under_way == OPERATIONS);
                let bytes = vec![7; OPERATIONS / PAIRS];
                with_workers_busy(&runtime, workers, || {
                    for (here, _) in &pairs {
                        assert_eq!(here.try_write(&bytes).unwrap(), bytes.len());
                    }
                });
                assert_eq!(received.iter().sum::<usize>(), OPERATIONS, "round {round}");
            }
            assert_eq!(io_metrics(&handle).under_way, 0);
        });
    }
}

#[test]
fn the_end_of_a_runtime_collects_all_that_is_cancelled() {
    for workers in [1, 2, 8] {
        let Some(runtime) = runtime(workers) else { return };
        watched("the end of ten thousand operations", |watch| {
            let runtime = watch.runtime(runtime);
            let handle = runtime.handle();
            runtime.block_on(async {
                let (here, there) = UnixStream::pair().unwrap();
                let there = Arc::new(there);
                let mut tasks = JoinSet::new();
                for _ in 0..OPERATIONS {
                    let there = there.clone();
                    tasks.spawn(async move { there.recv_owned(vec![0; 1]).await.0.unwrap() });
                }
                blitz::spawn_blocking(move || {
                    wait_for(|| io_metrics(&handle).under_way == OPERATIONS);
                })
                .await
                .unwrap();
                // The end of the runtime drops the tasks, and their drops cancel the operations.
                tasks.detach_all();
                forget(here);
            });
            drop(runtime);
        });
    }
}
