//! When a pool is idle, its signal tree is empty and the counts of the tree add up, whatever
//! happened before.

use crate::common::{wait_for_parked, watched};
use crate::{
    Bell, Listens, WORKERS, rounds, signal_runtime, storm, wait_until_empty, wait_until_idle,
};
use blitz::task::yield_now;
use std::sync::Arc;

#[test]
fn an_idle_tree_is_empty_after_bursts() {
    watched("idle after bursts", |watch| {
        for workers in WORKERS {
            let runtime = signal_runtime(watch, workers);
            wait_until_empty(&runtime);
            for round in 0..rounds(100) {
                let inside = runtime.spawn(async move {
                    let tasks: Vec<_> =
                        (0..round % 40).map(|_| blitz::spawn(yield_now())).collect();
                    for task in tasks {
                        task.await.unwrap();
                    }
                });
                let outside: Vec<_> = (0..round % 7).map(|_| runtime.spawn(yield_now())).collect();
                inside.join().unwrap();
                outside.into_iter().for_each(|task| task.join().unwrap());
                wait_until_empty(&runtime);
            }
        }
    });
}

#[test]
fn an_idle_tree_is_empty_after_storms_and_cancellation() {
    watched("idle after storms", |watch| {
        for workers in WORKERS {
            let runtime = signal_runtime(watch, workers);
            let bells: Vec<Arc<Bell>> = (0..100).map(|_| Arc::default()).collect();
            let tasks: Vec<_> =
                bells.iter().map(|bell| runtime.spawn(Listens(bell.clone()))).collect();
            wait_for_parked(&runtime.handle(), 100);
            for _ in 0..4 {
                storm(&bells, rounds(10_000));
                wait_until_idle(&runtime);
                assert_eq!(runtime.pool().dump().tasks.len(), 100);
            }
            tasks.iter().for_each(|task| task.abort());
            wait_until_empty(&runtime);
            assert!(tasks.into_iter().all(|task| task.join().unwrap_err().is_cancelled()));
        }
    });
}
