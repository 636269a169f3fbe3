//! `spawn_cpu`, its handle, broadcasts and yields.

mod common;

use blitz::{Pool, Yield};
use common::{fib, pool, watched};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

/// Builds a pool of one worker, without spares.
fn one_thread() -> Pool {
    Pool::builder().workers(1).spares(0).build().unwrap()
}

#[test]
fn handles_return_results_to_workers_and_foreign_threads() {
    for policy in [blitz::WaitPolicy::StealAnything, blitz::WaitPolicy::DescendantsOnly] {
        watched("handles_return_results_to_workers_and_foreign_threads", |watch| {
            for workers in [1, 2, 8] {
                let builder = Pool::builder().workers(workers).wait_policy(policy);
                let pool = watch.pool(builder.build().unwrap());
                let handles: Vec<_> =
                    (0..20).map(|n| pool.spawn_cpu(move || fib(n % 12))).collect();
                let outside: u64 = handles.into_iter().map(|h| h.join().unwrap()).sum();
                let inside: u64 = pool.install(|| {
                    let spawn = |n: u32| blitz::spawn_cpu(move || fib(n % 12));
                    let handles: Vec<_> = (0..20).map(spawn).collect();
                    handles.into_iter().map(|h| h.join().unwrap()).sum()
                });
                assert_eq!(inside, outside);
            }
        });
    }
}

#[test]
fn a_panic_is_the_handles_error() {
    let pool = pool(2);
    let error = pool
        .spawn_cpu(|| -> u32 { panic!("number {}", std::hint::black_box(7)) })
        .join()
        .unwrap_err();
    assert!(error.is_panic());
    assert_eq!(error.to_string(), "the job panicked: number 7");
    assert_eq!(*error.into_panic().downcast::<String>().unwrap(), "number 7");
    assert_eq!(pool.metrics().panics_reported, 0, "the handle got the panic");
}

#[test]
fn detached_jobs_run_and_their_panics_reach_the_handler() {
    let (send, receive) = channel();
    let send = Mutex::new(send);
    let pool = Pool::builder()
        .workers(2)
        .panic_handler(move |payload| {
            let text = *payload.downcast::<&'static str>().unwrap();
            send.lock().unwrap().send(text).unwrap();
        })
        .build()
        .unwrap();
    drop(pool.spawn_cpu(|| panic!("dropped handle")));
    pool.spawn_broadcast(|context| assert!(context.index() != 0, "broadcast"));
    let finished = pool.spawn_cpu(|| panic!("finished before the handle was dropped"));
    while !finished.is_finished() {
        std::thread::yield_now();
    }
    drop(finished);
    assert_eq!(pool.install(|| 1), 1, "the pool works on");
    drop(pool);
    let mut texts: Vec<_> = receive.iter().collect();
    texts.sort_unstable();
    assert_eq!(texts, ["broadcast", "dropped handle", "finished before the handle was dropped"]);
}

#[test]
fn a_panicking_drop_of_an_unwanted_result_is_reported() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let seen = Arc::new(AtomicUsize::new(0));
    let counter = seen.clone();
    let pool = Pool::builder()
        .workers(1)
        .panic_handler(move |_| {
            counter.fetch_add(1, Relaxed);
        })
        .build()
        .unwrap();
    drop(pool.spawn_cpu(|| Bomb));
    drop(pool);
    assert_eq!(seen.load(Relaxed), 1);
}

#[test]
fn join_on_the_only_worker_runs_the_job_itself() {
    watched("join_on_the_only_worker_runs_the_job_itself", |watch| {
        let pool = watch.pool(one_thread());
        let same = pool.install(|| {
            let here = std::thread::current().id();
            blitz::spawn_cpu(move || std::thread::current().id() == here).join().unwrap()
        });
        assert!(same);
    });
}

#[test]
fn broadcast_reaches_every_worker_once_from_anywhere() {
    watched("broadcast_reaches_every_worker_once_from_anywhere", |watch| {
        for workers in [1, 2, 7, 64] {
            let pool = watch.pool(pool(workers));
            let all: Vec<_> = (0..workers).collect();
            for _ in 0..20 {
                assert_eq!(pool.broadcast(|context| context.index()), all);
                assert_eq!(pool.install(|| blitz::broadcast(|context| context.index())), all);
                let on_their_own = pool
                    .broadcast(|context| blitz::current_worker_index() == Some(context.index()));
                assert!(on_their_own.into_iter().all(|own| own));
            }
        }
    });
}

#[test]
fn broadcasts_of_many_callers_do_not_block_each_other() {
    watched("broadcasts_of_many_callers_do_not_block_each_other", |watch| {
        let pools = [watch.pool(pool(3)), watch.pool(pool(2))];
        std::thread::scope(|s| {
            for i in 0..4 {
                let (here, there) = (&pools[i % 2], &pools[(i + 1) % 2]);
                s.spawn(move || {
                    for _ in 0..30 {
                        let sums = here.broadcast(|_| there.broadcast(|_| 1).len());
                        assert_eq!(sums.len(), here.num_workers());
                        assert!(sums.iter().all(|&sum| sum == there.num_workers()));
                    }
                });
            }
        });
    });
}

#[test]
fn broadcast_panics_come_back_after_all_are_done() {
    let pool = pool(4);
    let ran = AtomicUsize::new(0);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        pool.broadcast(|context| {
            ran.fetch_add(1, Relaxed);
            assert!(context.index() % 2 == 0, "odd");
        })
    }));
    assert_eq!(result.unwrap_err().downcast_ref::<&str>(), Some(&"odd"));
    assert_eq!(ran.into_inner(), 4);
}

#[test]
fn yields_run_one_job_or_say_that_there_is_none() {
    let pool = one_thread();
    assert_eq!(pool.yield_job(), None);
    assert_eq!(pool.yield_local(), None);
    pool.install(|| {
        assert_eq!(blitz::yield_job(), Some(Yield::Idle));
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..2 {
            let ran = ran.clone();
            drop(blitz::spawn_cpu(move || ran.fetch_add(1, Relaxed)));
        }
        assert_eq!(pool.yield_local(), Some(Yield::Executed));
        assert_eq!(ran.load(Relaxed), 1);
        assert_eq!(blitz::yield_job(), Some(Yield::Executed));
        assert_eq!(ran.load(Relaxed), 2);
        assert_eq!(blitz::yield_local(), Some(Yield::Idle));
    });
}

#[test]
fn current_worker_and_count() {
    let pool = pool(3);
    assert_eq!(blitz::current_worker_index(), None);
    assert!(pool.install(blitz::current_worker_index).unwrap() < 3);
    assert_eq!(pool.install(blitz::current_num_workers), 3);
    assert_eq!(pool.current_worker_index(), None);
}
