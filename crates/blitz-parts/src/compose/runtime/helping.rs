//! Workers that wait and help: what they leave behind when the wait ends, and who looks after it if they
//! help little.

use super::futures::{Gate, yield_now};
use super::wait::{Event, block_on, block_on_at_the_limit, block_on_with_tasks};
use super::{Runtime, spawn, worker};
use crate::prim::{Step, canary, check};

/// A job waits, polls meanwhile, and then blocks until a task has run that may have yielded on this worker
/// just when the wait ended.
fn blocks_after(wait: fn(Gate)) {
    let runtime = Runtime::new(2);
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
    blocks_after(|gate| block_on(gate.passed()));
}

#[test]
fn a_wait_that_ends_leaves_nothing_behind() {
    check(4_000, Some(3), blocks_after_block_on);
}

#[test]
fn canary_a_wait_that_ends_tells_nobody() {
    canary(&[Step::RuntimeWaitTells], Some(3), blocks_after_block_on);
}

fn blocks_after_the_end_of_another_runtime() {
    blocks_after(|gate| {
        let worker = worker::current().expect("called on a worker");
        worker.help_until(|| gate.is_open());
    });
}

#[test]
fn the_end_of_another_runtime_leaves_nothing_behind() {
    check(4_000, Some(3), blocks_after_the_end_of_another_runtime);
}

#[test]
fn canary_who_ends_another_runtime_tells_nobody() {
    canary(&[Step::RuntimeHelpTells], Some(3), blocks_after_the_end_of_another_runtime);
}

/// A task waits for others that it spawned, and may not poll them itself.
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
fn who_may_not_poll_has_others_poll() {
    check(2_000, Some(3), at_the_limit);
}

#[test]
fn canary_who_may_not_poll_keeps_its_tasks() {
    canary(&[Step::RuntimeGivesAway], Some(3), at_the_limit);
}

/// One worker is blocked, the other waits for a job from outside, and polls no tasks.
fn a_job_for_a_guest() {
    let runtime = Runtime::new(2);
    let event = Event::new();
    let [blocked, waits, gate, done]: [Gate; 4] = core::array::from_fn(|_| Gate::new());
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
            block_on_at_the_limit(gate.passed());
            event.set();
            done.open();
        }
    });
    block_on(waits.passed());
    runtime.spawn_job(move || gate.open());
    block_on(done.passed());
    runtime.shut_down();
}

#[test]
fn who_helps_few_runs_jobs_from_outside() {
    check(2_000, Some(3), a_job_for_a_guest);
}

#[test]
fn canary_a_guest_is_not_told() {
    canary(&[Step::RuntimeGuestTold], Some(3), a_job_for_a_guest);
}

/// One worker is blocked, the other waits for a task from outside, and looks for no work.
fn a_task_for_a_guest() {
    let runtime = Runtime::new(2);
    let event = Event::new();
    let [blocked, waits, gate, done]: [Gate; 4] = core::array::from_fn(|_| Gate::new());
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
fn who_looks_for_no_work_polls_tasks() {
    check(2_000, Some(3), a_task_for_a_guest);
}

#[test]
fn canary_a_guest_is_not_told_of_a_task() {
    canary(&[Step::RuntimeTaskGuestTold], Some(3), a_task_for_a_guest);
}

/// A job waits for tasks that it spawned, and looks for no work.
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
fn who_looks_for_no_work_polls_its_own_tasks() {
    check(1_000, Some(3), alone_without_strangers);
}
