//! Pools whose first worker is the thread that built them, until that thread leaves.

use super::futures::{Gate, yield_now};
use super::{Runtime, any_settings, canary, check, post_in, spawn, spawn_job, spawn_on, still};
use crate::{block_on, join};
use blitz_parts::prim::{Step, any_below, thread};

/// The adopted thread runs several operations of the pool, then drops the pool outside of them.
fn drops_its_pool() {
    let runtime = Runtime::of(any_settings(1 + any_below(2)).use_current_thread());
    let handle = runtime.pool.handle();
    let outside = thread::spawn(move || drop(spawn_on(&handle, yield_now())));
    let task = runtime.spawn(yield_now());
    runtime.spawn_job(|| drop(spawn(yield_now())));
    assert_eq!(runtime.pool.join(|| 1, || 2), (1, 2));
    block_on(task).unwrap();
    runtime.pool.install(|| spawn_job(|| spawn_job(|| ())));
    drop(runtime.spawn(std::future::pending::<()>()));
    outside.join().unwrap();
    runtime.shut_down();
    assert_eq!(crate::current_worker_index(), None);
}

#[test]
fn an_adopted_thread_runs_the_remaining_jobs_when_it_drops_the_pool() {
    check(2_000, drops_its_pool);
}

/// Another thread drops the pool while the adopted thread is in one of the pool's operations, or
/// between two.
fn dropped_elsewhere() {
    let runtime = Runtime::of(any_settings(1 + any_below(2)).use_current_thread());
    let (team, handle) = (runtime.team.clone(), runtime.pool.handle());
    runtime.spawn_job(|| spawn_job(|| ()));
    drop(runtime.spawn(yield_now()));
    let dropper = thread::spawn(move || drop(runtime.pool));
    for _ in 0..2 {
        // Spawn by the handle: once this pool has ended, this thread has no current pool.
        let task = spawn_on(&handle, async {
            let child = spawn(yield_now());
            yield_now().await;
            child.await
        });
        let _ = block_on(task);
    }
    dropper.join().unwrap();
    drop(team);
}

#[test]
fn a_pool_is_dropped_beside_its_adopted_thread() {
    check(4_000, dropped_elsewhere);
}

/// A job posts a job to the adopted worker while another thread drops the pool. The thread that is
/// then responsible for the adopted worker (see `state/adoption`) runs the posted job.
fn mail_at_the_end() {
    let runtime = Runtime::of(any_settings(2).use_current_thread());
    let (gate, team) = (Gate::new(), runtime.team.clone());
    runtime.spawn_job({
        let gate = gate.clone();
        move || {
            block_on(gate.passed());
            post_in(&team.upgrade().unwrap(), 0, || ());
        }
    });
    let handle = runtime.pool.handle();
    let dropper = thread::spawn(move || drop(runtime.pool));
    let opener = thread::spawn(move || gate.open());
    handle.block_on(async {});
    opener.join().unwrap();
    dropper.join().unwrap();
}

#[test]
fn mail_for_an_adopted_thread_is_opened_by_the_responsible_thread() {
    check(3_000, mail_at_the_end);
}

#[test]
fn canary_an_adopted_thread_looks_before_the_lock() {
    canary(Step::AdoptionLooksLocked, mail_at_the_end);
}

/// The adopted thread returns from an operation while tasks are in its queues. The other worker
/// polls these tasks.
fn leaves_its_tasks() {
    let runtime = Runtime::of(any_settings(2).use_current_thread());
    let (gate, done) = (Gate::new(), Gate::new());
    let waits = runtime.pool.install({
        let (gate, done) = (gate.clone(), done.clone());
        move || {
            drop(spawn(async move { gate.open() }));
            spawn(async move { done.open() })
        }
    });
    // This thread waits outside the pool's operations: it helps no worker.
    while !gate.is_open() || !done.is_open() {
        thread::yield_now();
    }
    block_on(waits).unwrap();
    runtime.shut_down();
}

#[test]
fn an_adopted_thread_leaves_its_tasks_to_others() {
    check(2_000, leaves_its_tasks);
}

#[test]
fn canary_an_adopted_thread_keeps_its_tasks() {
    canary(Step::AdoptionGivesAway, still(leaves_its_tasks));
}

/// The only worker is a lent thread. Other threads wait for the pool, so the lent thread makes room
/// for a new thread, which takes its place.
fn lent() {
    let runtime = Runtime::of(any_settings(1).lend_current_thread());
    let handles = [runtime.pool.handle(), runtime.pool.handle()];
    let others = handles.map(|handle| {
        thread::spawn(move || {
            if any_below(2) == 0 {
                handle.spawn_cpu(|| ()).join().unwrap();
            } else {
                handle.block_on(spawn_on(&handle, yield_now())).unwrap();
            }
        })
    });
    if any_below(2) == 0 {
        assert_eq!(runtime.pool.install(|| join(|| 1, || 2)), (1, 2));
    }
    others.into_iter().for_each(|other| other.join().unwrap());
    runtime.shut_down();
}

#[test]
fn a_lent_thread_makes_room() {
    check(4_000, lent);
}

#[test]
fn canary_a_lent_thread_is_not_replaced() {
    canary(Step::AdoptionReplacesLent, lent);
}

#[test]
fn canary_a_lent_thread_makes_no_room() {
    canary(Step::AdoptionMakesRoom, lent);
}

/// The adopted thread drops the pool inside an operation. At the end of the operation the adopted
/// thread hands its worker over to another thread, or retires the worker.
fn drops_inside() {
    let runtime = Runtime::of(any_settings(1 + any_below(2)).use_current_thread());
    let (handle, pool) = (runtime.pool.handle(), runtime.pool);
    let outside = {
        let handle = handle.clone();
        thread::spawn(move || drop(spawn_on(&handle, yield_now())))
    };
    let dropped = handle.block_on(async move {
        let task = spawn(yield_now());
        let waits = spawn(std::future::pending::<()>());
        spawn_job(|| spawn_job(|| ()));
        drop(pool);
        let _ = task.await;
        waits.await
    });
    assert!(dropped.is_none());
    outside.join().unwrap();
    let team = runtime.team;
    while team.strong_count() > 1 {
        thread::yield_now();
    }
    drop(handle);
    while team.strong_count() > 0 {
        thread::yield_now();
    }
}

#[test]
fn a_pool_is_dropped_inside_of_its_own_operation() {
    check(3_000, drops_inside);
}
