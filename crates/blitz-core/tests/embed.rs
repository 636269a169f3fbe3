//! Functions for layers with another API on top of the pool.

use blitz_core::{Pool, PoolBuilder};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Barrier};

fn pool(workers: usize) -> PoolBuilder {
    Pool::builder().workers(workers)
}

/// A handler that reports its calls. The receiver disconnects once the pool's last thread is gone.
fn telling() -> (impl Fn(usize) + Send + Sync + 'static, Receiver<usize>) {
    let (send, receive) = channel();
    (move |index| send.send(index).unwrap(), receive)
}

#[test]
fn detached_jobs_of_one_worker_run_newest_first_or_in_order() {
    let pool = pool(1).build().unwrap();
    for (fifo, expected) in [(false, [2, 1, 0]), (true, [0, 1, 2])] {
        let (send, receive) = channel();
        pool.install(move || {
            for i in 0..3 {
                let send = send.clone();
                let job = move || send.send(i).unwrap();
                if fifo {
                    blitz_core::spawn_detached_fifo(job);
                } else {
                    blitz_core::spawn_detached(job);
                }
            }
        });
        assert_eq!(receive.iter().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn detached_jobs_from_outside_run_and_their_panics_are_handled() {
    let (send, receive) = channel();
    let pool = pool(2).panic_handler(move |_| send.send(()).unwrap()).build().unwrap();
    for _ in 0..4 {
        pool.spawn_detached(|| panic!("expected"));
        pool.spawn_detached_fifo(|| panic!("expected"));
    }
    drop(pool);
    assert_eq!(receive.iter().count(), 8);
}

#[test]
fn many_detached_fifo_jobs_run_once_each() {
    let pool = pool(4).build().unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..100 {
        let ran = ran.clone();
        pool.spawn_detached_fifo(move || {
            for _ in 0..50 {
                let ran = ran.clone();
                blitz_core::spawn_detached_fifo(move || {
                    ran.fetch_add(1, SeqCst);
                });
            }
        });
    }
    drop(pool);
    assert_eq!(ran.load(SeqCst), 5_000);
}

#[test]
fn a_detached_pool_drops_at_once_and_ends_after_its_jobs() {
    // The start handlers wait for this thread, so neither `build` nor the drop may wait for them.
    let meet = Arc::new(Barrier::new(4));
    let (exit, exits) = telling();
    let at_start = meet.clone();
    let pool = pool(3)
        .detach_on_drop()
        .start_handler(move |_| {
            at_start.wait();
        })
        .exit_handler(exit)
        .build()
        .unwrap();
    let (send, receive) = channel();
    pool.spawn_detached(move || blitz_core::spawn_detached(move || send.send(1).unwrap()));
    drop(pool);
    meet.wait();
    assert_eq!(receive.recv(), Ok(1));
    assert_eq!(exits.iter().count(), 3);
}

#[test]
fn a_detached_pool_of_the_current_thread_runs_the_remaining_jobs_and_frees_the_thread() {
    for _ in 0..3 {
        let pool = pool(1).detach_on_drop().use_current_thread().build().unwrap();
        let (send, receive) = channel();
        pool.spawn_detached(move || send.send(1).unwrap());
        drop(pool);
        assert_eq!(receive.recv(), Ok(1));
        assert_eq!(blitz_core::current_worker_index(), None);
    }
}

#[test]
fn a_spawner_may_borrow() {
    let started = AtomicUsize::new(0);
    let mut calls = 0;
    let sum = std::thread::scope(|threads| {
        let pool = pool(3).build_with(|worker| {
            calls += 1;
            threads.spawn(|| {
                started.fetch_add(1, SeqCst);
                worker.run();
                assert_eq!(blitz_core::current_worker_index(), None);
            });
            Ok(())
        });
        pool.unwrap().broadcast(|context| context.index()).iter().sum::<usize>()
    });
    assert_eq!((sum, calls, started.into_inner()), (3, 3, 3));
}

#[test]
fn a_panic_of_the_builders_closures_stops_the_threads_that_were_started() {
    for detach in [false, true] {
        let ((start, starts), (exit, exits)) = (telling(), telling());
        let mut builder = pool(10)
            .start_handler(start)
            .exit_handler(exit)
            .thread_name(|index| if index < 5 { format!("n{index}") } else { panic!("expected") });
        if detach {
            builder = builder.detach_on_drop();
        }
        assert!(catch_unwind(AssertUnwindSafe(|| builder.build())).is_err());
        assert_eq!((starts.iter().count(), exits.iter().count()), (5, 5));
    }
}

#[test]
fn a_spawner_that_fails_stops_the_threads_that_were_started() {
    let (exit, exits) = telling();
    let builder = pool(4).exit_handler(exit);
    let error = builder.build_with(|worker| {
        if worker.index() == 2 {
            return Err(std::io::Error::other("no more"));
        }
        std::thread::spawn(|| worker.run());
        Ok(())
    });
    assert_eq!(error.unwrap_err().io_error().unwrap().to_string(), "no more");
    assert_eq!(exits.iter().count(), 2);
}

#[test]
fn both_closures_of_a_join_from_outside_have_migrated() {
    let pool = || Ok(pool(1));
    blitz_core::global_or_build(pool).unwrap();
    let migrated = blitz_core::join_context(|a| a.migrated(), |b| b.migrated());
    assert_eq!(migrated, (true, true));
    let inside = blitz_core::scope(|_| blitz_core::join_context(|a| a.migrated(), |_| ()).0);
    assert!(!inside);
}
