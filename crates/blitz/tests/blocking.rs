//! `spawn_blocking`: threads that come when needed and go when idle.

mod common;

use blitz::Runtime;
use common::{Tally, wait_for, watched};
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

fn threads(runtime: &Runtime) -> u64 {
    runtime.metrics().tasks.blocking_threads
}

#[test]
fn a_closure_that_comes_when_the_workers_leave_is_refused() {
    watched("a_closure_that_comes_when_the_workers_leave_is_refused", |_| {
        let (late, is_late) = std::sync::mpsc::channel();
        // When the exit handler is called, the pool has stopped. So no worker would run the jobs
        // of the closure.
        let pool = blitz::Pool::builder().workers(1).exit_handler(move |_| {
            late.send(blitz::spawn_blocking(|| blitz::join(|| 1, || 2))).unwrap();
        });
        drop(pool.build().unwrap());
        assert!(is_late.recv().unwrap().join().unwrap_err().is_cancelled());
    });
}

#[test]
fn results_panics_and_the_current_pool() {
    watched("results_panics_and_the_current_pool", |watch| {
        let runtime = watch.workers(3);
        runtime.block_on(async {
            assert_eq!(blitz::spawn_blocking(blitz::current_num_workers).await.unwrap(), 3);
            assert_eq!(blitz::spawn_blocking(blitz::current_worker_index).await.unwrap(), None);
            let error = blitz::spawn_blocking(|| panic!("blocked")).await.unwrap_err();
            assert_eq!(error.to_string(), "the job panicked: blocked");
            let nested = blitz::spawn_blocking(|| blitz::spawn_blocking(|| 7).join().unwrap());
            assert_eq!(nested.await.unwrap(), 7);
            let task = blitz::spawn_blocking(|| blitz::spawn(async { 7 })).await.unwrap();
            assert_eq!(task.await.unwrap(), 7);
        });
        assert_eq!(runtime.metrics().panics_reported, 0);
    });
}

#[test]
fn as_many_threads_start_as_closures_block_at_once() {
    watched("as_many_threads_start_as_closures_block_at_once", |watch| {
        let runtime = watch.workers(1);
        for _ in 0..3 {
            let barrier = Arc::new(Barrier::new(40));
            let handles: Vec<_> = (0..40)
                .map(|_| {
                    let barrier = barrier.clone();
                    runtime.spawn_blocking(move || barrier.wait().is_leader())
                })
                .collect();
            let leaders = handles.into_iter().map(|handle| handle.join().unwrap());
            assert_eq!(leaders.filter(|&leader| leader).count(), 1);
            assert!(threads(&runtime) >= 40);
        }
    });
}

#[test]
fn no_more_threads_than_allowed_run_closures_at_once() {
    watched("no_more_than_allowed", |watch| {
        let builder = Runtime::builder().workers(1).max_blocking_threads(2);
        let runtime = watch.runtime(builder.build().unwrap());
        let (at_once, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let names = Arc::new(Mutex::new(HashSet::new()));
        let handles: Vec<_> = (0..200)
            .map(|n| {
                let (at_once, most, names) = (at_once.clone(), most.clone(), names.clone());
                runtime.spawn_blocking(move || {
                    most.fetch_max(1 + at_once.fetch_add(1, SeqCst), SeqCst);
                    names.lock().unwrap().insert(std::thread::current().name().map(str::to_owned));
                    std::thread::yield_now();
                    at_once.fetch_sub(1, SeqCst);
                    n
                })
            })
            .collect();
        let results: Vec<_> = handles.into_iter().map(|handle| handle.join().unwrap()).collect();
        assert_eq!(results, (0..200).collect::<Vec<_>>());
        assert!(most.load(SeqCst) <= 2);
        assert!(threads(&runtime) <= 2 && names.lock().unwrap().len() <= 2);
        assert_eq!(runtime.metrics().tasks.blocking_queue_depth, 0);
    });
}

#[test]
fn idle_threads_end_and_new_ones_come() {
    watched("idle_threads_end_and_new_ones_come", |watch| {
        let builder = Runtime::builder().workers(1).thread_keep_alive(Duration::ZERO);
        let runtime = watch.runtime(builder.build().unwrap());
        for n in 0..100 {
            assert_eq!(runtime.spawn_blocking(move || n).join().unwrap(), n);
            if n % 10 == 0 {
                wait_for(|| threads(&runtime) == 0);
            }
        }
        let patient = Runtime::builder().workers(1).thread_keep_alive(Duration::MAX);
        let patient = watch.runtime(patient.build().unwrap());
        patient.spawn_blocking(|| ()).join().unwrap();
        assert_eq!(threads(&patient), 1);
        drop(patient);
    });
}

#[test]
fn a_thread_that_waits_is_used_again() {
    watched("a_thread_that_waits_is_used_again", |watch| {
        let runtime = watch.workers(1);
        let id = || std::thread::current().id();
        let first = runtime.spawn_blocking(id).join().unwrap();
        let mut again = 0;
        for _ in 0..100 {
            again += usize::from(runtime.spawn_blocking(id).join().unwrap() == first);
        }
        // A closure may come before the thread has returned from the previous closure.
        assert!(again > 0 && threads(&runtime) < 100);
    });
}

#[test]
fn the_end_waits_for_running_and_queued_closures() {
    watched("the_end_waits_for_what_runs", |watch| {
        let builder = Runtime::builder().workers(1).max_blocking_threads(1);
        let runtime = watch.runtime(builder.build().unwrap());
        let (go, wait) = channel::<()>();
        let tally = Tally::default();
        let token = tally.token();
        drop(runtime.spawn_blocking(move || {
            wait.recv().unwrap();
            drop(token);
        }));
        let handles: Vec<_> = (0..10)
            .map(|n| {
                let token = tally.token();
                runtime.spawn_blocking(move || {
                    drop(token);
                    n
                })
            })
            .collect();
        let dropping = std::thread::spawn(move || drop(runtime));
        assert!(!dropping.is_finished());
        go.send(()).unwrap();
        dropping.join().unwrap();
        assert!(tally.is_even());
        let results: Vec<_> = handles.into_iter().map(|handle| handle.join().unwrap()).collect();
        assert_eq!(results, (0..10).collect::<Vec<_>>());
    });
}

#[test]
fn closures_of_tasks_that_are_gone_run_all_the_same() {
    watched("closures_of_tasks_that_are_gone", |watch| {
        let runtime = watch.workers(2);
        let ran = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..50)
            .map(|_| {
                let ran = ran.clone();
                runtime.spawn(async move {
                    blitz::spawn_blocking(move || ran.fetch_add(1, SeqCst)).await.unwrap();
                    std::future::pending::<()>().await;
                })
            })
            .collect();
        common::wait_for_parked(&runtime.handle(), 50);
        tasks.iter().for_each(blitz::JoinHandle::abort);
        drop(runtime);
        assert_eq!(ran.load(SeqCst), 50);
        assert!(tasks.into_iter().all(|task| task.join().unwrap_err().is_cancelled()));
    });
}

#[test]
fn many_threads_submit_while_threads_come_and_go() {
    watched("many_threads_submit", |watch| {
        let builder =
            Runtime::builder().workers(2).max_blocking_threads(3).thread_keep_alive(Duration::ZERO);
        let runtime = watch.runtime(builder.build().unwrap());
        let sum = AtomicUsize::new(0);
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    for n in 0..300 {
                        let result = runtime.spawn_blocking(move || n);
                        sum.fetch_add(runtime.block_on(result).unwrap(), SeqCst);
                    }
                });
            }
        });
        assert_eq!(sum.into_inner(), 4 * 44_850);
    });
}
