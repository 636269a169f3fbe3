//! Several pools that wait for each other, and are dropped in various places.

use super::futures::{Gate, yield_now};
use super::{Runtime, any_settings, canary, check, spawn, spawn_job};
use crate::{Pool, block_on, join};
use blitz_parts::prim::{AtomicUsize, Relaxed, Step, any_below, thread};
use std::sync::Arc;

/// Two pools install closures into each other.
fn install_into_each_other() {
    let pools: [Arc<Pool>; 2] =
        std::array::from_fn(|_| Arc::new(any_settings(1 + any_below(2)).build().unwrap()));
    let count = Arc::new(AtomicUsize::new(0));
    let callers = [0, 1].map(|first| {
        let (pools, count) = (pools.clone(), count.clone());
        thread::spawn(move || {
            let (here, there) = (&pools[first], &pools[1 - first]);
            here.install(|| {
                let inner = || here.install(|| count.fetch_add(1, Relaxed));
                join(|| there.install(inner), || there.install(inner));
            });
        })
    });
    callers.into_iter().for_each(|caller| caller.join().unwrap());
    assert_eq!(count.load(Relaxed), 4);
}

#[test]
fn pools_install_into_each_other() {
    check(3_000, install_into_each_other);
}

/// A worker of one pool drops a second pool, whose jobs need the first pool.
fn dropped_by_another() {
    let runtime = Runtime::new(1 + any_below(2));
    let done = Gate::new();
    runtime.spawn_job({
        let (done, handle) = (done.clone(), runtime.pool.handle());
        move || {
            let other = Runtime::new(1);
            other.spawn_job(move || {
                handle.spawn_cpu(|| ()).join().unwrap();
                handle.block_on(yield_now());
            });
            drop(other.spawn(std::future::pending::<()>()));
            other.shut_down();
            done.open();
        }
    });
    block_on(done.passed());
    runtime.shut_down();
}

#[test]
fn a_pool_is_dropped_on_a_worker_of_another() {
    check(3_000, dropped_by_another);
}

#[test]
fn canary_a_worker_is_not_notified_of_the_end_that_it_waits_for() {
    canary(Step::EndAwaitedTold, dropped_by_another);
}

/// A task drops its own pool.
fn dropped_by_its_task() {
    let runtime = Runtime::new(1 + any_below(2));
    let (handle, pool, team) = (runtime.pool.handle(), runtime.pool, runtime.team);
    let ends = Gate::new();
    drop(handle.spawn({
        let ends = ends.clone();
        async move {
            let child = spawn(std::future::pending::<()>());
            spawn_job(|| ());
            yield_now().await;
            drop(pool);
            ends.open();
            let _ = child.await;
        }
    }));
    drop(handle);
    block_on(ends.passed());
    while team.strong_count() > 0 {
        thread::yield_now();
    }
}

#[test]
fn a_pool_is_dropped_by_its_own_task() {
    check(3_000, dropped_by_its_task);
}

/// The drop of a detached pool waits for nothing. The pool's jobs still run.
fn detached() {
    let runtime = Runtime::of(any_settings(1 + any_below(2)).detach_on_drop());
    let (gate, done) = (Gate::new(), Gate::new());
    runtime.spawn_job({
        let (gate, done) = (gate.clone(), done.clone());
        move || {
            block_on(gate.passed());
            done.open();
        }
    });
    let team = runtime.team;
    drop(runtime.pool);
    gate.open();
    block_on(done.passed());
    while team.strong_count() > 0 {
        thread::yield_now();
    }
}

#[test]
fn a_detached_pool_ends_by_itself() {
    check(2_000, detached);
}
