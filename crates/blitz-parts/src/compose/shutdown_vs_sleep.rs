//! The pool ends while its workers work, search and fall asleep.

use super::{Crew, Event};
use crate::prim::{Step, canary, check};

/// One worker and one job from outside; the pool ends as soon as the job has run.
fn stop_after_a_job() {
    let crew = Crew::new(1);
    let worker = crew.start(0);
    let done = Event::new();
    crew.inject(done.setter());
    done.wait();
    crew.finish([worker]);
}

/// The pool ends at once.
fn stop_at_once() {
    let crew = Crew::new(2);
    let workers = [crew.start(0), crew.start(1)];
    crew.finish(workers);
}

#[test]
fn sleep_6_workers_leave_after_a_job() {
    check(4_000, Some(3), stop_after_a_job);
}

#[test]
fn sleep_6_workers_leave_at_once() {
    check(200, Some(2), stop_at_once);
}

#[test]
fn canary_the_end_wakes_no_worker() {
    canary(&[Step::SleepStopWakes], Some(2), stop_at_once);
}
