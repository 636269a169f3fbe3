//! Workers that run only descendants while they wait.

use super::futures::{Event, Gate, yield_now};
use super::{Runtime, any_settings, canary, check, spawn};
use crate::{WaitPolicy, block_on, join, scope};
use blitz_parts::prim::{AtomicUsize, Mutex, Relaxed, Step, any_below, thread};
use std::sync::Arc;

fn careful(workers: usize) -> Runtime {
    Runtime::of(any_settings(workers).wait_policy(WaitPolicy::DescendantsOnly))
}

/// A job holds a lock across a `join`. No unrelated job that needs the lock may start on top of
/// the job that holds it.
fn a_lock_across_a_join() {
    let runtime = careful(1 + any_below(3));
    let total = Arc::new(Mutex::new(0));
    let gates = [Gate::new(), Gate::new(), Gate::new()];
    for gate in &gates {
        let (gate, total) = (gate.clone(), total.clone());
        runtime.spawn_job(move || {
            let mut held = total.lock().unwrap();
            let (a, b) = join(|| 1, || join(|| 2, || 3));
            *held += a + b.0 + b.1;
            drop(held);
            gate.open();
        });
    }
    drop(runtime.spawn(yield_now()));
    gates.iter().for_each(|gate| block_on(gate.passed()));
    assert_eq!(*total.lock().unwrap(), 18);
    runtime.shut_down();
}

#[test]
fn a_lock_may_be_held_across_a_join() {
    check(3_000, a_lock_across_a_join);
}

/// Forks of forks are stolen. The workers that wait for them follow the thieves.
fn leapfrogs() {
    let runtime = careful(3);
    let ran = Arc::new(AtomicUsize::new(0));
    let counted = ran.clone();
    let count = move || {
        counted.fetch_add(1, Relaxed);
    };
    runtime.pool.install(|| {
        let deep = || join(&count, || join(&count, &count));
        join(|| join(deep, deep), deep)
    });
    assert_eq!(ran.load(Relaxed), 9, "each fork runs once");
    runtime.shut_down();
}

#[test]
fn forks_of_forks_are_found() {
    check(3_000, leapfrogs);
}

/// One worker waits in a scope for a job from outside the pool, while the other worker is blocked.
fn a_scope_fed_from_outside() {
    let runtime = careful(2);
    let (event, blocked) = (Event::new(), Gate::new());
    runtime.spawn_job({
        let (event, blocked) = (event.clone(), blocked.clone());
        move || {
            blocked.open();
            event.wait();
        }
    });
    block_on(blocked.passed());
    let other = careful(1);
    runtime.pool.install(|| {
        scope(|scope| {
            let event = &event;
            other.pool.install(|| scope.spawn(move |_| event.set()));
        });
    });
    block_on(runtime.pool.install(|| spawn(yield_now()))).unwrap();
    let ender = thread::spawn(move || other.shut_down());
    runtime.shut_down_beside([ender]);
}

#[test]
fn a_scope_runs_its_jobs_from_outside() {
    check(2_000, a_scope_fed_from_outside);
}

#[test]
fn canary_a_scope_does_not_say_that_a_job_comes_from_outside() {
    canary(Step::ScopeInjectedFirst, a_scope_fed_from_outside);
}
