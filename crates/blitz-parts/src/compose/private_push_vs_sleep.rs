//! A worker pushes privately, looks at the counters in the cheapest way and then sits in a leaf.

use super::{Crew, Event, job};
use crate::prim::{Step, canary, check, check_without, thread};

/// Worker 0 pushes a job and waits for it in a leaf; worker 1 must find it, by force if need be.
fn one_private_job() {
    let crew = Crew::new(2);
    let worker = crew.start(1);
    let done = Event::new();
    crew.push(0, done.setter());
    done.wait();
    crew.finish([worker]);
}

#[test]
fn sleep_4_a_private_job_is_found_by_a_worker_about_to_sleep() {
    check(1_000, Some(3), one_private_job);
}

#[test]
fn canary_private_without_the_heavy_fence() {
    canary(&[Step::SleepLookFence], Some(3), one_private_job);
}

#[test]
fn canary_private_without_the_light_fence() {
    canary(&[Step::BarrierLight], Some(3), one_private_job);
}

/// Two jobs: the second stays private while the first is public.
fn two_private_jobs() {
    let crew = Crew::new(2);
    let worker = crew.start(1);
    let (first, second) = (Event::new(), Event::new());
    crew.push(0, first.setter());
    crew.push(0, second.setter());
    first.wait();
    second.wait();
    crew.finish([worker]);
}

#[test]
fn sleep_4_a_job_behind_a_public_one_is_found() {
    check(1_000, Some(2), two_private_jobs);
}

/// As above, but the public job goes to a worker that is busy, has never looked for work and so
/// wakes nobody.
fn a_busy_worker_takes_the_public_job() {
    let crew = Crew::new(3);
    let sleeper = crew.start(1);
    let done = Event::new();
    let thief = thread::spawn({
        let (crew, done) = (crew.clone(), done.clone());
        move || {
            if let Some(work) = crew.give(0) {
                work.run(None);
                done.wait();
            }
        }
    });
    crew.push(0, job(|| ()));
    crew.push(0, done.setter());
    done.wait();
    thief.join().unwrap();
    crew.finish([sleeper]);
}

#[test]
fn sleep_4_a_busy_thief_leaves_nothing_behind() {
    check(1_000, Some(2), a_busy_worker_takes_the_public_job);
}

#[test]
fn canary_a_sleeper_ignores_the_event_counter() {
    canary(&[Step::SleepJecRecheck], Some(2), a_busy_worker_takes_the_public_job);
}

/// Worker 2 sleeps, worker 1 looks. Worker 0 publishes a job that blocks and pushes a second one
/// behind it, which it keeps private because there is a public one. Worker 1 takes the first and must
/// see the second, to wake worker 2 for it.
fn the_taker_of_the_public_job_passes_on() {
    let crew = Crew::new(3);
    let sleeper = crew.start(2);
    while crew.sleep.counters().load().sleeping() == 0 {
        thread::yield_now();
    }
    let second = Event::new();
    let idle = crew.sleep.start_looking(crew.bed(1));
    let taker = thread::spawn({
        let crew = crew.clone();
        move || {
            let first = loop {
                match crew.give(0) {
                    Some(work) => break work,
                    None => thread::yield_now(),
                }
            };
            crew.sleep.work_found(crew.bed(1), idle, || crew.has_work());
            first.run(None);
        }
    });
    let blocks = second.clone();
    crew.push(0, job(move || blocks.wait()));
    crew.push(0, second.setter());
    second.wait();
    taker.join().unwrap();
    crew.finish([sleeper]);
}

#[test]
fn sleep_3_the_taker_of_a_public_job_sees_the_private_one_behind_it() {
    check(100, Some(2), the_taker_of_the_public_job_passes_on);
}

/// The taker's own fence is no heavy one, so worker 0's light fence must not be needed here.
#[test]
fn sleep_3_the_taker_does_not_rely_on_a_light_fence() {
    check_without(Step::BarrierLight, 100, Some(2), the_taker_of_the_public_job_passes_on);
}
