//! The LIFO slot, into which sleepers do not look. A newer task evicts the task in the slot, or the
//! owner or the watch takes it.

use super::Crew;
use crate::compose::Event;
use crate::prim::{Step, canary, check, thread};
use crate::queue::fixture::run;

/// Worker 0 schedules two tasks, and the second evicts the first. Then worker 0 is busy, and looks
/// for no task, until the first task has run.
fn eviction() {
    let crew = Crew::new(2);
    let worker = crew.start(1);
    let (first, second) = (Event::new(), Event::new());
    crew.schedule(0, first.task());
    crew.schedule(0, second.task());
    first.wait();
    crew.next_task(0).into_iter().for_each(run);
    second.wait();
    crew.finish([worker]);
}

#[test]
fn sleep_8_an_evicted_task_is_found() {
    check(17_000, Some(3), eviction);
}

#[test]
fn canary_an_eviction_is_not_announced() {
    canary(&[Step::SleepTaskWakes], Some(3), eviction);
}

#[test]
fn canary_an_eviction_without_the_light_fence() {
    canary(&[Step::BarrierLight], Some(3), eviction);
}

/// Worker 0 has a task in its slot, and takes it late. The watch tries to take the task at the same
/// time. Only worker 0 or only the watch gets the task.
fn rescue() {
    let crew = Crew::new(2);
    let worker = crew.start(1);
    let done = Event::new();
    crew.schedule(0, done.task());
    let watch = thread::spawn({
        let crew = crew.clone();
        move || {
            if let Some(task) = crew.workers[0].lifo.take() {
                crew.schedule_from_outside(task);
            }
        }
    });
    crew.workers[0].lifo.take().into_iter().for_each(run);
    done.wait();
    watch.join().unwrap();
    crew.finish([worker]);
}

#[test]
fn lifo_1_a_task_behind_a_stuck_owner_runs_once() {
    check(2_500, Some(2), rescue);
}

#[test]
fn canary_a_rescue_without_an_exchange() {
    canary(&[Step::LifoTakeExchange], Some(2), rescue);
}
