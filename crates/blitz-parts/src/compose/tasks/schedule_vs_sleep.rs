//! A task is scheduled while the workers fall asleep.

use super::Crew;
use crate::compose::Event;
use crate::prim::{Step, canary, check, check_without, thread};
use crate::queue::fixture::run;

/// Worker 0 puts a task into its ring. Then it looks for no task until worker 1 has run that task.
fn one_local(asymmetric: bool) {
    let crew = Crew::with_fences(2, asymmetric);
    let worker = crew.start(1);
    let done = Event::new();
    crew.push(0, done.task());
    done.wait();
    crew.finish([worker]);
}

#[test]
fn sleep_8_a_task_in_a_ring_is_found() {
    check(11_000, Some(3), || one_local(true));
    check_without(Step::SleepJecRecheck, 11_000, Some(3), || one_local(true));
}

#[test]
fn sleep_8_a_task_in_a_ring_is_found_without_asymmetric_fences() {
    check(11_000, Some(3), || one_local(false));
}

#[test]
fn canary_local_without_the_sleepers_fence() {
    canary(&[Step::SleepLookFence], Some(3), || one_local(true));
}

#[test]
fn canary_local_without_the_light_fence() {
    canary(&[Step::BarrierLight], Some(3), || one_local(true));
}

#[test]
fn canary_local_without_the_plain_fence() {
    canary(&[Step::SleepPostFence], Some(3), || one_local(false));
}

/// Worker 0 has a full ring and puts another task there. So half of the ring's tasks move to the
/// queue.
fn local_overflow() {
    let crew = Crew::new(2);
    let events = [(); 5].map(|()| Event::new());
    events[..4].iter().for_each(|event| crew.put_back(0, event.task()));
    let worker = crew.start(1);
    crew.push(0, events[4].task());
    events.iter().for_each(Event::wait);
    crew.finish([worker]);
}

#[test]
fn sleep_8_tasks_that_overflow_are_found() {
    check(14_000, Some(2), local_overflow);
}

/// Worker 2 sleeps, worker 1 looks. Worker 0 puts two tasks into its ring, and the first waits for
/// the second. Worker 0 wakes no worker if it sees that worker 1 looks. Worker 1 takes the first
/// task. It must see the second, so that it wakes worker 2 for the second.
fn the_taker_passes_on() {
    let crew = Crew::new(3);
    let sleeper = crew.start_once(2);
    while crew.sleep.counters().load().sleeping() == 0 {
        thread::yield_now();
    }
    let idle = crew.sleep.start_looking(crew.sleep.own_bed(1));
    let taker = thread::spawn({
        let crew = crew.clone();
        move || {
            let first = loop {
                match crew.steal_from(1, 0) {
                    Some(task) => break task,
                    None => thread::yield_now(),
                }
            };
            crew.sleep.work_found(crew.sleep.own_bed(1), idle, || crew.has_work());
            run(first);
        }
    });
    let second = Event::new();
    crew.push(0, second.waiting_task());
    crew.push(0, second.task());
    crew.wait_for([sleeper, taker]);
}

#[test]
fn sleep_3_the_taker_of_a_task_sees_the_one_behind_it() {
    check(13_000, Some(2), the_taker_passes_on);
    // Worker 0's fence is a light one, so the taker's plain fence does not pair with it. The model
    // holds without the plain fence.
    check_without(Step::SleepCascadeFence, 18_000, Some(2), the_taker_passes_on);
}

#[test]
fn canary_the_taker_of_a_task_wakes_no_worker() {
    canary(&[Step::SleepCascade], Some(2), the_taker_passes_on);
}

#[test]
fn canary_the_taker_of_a_task_looks_without_a_heavy_fence() {
    let steps = [Step::SleepCascadeFence, Step::SleepCascadeAgain];
    canary(&steps, Some(2), the_taker_passes_on);
}

/// Two tasks from outside, one worker; the main thread schedules both and waits for both.
fn from_outside() {
    let crew = Crew::new(1);
    let worker = crew.start(0);
    let (first, second) = (Event::new(), Event::new());
    crew.schedule_from_outside(first.task());
    crew.schedule_from_outside(second.task());
    first.wait();
    second.wait();
    crew.finish([worker]);
}

#[test]
fn sleep_1_tasks_from_outside_are_found() {
    check(7_000, Some(2), from_outside);
}

#[test]
fn canary_outside_without_the_posters_fence() {
    canary(&[Step::SleepPostFence], Some(2), from_outside);
}

#[test]
fn canary_outside_without_the_sleepers_fence() {
    canary(&[Step::SleepLookFence], Some(2), from_outside);
}
