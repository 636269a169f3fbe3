//! The pool ends while a task comes from outside.

use super::Crew;
use crate::compose::Event;
use crate::prim::{Step, canary, check, thread};

/// The worker runs the task, or the thread that ends the pool cancels it, or the poster cancels it.
fn stop_against_a_task_from_outside() {
    let crew = Crew::new(1);
    let worker = crew.start(0);
    let outsider = thread::spawn({
        let crew = crew.clone();
        move || crew.schedule_from_outside(Event::new().task())
    });
    crew.sleep.stop();
    worker.join().unwrap();
    drop(crew.queue.close());
    outsider.join().unwrap();
    crew.wait_for([]);
}

#[test]
fn queue_3_a_task_that_comes_too_late_is_cancelled() {
    check(20_000, Some(3), stop_against_a_task_from_outside);
}

#[test]
fn canary_a_task_that_comes_too_late_stays() {
    canary(&[Step::QueueClosedLocked], Some(3), stop_against_a_task_from_outside);
}

/// Worker 0 has a task, which worker 1 steals, and the pool ends at once.
fn stop_against_stealing() {
    let crew = Crew::new(2);
    crew.put_back(0, Event::new().task());
    let thief = crew.start(1);
    crew.finish([thief]);
}

#[test]
fn sleep_6_workers_leave_beside_a_task() {
    check(300, None, stop_against_stealing);
}

#[test]
fn canary_the_end_wakes_no_worker() {
    canary(&[Step::SleepStopWakes], None, stop_against_stealing);
}
