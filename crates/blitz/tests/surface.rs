//! The same surface on `Pool`, `Handle` and the free functions: the table in the crate's
//! documentation, row by row. Each name is used here in all the ways that the table lists.

mod common;

use blitz::{Handle, Pool};
use common::watched;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

/// Calls every operation of the table on `$on`: a pool or a handle.
macro_rules! everything_on {
    ($on:expr) => {{
        let on = $on;
        // Jobs.
        assert_eq!(on.install(|| 1), 1);
        assert_eq!(on.join(|| 1, || 2), (1, 2));
        assert_eq!(on.join_context(|_| 1, |_| 2), (1, 2));
        let mut ran = [0; 4];
        let [a, b, c, d] = &mut ran;
        on.scope(|s| s.spawn(|_| *a = 1));
        on.scope_fifo(|s| s.spawn_fifo(|_| *b = 1));
        on.in_place_scope(|s| s.spawn(|_| *c = 1));
        on.in_place_scope_fifo(|s| s.spawn_fifo(|_| *d = 1));
        assert_eq!(ran, [1; 4]);
        assert_eq!(on.broadcast(|context| context.index()).len(), on.num_workers());
        assert_eq!(on.spawn_cpu(|| 7).join().unwrap(), 7);
        let (send, receive) = mpsc::channel();
        let (one, two, all) = (send.clone(), send.clone(), send);
        on.spawn_detached(move || one.send(1).unwrap());
        on.spawn_detached_fifo(move || two.send(1).unwrap());
        on.spawn_broadcast(move |_| all.send(1).unwrap());
        assert_eq!(receive.iter().sum::<usize>(), 2 + on.num_workers());
        assert_eq!((on.yield_job(), on.yield_local()), (None, None));
        // Tasks.
        assert_eq!(on.spawn(async { 7 }).join().unwrap(), 7);
        assert_eq!(on.try_spawn(async { 7 }).unwrap().join().unwrap(), 7);
        assert_eq!(on.spawn_blocking(|| 7).join().unwrap(), 7);
        assert_eq!(on.block_on(async { 7 }), 7);
        // Looking inside.
        assert_eq!(on.num_workers(), 2);
        assert_eq!(on.current_worker_index(), None);
        assert_eq!(on.scheduler(), blitz::diagnostics().scheduler);
        assert!(on.metrics().tasks.spawned >= 2);
        assert_eq!(on.dump().workers.len(), 2);
        assert_eq!(on.unfinished().workers, 2);
        assert!(on.trace(Duration::from_secs(60)).tracks.len() >= 2);
        assert!(on.tasks().len() + on.stalls().len() <= 2);
        assert!(on.explain().cycles().is_empty());
        assert!(on.probe().cycles().is_empty());
        // Which pool is meant.
        drop(on.enter());
    }};
}

/// Builds a pool of two workers, without spares.
///
/// Some counts below would include a spare that was started before.
fn two_workers() -> Pool {
    Pool::builder().workers(2).spares(0).build().unwrap()
}

#[test]
fn a_pool_has_all_operations() {
    watched("a_pool_has_all_operations", |watch| {
        let pool = watch.pool(two_workers());
        everything_on!(&*pool);
        assert_eq!(pool.handle().num_workers(), 2);
    });
}

#[test]
fn a_handle_has_all_operations() {
    watched("a_handle_has_all_operations", |watch| {
        let pool = watch.pool(two_workers());
        everything_on!(pool.handle());
    });
}

#[test]
fn the_free_functions_have_all_operations() {
    watched("the_free_functions_have_all_operations", |watch| {
        let pool = watch.pool(two_workers());
        // All free functions below use the entered pool.
        let _entered = pool.enter();
        assert_eq!(blitz::install(|| 1), 1);
        assert_eq!(blitz::join(|| 1, || 2), (1, 2));
        assert_eq!(blitz::join_context(|_| 1, |_| 2), (1, 2));
        let mut ran = [0; 4];
        let [a, b, c, d] = &mut ran;
        blitz::scope(|s| s.spawn(|_| *a = 1));
        blitz::scope_fifo(|s| s.spawn_fifo(|_| *b = 1));
        blitz::in_place_scope(|s| s.spawn(|_| *c = 1));
        blitz::in_place_scope_fifo(|s| s.spawn_fifo(|_| *d = 1));
        assert_eq!(ran, [1; 4]);
        assert_eq!(blitz::broadcast(|context| context.index()), [0, 1]);
        assert_eq!(blitz::spawn_cpu(|| 7).join().unwrap(), 7);
        let (send, receive) = mpsc::channel();
        let (one, two, all) = (send.clone(), send.clone(), send);
        blitz::spawn_detached(move || one.send(1).unwrap());
        blitz::spawn_detached_fifo(move || two.send(1).unwrap());
        blitz::spawn_broadcast(move |_| all.send(1).unwrap());
        assert_eq!(receive.iter().sum::<usize>(), 4);
        assert_eq!((blitz::yield_job(), blitz::yield_local()), (None, None));
        assert_eq!(blitz::spawn(async { 7 }).join().unwrap(), 7);
        assert_eq!(blitz::try_spawn(async { 7 }).unwrap().join().unwrap(), 7);
        assert_eq!(blitz::spawn_blocking(|| 7).join().unwrap(), 7);
        assert_eq!(blitz::block_on(async { 7 }), 7);
        assert_eq!(blitz::current_num_workers(), 2);
        assert_eq!(blitz::current_worker_index(), None);
        assert_eq!(blitz::scheduler(), blitz::diagnostics().scheduler);
        assert_eq!(blitz::metrics().tasks.spawned, 2);
        assert!(blitz::trace(Duration::from_secs(60)).tracks.len() >= 2);
        assert_eq!(blitz::dump().workers.len(), 2);
        assert!(blitz::tasks().len() + blitz::stalls().len() <= 2);
        assert!(blitz::explain().cycles().is_empty());
        assert!(blitz::probe().cycles().is_empty());
        assert_eq!(blitz::unfinished().workers, 2);
        assert_eq!(Handle::current().num_workers(), 2);
    });
}

#[test]
fn a_runtime_is_a_pool_and_has_one_builder() {
    let builder: blitz::PoolBuilder = blitz::Runtime::builder();
    let builder = builder.timer_slack(std::time::Duration::from_micros(5));
    assert!(format!("{builder:?}").contains("timer_slack: 5µs"), "{builder:?}");
    let runtime: blitz::Runtime = builder.workers(2).start_paused(true).build().unwrap();
    let pool: &Pool = runtime.pool();
    assert_eq!(pool.num_workers(), 2);
    runtime.shutdown_background();
}

/// Returns once the drop of the pool has begun.
///
/// From then on threads outside the pool cannot add jobs.
fn wait_for_closing(handle: &Handle) {
    common::wait_for(|| {
        let job = handle.spawn_cpu(|| ());
        job.is_finished() && job.join().is_err()
    });
}

/// A call that must return a value, on a handle.
type Call = fn(&Handle);

const CALLS: &[(&str, Call)] = &[
    ("install", |handle| handle.install(|| ())),
    ("join", |handle| assert_eq!(handle.join(|| 1, || 2), (1, 2))),
    ("join_context", |handle| assert_eq!(handle.join_context(|_| 1, |_| 2), (1, 2))),
    ("scope", |handle| handle.scope(|_| ())),
    ("scope_fifo", |handle| handle.scope_fifo(|_| ())),
    ("in_place_scope", |handle| handle.in_place_scope(|_| ())),
    ("in_place_scope_fifo", |handle| handle.in_place_scope_fifo(|_| ())),
    ("broadcast", |handle| drop(handle.broadcast(|_| ()))),
];

#[test]
fn calls_that_must_return_a_value_panic_once_the_pool_has_ended() {
    watched("calls_that_must_return_a_value_panic_once_the_pool_has_ended", |_| {
        let handle = two_workers().handle();
        for (name, call) in CALLS {
            let panic = catch_unwind(AssertUnwindSafe(|| call(&handle))).unwrap_err();
            let text = panic.downcast_ref::<&str>().expect("a text");
            assert!(text.contains("has ended") && text.contains("keep its Pool"), "{name}: {text}");
        }
        // The calls below that start work return an error, or drop it. `block_on` works as before.
        assert!(handle.spawn(async {}).join().unwrap_err().is_cancelled());
        assert!(handle.try_spawn(async {}).unwrap().join().unwrap_err().is_cancelled());
        assert!(handle.spawn_cpu(|| ()).join().unwrap_err().is_cancelled());
        assert!(handle.spawn_blocking(|| ()).join().unwrap_err().is_cancelled());
        let (send, receive) = mpsc::channel::<()>();
        let (one, two, all) = (send.clone(), send.clone(), send);
        handle.spawn_detached(move || one.send(()).unwrap());
        handle.spawn_detached_fifo(move || two.send(()).unwrap());
        handle.spawn_broadcast(move |_| all.send(()).unwrap());
        assert!(receive.recv().is_err(), "the closures were dropped");
        assert_eq!(handle.block_on(async { 7 }), 7);
        assert!(handle.unfinished().is_empty());
    });
}

#[test]
fn a_call_through_a_handle_holds_the_pool_until_it_returns() {
    watched("a_call_through_a_handle_holds_the_pool_until_it_returns", |_| {
        for workers in [1, 2] {
            let pool = Pool::builder().workers(workers).build().unwrap();
            let handle = pool.handle();
            let (begun, has_begun) = mpsc::channel();
            let (go, wait) = mpsc::channel();
            let caller = std::thread::spawn(move || {
                handle.install(move || {
                    begun.send(()).unwrap();
                    wait.recv().unwrap();
                    // The pool is closing, but code inside of it can still fork.
                    blitz::join(|| 20, || 22)
                })
            });
            has_begun.recv().unwrap();
            let handle = pool.handle();
            let ending = std::thread::spawn(move || drop(pool));
            wait_for_closing(&handle);
            let late = catch_unwind(AssertUnwindSafe(|| handle.install(|| ())));
            assert!(late.is_err(), "the drop has begun");
            assert!(!handle.unfinished().is_empty(), "the call keeps the pool from ending");
            go.send(()).unwrap();
            assert_eq!(caller.join().unwrap(), (20, 22));
            ending.join().unwrap();
            assert!(handle.unfinished().is_empty());
        }
    });
}

#[test]
fn a_job_of_an_ending_pool_uses_its_handle() {
    watched("a_job_of_an_ending_pool_uses_its_handle", |_| {
        let pool = two_workers();
        let handle = pool.handle();
        let (go, wait) = mpsc::channel();
        let (send, receive) = mpsc::channel();
        drop(pool.spawn_cpu(move || {
            wait.recv().unwrap();
            for (name, call) in CALLS {
                call(&handle);
                send.send(*name).unwrap();
            }
            assert_eq!(handle.spawn_cpu(|| 7).join().unwrap(), 7);
            assert_eq!(handle.spawn_blocking(|| 7).join().unwrap(), 7);
            let send = send.clone();
            handle.spawn_detached(move || send.send("detached").unwrap());
        }));
        let watched = pool.handle();
        let ending = std::thread::spawn(move || drop(pool));
        wait_for_closing(&watched);
        go.send(()).unwrap();
        ending.join().unwrap();
        assert_eq!(receive.iter().count(), CALLS.len() + 1);
    });
}

/// A join handle may be dropped without a warning: most tasks are not awaited.
#[test]
#[deny(unused_must_use)]
fn a_statement_may_spawn() {
    watched("statements that spawn", |watch| {
        let pool = watch.pool(common::pool(1));
        let (send, receive) = mpsc::channel();
        let (task, job, closure) = (send.clone(), send.clone(), send);
        pool.spawn(async move { task.send(1).unwrap() });
        pool.spawn_cpu(move || job.send(2).unwrap());
        pool.spawn_blocking(move || closure.send(3).unwrap());
        assert_eq!(receive.iter().sum::<i32>(), 6);
    });
}
