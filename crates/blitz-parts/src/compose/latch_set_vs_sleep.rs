//! A latch is set while the worker that waits for it falls asleep.

use super::{Crew, job};
use crate::latch::{JobLatch, Latch};
use crate::prim::{Step, canary, check};
use core::ptr::NonNull;
use std::rc::Rc;

/// Worker 0 pushes a job that sets a latch, and calls `wait` with this latch. Worker 1 may run the
/// job.
fn fork_and_wait(wait: fn(&Crew, &JobLatch)) {
    let crew = Crew::new(2);
    let worker = crew.start(1);
    let latch = Rc::new(JobLatch::new(NonNull::from(crew.bed(0))));
    // An `Rc` suffices: all threads of a model run on one real thread.
    let set = latch.clone();
    // SAFETY: the closure keeps the latch alive.
    crew.push(0, job(move || unsafe { JobLatch::set(&raw const *set) }));
    wait(&crew, &latch);
    assert!(latch.probe());
    crew.finish([worker]);
}

fn helping_all() {
    fork_and_wait(|crew, latch| crew.wait_helping_all(0, latch, crew.own(0).mark()));
}

fn parked() {
    fork_and_wait(|crew, latch| crew.wait_parked(0, latch));
}

#[test]
fn sleep_5_a_waiter_that_helps_is_woken() {
    check(500, Some(2), helping_all);
}

#[test]
fn sleep_5_a_waiter_that_parks_is_woken() {
    check(700, Some(2), parked);
}

#[test]
fn canary_the_latch_wakes_no_worker() {
    canary(&[Step::LatchSetWake], Some(2), helping_all);
    canary(&[Step::LatchSetWake], Some(2), parked);
}

#[test]
fn canary_the_latch_is_marked_before_the_word_is_sleepy() {
    canary(&[Step::SleepLatchAfterWord], Some(2), helping_all);
}
