//! Workers that help while they wait: what they leave behind when the wait ends, and which thread
//! takes it over.

use super::futures::{Event, Gate, yield_now};
use super::{Runtime, any_settings, canary, check, settings, spawn, still};
use crate::worker::{Room, with_room};
use crate::{Scheduler, WaitPolicy, block_on};
use blitz_parts::prim::{self, Step, any_below};
use std::future::Future;

/// Calls `block_on` at the limit of a worker's stack. Another worker must run what the future waits
/// for.
pub(super) fn block_on_at_the_limit<F: Future>(future: F) -> F::Output {
    with_room(Room::Mail, || block_on(future))
}

/// Calls `block_on` on a stack without room for unrelated jobs. The worker still polls tasks.
fn block_on_with_tasks<F: Future>(future: F) -> F::Output {
    with_room(Room::Needed, || block_on(future))
}

/// A job waits and polls tasks meanwhile. Then it blocks until one of these tasks has ended. That
/// task may have yielded on this worker just when the wait ended.
fn blocks_after(runtime: Runtime, wait: fn(Gate)) {
    let (gate, done) = (Gate::new(), Gate::new());
    runtime.spawn_job({
        let (gate, done) = (gate.clone(), done.clone());
        move || {
            let event = Event::new();
            let set = event.clone();
            drop(spawn(async move {
                for _ in 0..3 {
                    yield_now().await;
                }
                set.set();
            }));
            wait(gate);
            event.wait();
            done.open();
        }
    });
    gate.open();
    block_on(done.passed());
    runtime.shut_down();
}

fn blocks_after_block_on() {
    blocks_after(Runtime::new(2), |gate| block_on(gate.passed()));
}

#[test]
fn a_wait_that_ends_leaves_nothing_behind() {
    check(4_000, blocks_after_block_on);
}

#[test]
fn canary_the_end_of_a_wait_does_not_notify() {
    canary(Step::RuntimeWaitTells, blocks_after_block_on);
}

fn blocks_after_the_end_of_another_pool() {
    let settings = settings(2, Scheduler::Stealing).wait_policy(WaitPolicy::DescendantsOnly);
    blocks_after(Runtime::of(settings), |gate| {
        let other = Runtime::of(any_settings(1));
        other.spawn_job(move || block_on(gate.passed()));
        other.shut_down();
    });
}

#[test]
fn the_end_of_another_pool_leaves_nothing_behind() {
    check(4_000, blocks_after_the_end_of_another_pool);
}

#[test]
fn canary_ending_another_pool_does_not_notify() {
    canary(Step::RuntimeHelpTells, blocks_after_the_end_of_another_pool);
}

/// A task waits for tasks that it spawned, and the worker that waits may not poll them itself.
fn at_the_limit() {
    let runtime = Runtime::new(2);
    let root = runtime.spawn(async {
        let children = [0, 1].map(|_| spawn(yield_now()));
        for child in children {
            block_on_at_the_limit(child).unwrap();
        }
    });
    block_on(root).unwrap();
    runtime.shut_down();
}

#[test]
fn a_worker_that_may_not_poll_lets_others_poll() {
    check(1_000, at_the_limit);
    check(1_000, still(at_the_limit));
}

#[test]
fn canary_a_worker_that_may_not_poll_keeps_its_tasks() {
    canary(Step::RuntimeGivesAway, still(at_the_limit));
}

/// One worker is blocked in a job. The other waits for that job, and runs only jobs from outside.
fn a_job_for_a_guest() {
    let policy = WaitPolicy::DescendantsOnly;
    let runtime = Runtime::of(any_settings(2).wait_policy(policy));
    let event = Event::new();
    let [blocked, waits, done]: [Gate; 3] = std::array::from_fn(|_| Gate::new());
    let awaited = runtime.pool.spawn_cpu({
        let (blocked, event) = (blocked.clone(), event.clone());
        move || {
            blocked.open();
            event.wait();
        }
    });
    block_on(blocked.passed());
    runtime.spawn_job({
        let (waits, done) = (waits.clone(), done.clone());
        move || {
            waits.open();
            awaited.join().unwrap();
            done.open();
        }
    });
    block_on(waits.passed());
    // Give the waiting worker time: in some schedules it parks before the next job is spawned.
    for _ in 0..any_below(100) {
        prim::yield_now();
    }
    runtime.spawn_job(move || event.set());
    block_on(done.passed());
    runtime.shut_down();
}

#[test]
fn a_guest_runs_jobs_from_outside() {
    check(2_000, a_job_for_a_guest);
}

#[test]
fn canary_a_guest_is_not_notified_of_a_job() {
    canary(Step::RuntimeGuestTold, a_job_for_a_guest);
}

/// One worker is blocked. The other worker waits for a task from outside. It may poll that task,
/// but does not count as searching for work.
fn a_task_for_a_guest() {
    let runtime = Runtime::new(2);
    let event = Event::new();
    let [blocked, waits, gate, done]: [Gate; 4] = std::array::from_fn(|_| Gate::new());
    runtime.spawn_job({
        let (blocked, event) = (blocked.clone(), event.clone());
        move || {
            blocked.open();
            event.wait();
        }
    });
    block_on(blocked.passed());
    runtime.spawn_job({
        let (waits, gate, done) = (waits.clone(), gate.clone(), done.clone());
        move || {
            waits.open();
            block_on_with_tasks(gate.passed());
            event.set();
            done.open();
        }
    });
    block_on(waits.passed());
    let task = runtime.spawn(async move {
        yield_now().await;
        gate.open();
    });
    block_on(done.passed());
    block_on(task).unwrap();
    runtime.shut_down();
}

#[test]
fn a_guest_polls_tasks() {
    check(2_000, a_task_for_a_guest);
}

#[test]
fn canary_a_guest_is_not_notified_of_a_task() {
    canary(Step::RuntimeTaskGuestTold, a_task_for_a_guest);
}

/// A job on the only worker waits for tasks that it spawned. The worker polls them, but does not
/// count as searching for work.
fn alone_without_strangers() {
    let runtime = Runtime::new(1);
    let done = Gate::new();
    runtime.spawn_job({
        let done = done.clone();
        move || {
            let children = [0, 1].map(|_| spawn(yield_now()));
            for child in children {
                block_on_with_tasks(child).unwrap();
            }
            done.open();
        }
    });
    block_on(done.passed());
    runtime.shut_down();
}

#[test]
fn a_guest_polls_its_own_tasks() {
    check(1_000, alone_without_strangers);
}
