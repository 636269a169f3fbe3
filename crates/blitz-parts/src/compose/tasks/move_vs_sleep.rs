//! Tasks move between queues while a worker falls asleep. A sleeper's last look does not see them
//! while they move.
//!
//! In the first three models worker 0 gets two tasks, and the first task waits for the second. The
//! sleeper does not look where worker 0 takes the tasks from, so worker 0 always gets both.

use super::Crew;
use crate::compose::Event;
use crate::prim::{Step, canary, check, check_without, thread};
use crate::queue::fixture::{run, task};
use crate::queue::{Chain, Queue};
use crate::ring::{Pushed, Ring};
use crate::task::Runnable;

/// The two tasks.
fn first_waits_for_second() -> [Runnable; 2] {
    let second = Event::new();
    [second.waiting_task(), second.task()]
}

/// A ring with the two tasks and then two more. So a thief that steals half gets the two tasks.
fn someones_ring() -> Ring<4> {
    let ring = Ring::new();
    for task in first_waits_for_second().into_iter().chain([task(|| ()), task(|| ())]) {
        // SAFETY: no other thread has the ring.
        assert!(matches!(unsafe { ring.owner() }.push(task), Pushed::Ok));
    }
    ring
}

/// A chain of the two tasks, as taken from the queue.
fn a_batch() -> Chain {
    let queue = Queue::new();
    first_waits_for_second().into_iter().for_each(|task| assert!(queue.push(task).is_ok()));
    queue.pop_batch(2)
}

/// Worker 0 steals. It is busy, so it does not count as searching.
fn a_busy_thief() {
    let crew = Crew::new(2);
    let ring = someones_ring();
    let sleeper = crew.start_once(1);
    crew.steal_half(0, &ring).into_iter().for_each(run);
    crew.wait_for([sleeper]);
}

#[test]
fn sleep_8_tasks_that_a_busy_thief_puts_into_its_ring_are_found() {
    check(10_000, Some(5), a_busy_thief);
    check_without(Step::SleepJecRecheck, 3_400, Some(4), a_busy_thief);
}

#[test]
fn canary_a_busy_thief_does_not_announce() {
    canary(&[Step::SleepTaskWakes], Some(4), a_busy_thief);
}

#[test]
fn canary_a_busy_thief_without_the_light_fence() {
    canary(&[Step::BarrierLight], Some(4), a_busy_thief);
}

/// Worker 0 is busy and takes a batch from the queue.
fn a_busy_worker_takes_a_batch() {
    let crew = Crew::new(2);
    let batch = a_batch();
    let sleeper = crew.start_once(1);
    crew.keep_batch(0, batch).into_iter().for_each(run);
    crew.wait_for([sleeper]);
}

#[test]
fn sleep_8_the_rest_of_a_busy_workers_batch_is_found() {
    check(10_000, Some(5), a_busy_worker_takes_a_batch);
    check_without(Step::SleepJecRecheck, 3_400, Some(4), a_busy_worker_takes_a_batch);
}

#[test]
fn canary_a_busy_worker_does_not_announce_its_batch() {
    canary(&[Step::SleepTaskWakes], Some(4), a_busy_worker_takes_a_batch);
}

#[test]
fn canary_a_batch_without_the_sleepers_fence() {
    canary(&[Step::SleepLookFence], Some(4), a_busy_worker_takes_a_batch);
}

/// Worker 0 counts as searching. So no worker is woken for the tasks in its ring until worker 0
/// runs the task that it found.
fn a_searcher_steals() {
    let crew = Crew::new(2);
    let ring = someones_ring();
    let sleeper = crew.start_once(1);
    let idle = crew.sleep.start_looking(crew.sleep.own_bed(0));
    let found = crew.steal_half(0, &ring);
    crew.sleep.work_found(crew.sleep.own_bed(0), idle, || crew.has_work());
    found.into_iter().for_each(run);
    crew.wait_for([sleeper]);
}

#[test]
fn sleep_3_a_searcher_that_stole_wakes_another() {
    check(5_500, Some(4), a_searcher_steals);
    // The second task is found even if the searcher announces nothing during its search.
    check_without(Step::SleepTaskWakes, 5_500, Some(4), a_searcher_steals);
}

#[test]
fn canary_a_searcher_keeps_its_loot_to_itself() {
    canary(&[Step::SleepCascade], Some(4), a_searcher_steals);
}

/// Two workers look, and the two tasks come from the queue, which both of them see.
fn two_searchers_and_the_queue() {
    let crew = Crew::new(2);
    first_waits_for_second().into_iter().for_each(|task| assert!(crew.queue.push(task).is_ok()));
    crew.wait_for([crew.start_once(0), crew.start_once(1)]);
}

#[test]
fn sleep_3_a_searcher_that_took_a_batch_wakes_another() {
    check(11_000, Some(3), two_searchers_and_the_queue);
}

#[test]
fn canary_a_searcher_keeps_its_batch_to_itself() {
    canary(&[Step::SleepCascade], Some(3), two_searchers_and_the_queue);
}

/// Worker 1 may look before there is a task. Then worker 0 puts two tasks into its ring, takes the
/// first task, and is busy: it looks for no other task. Only then does worker 1 register as a
/// sleeper. If these were private jobs, worker 1 would need the event counter to notice the second.
/// Worker 1 notices a task without the counter, because each task is announced.
fn the_first_goes_before_the_sleeper_registers() {
    let crew = Crew::new(2);
    let sleeper = crew.start_once(1);
    thread::yield_now();
    crew.push(0, task(|| ()));
    crew.push(0, task(|| ()));
    crew.next_task(0).into_iter().for_each(run);
    crew.wait_for([sleeper]);
}

#[test]
fn sleep_8_a_sleeper_that_looked_too_early_needs_no_event_counter() {
    let model = the_first_goes_before_the_sleeper_registers;
    check_without(Step::SleepJecRecheck, 50_000, Some(4), model);
}
