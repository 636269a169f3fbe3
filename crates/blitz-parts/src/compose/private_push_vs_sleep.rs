//! A worker forks privately, reads the counters after a light fence, and then looks for no work.

use super::{Crew, Event, Look, job};
use crate::job::Work;
use crate::prim::{Step, canary, check, check_without, thread};

/// Worker 0 forks a job, and looks for no work until the job has run. Worker 1 must find the job,
/// by force if need be.
fn one_private_job() {
    let crew = Crew::new(2);
    let worker = crew.start(1);
    let done = Event::new();
    crew.fork(0, done.setter());
    done.wait();
    crew.finish([worker]);
}

#[test]
fn sleep_4_a_private_job_is_found_by_a_worker_about_to_sleep() {
    check(3_000, Some(3), one_private_job);
}

#[test]
fn canary_private_without_the_heavy_fence() {
    // The search before the last look has a fence, too. On a real machine that fence is not a heavy
    // one, so no model may rely on it: the canary leaves it out, too.
    canary(&[Step::SleepLookFence, Step::DequeStealFence], Some(3), one_private_job);
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
    let [job, newer] = [first.setter(), second.setter()];
    crew.fork(0, job);
    crew.fork(0, newer);
    first.wait();
    second.wait();
    crew.finish([worker]);
}

#[test]
fn sleep_4_a_job_behind_a_public_one_is_found() {
    check(30_000, Some(3), two_private_jobs);
}

/// Like `two_private_jobs`, but a third worker takes the public job. That worker is busy. It has
/// never looked for work, so it wakes no other worker when it takes the job.
fn a_busy_worker_takes_the_public_job() {
    let crew = Crew::new(3);
    let sleeper = crew.start(1);
    let (here, there) = (Event::new(), Event::new());
    let thief = thread::spawn({
        let (crew, there) = (crew.clone(), there.clone());
        move || {
            if let Some(work) = crew.give(0) {
                work.run(None);
                there.wait();
            }
        }
    });
    let [job, newer] = [job(|| ()), both(&here, &there)];
    crew.fork(0, job);
    crew.fork(0, newer);
    here.wait();
    thief.join().unwrap();
    crew.finish([sleeper]);
}

/// A job that sets two events.
fn both(a: &Event, b: &Event) -> Work {
    let (a, b) = (a.clone(), b.clone());
    job(move || {
        a.set();
        b.set();
    })
}

#[test]
fn sleep_4_a_busy_thief_leaves_nothing_behind() {
    check(18_000, Some(2), a_busy_worker_takes_the_public_job);
}

/// Like `a_busy_worker_takes_the_public_job`, but the owner's thread also acts as the busy worker,
/// so that more preemptions can be explored. The sleeper may look before the public job comes, and
/// register as a sleeper after it has gone.
fn the_public_job_goes_after_the_private_push() {
    let crew = Crew::new(2);
    let sleeper = crew.start(1);
    thread::yield_now();
    let done = Event::new();
    let [job, newer] = [job(|| ()), done.setter()];
    crew.fork(0, job);
    crew.fork(0, newer);
    if let Some(work) = crew.give(0) {
        work.run(None);
    }
    done.wait();
    crew.finish([sleeper]);
}

#[test]
fn sleep_4_a_sleeper_that_looked_too_early_looks_again() {
    check(25_000, Some(3), the_public_job_goes_after_the_private_push);
}

#[test]
fn canary_a_sleeper_ignores_the_event_counter() {
    let steps = [Step::SleepJecRecheck];
    canary(&steps, Some(3), the_public_job_goes_after_the_private_push);
}

/// Worker 2 sleeps, worker 1 looks. Worker 0 publishes a job that blocks, and forks a second job
/// behind it. Worker 0 keeps the second job private because the first is public. Worker 1 takes the
/// first job. It must see the second, so that it wakes worker 2 for the second.
fn the_taker_of_the_public_job_passes_on() {
    let crew = Crew::new(3);
    let sleeper = thread::spawn({
        let crew = crew.clone();
        move || crew.work_once(2)
    });
    while crew.sleep.counters().load().sleeping() == 0 {
        thread::yield_now();
    }
    let idle = crew.sleep.start_looking(crew.sleep.own_bed(1));
    let taker = thread::spawn({
        let crew = crew.clone();
        move || {
            let first = loop {
                match crew.give(0) {
                    Some(work) => break work,
                    None => thread::yield_now(),
                }
            };
            crew.sleep.work_found(crew.sleep.own_bed(1), idle, || crew.has_work());
            first.run(None);
        }
    });
    let (here, there) = (Event::new(), Event::new());
    let second = both(&here, &there);
    crew.fork(0, job(move || there.wait()));
    crew.fork(0, second);
    here.wait();
    crew.wait_for([sleeper, taker]);
}

#[test]
fn sleep_3_the_taker_of_a_public_job_sees_the_private_one_behind_it() {
    check(3_500, Some(2), the_taker_of_the_public_job_passes_on);
    // The owner's fence is a light one, so the taker's plain fence does not pair with it. The model
    // holds without the plain fence.
    let plain = Step::SleepCascadeFence;
    check_without(plain, 3_500, Some(2), the_taker_of_the_public_job_passes_on);
}

#[test]
fn canary_the_taker_looks_without_a_heavy_fence() {
    let steps = [Step::SleepCascadeFence, Step::SleepCascadeAgain];
    canary(&steps, Some(2), the_taker_of_the_public_job_passes_on);
}

/// Worker 2 sleeps, worker 1 looks. Worker 0 publishes a job and wakes no worker, because worker 1
/// looks. Worker 0 forks a second job behind the first. Then a busy worker (here the main thread)
/// takes the first job and wakes no worker. Meanwhile worker 1 has found other work, and stops
/// looking. Worker 1 must see the second job. But it computes the number of jobs from several
/// words: it may read one word as it was before the second fork, and another as it is after the
/// theft.
fn a_worker_that_leaves_for_other_work_passes_on() {
    let crew = Crew::new(3);
    let sleeper = crew.start(2);
    while crew.sleep.counters().load().sleeping() == 0 {
        thread::yield_now();
    }
    let idle = crew.sleep.start_looking(crew.sleep.own_bed(1));
    let (here, there) = (Event::new(), Event::new());
    let leaver = thread::spawn({
        let (crew, there) = (crew.clone(), there.clone());
        move || {
            crew.sleep.work_found(crew.sleep.own_bed(1), idle, || crew.has_work());
            there.wait();
        }
    });
    let [job, newer] = [job(|| ()), both(&here, &there)];
    crew.fork(0, job);
    crew.fork(0, newer);
    if let Some(work) = crew.give(0) {
        work.run(None);
    }
    here.wait();
    crew.finish([sleeper, leaver]);
}

#[test]
fn sleep_3_a_worker_that_leaves_for_other_work_looks_twice() {
    check(14_000, Some(2), a_worker_that_leaves_for_other_work_passes_on);
}

#[test]
fn canary_a_worker_that_leaves_looks_only_once() {
    canary(&[Step::SleepCascadeAgain], Some(2), a_worker_that_leaves_for_other_work_passes_on);
}

/// Worker 0 keeps a job private if worker 1 is searching. Then worker 0 looks for no work until the
/// job has run.
fn one_kept_job() {
    let crew = Crew::new(2);
    let worker = crew.start(1);
    let done = Event::new();
    crew.fork_and_keep(0, done.setter());
    done.wait();
    crew.finish([worker]);
}

#[test]
fn sleep_9_a_kept_job_is_found_by_the_worker_it_was_kept_from() {
    check(10_000, Some(3), one_kept_job);
}

#[test]
fn canary_kept_without_the_heavy_fence() {
    canary(&[Step::SleepLookFence, Step::DequeStealFence], Some(3), one_kept_job);
}

#[test]
fn canary_kept_without_the_light_fence() {
    canary(&[Step::BarrierLight], Some(3), one_kept_job);
}

/// Worker 2 sleeps and worker 1 looks, so worker 0 keeps its job. Then worker 1 finds other work,
/// which lasts until the kept job has run.
fn a_worker_from_whom_a_job_was_kept_leaves() {
    let crew = Crew::new(3);
    let sleeper = crew.start(2);
    while crew.sleep.counters().load().sleeping() == 0 {
        thread::yield_now();
    }
    let idle = crew.sleep.start_looking(crew.sleep.own_bed(1));
    let (here, there) = (Event::new(), Event::new());
    let leaver = thread::spawn({
        let (crew, there) = (crew.clone(), there.clone());
        move || {
            crew.sleep.work_found(crew.sleep.own_bed(1), idle, || crew.has_work());
            there.wait();
        }
    });
    crew.fork_and_keep(0, both(&here, &there));
    here.wait();
    crew.finish([sleeper, leaver]);
}

#[test]
fn sleep_9_a_worker_from_whom_a_job_was_kept_passes_on() {
    check(4_000, Some(2), a_worker_from_whom_a_job_was_kept_leaves);
}

#[test]
fn canary_a_worker_from_whom_a_job_was_kept_does_not_look() {
    let steps = [Step::SleepCascadeFence, Step::SleepCascadeAgain];
    canary(&steps, Some(2), a_worker_from_whom_a_job_was_kept_leaves);
}

/// Worker 1 sleeps, and worker 0 keeps its job private nevertheless. So no worker finds the job.
fn a_job_kept_from_a_sleeper() {
    let crew = Crew::new(2);
    let sleeper = crew.start(1);
    while crew.sleep.counters().load().sleeping() == 0 {
        thread::yield_now();
    }
    let done = Event::new();
    crew.fork_privately(0, done.setter());
    done.wait();
    crew.finish([sleeper]);
}

#[test]
fn canary_a_job_is_kept_from_a_sleeper() {
    canary(&[], Some(2), a_job_kept_from_a_sleeper);
}

/// Worker 0 has a private job that was not announced. Worker 1 has announced that it is sleepy, and
/// has found nothing. Then a busy worker, which never looks for work, makes that job public by
/// force and takes it. Meanwhile worker 0 forks or pushes a second job. If worker 0 sees that the
/// first job is public, it announces neither job: it assumes that the first was announced.
fn a_busy_worker_forces(second: fn(&Crew, usize, Work)) {
    let crew = Crew::new(3);
    let (here, there) = (Event::new(), Event::new());
    let [first, newer] = [job(|| ()), both(&here, &there)];
    crew.fork_privately(0, first);
    let mut idle = crew.sleep.start_looking(crew.sleep.own_bed(1));
    crew.sleep.no_work_found(crew.sleep.own_bed(1), &mut idle, None, || true);
    assert!(idle.is_sleepy());
    // The first attempt to force makes nothing public. It notes how many jobs were pushed.
    assert!(crew.find(1, Look::Hard).is_none());
    let thief = thread::spawn({
        let (crew, there) = (crew.clone(), there.clone());
        move || {
            crew.force_and_tell(0);
            if let Some(work) = crew.give(0) {
                work.run(None);
                there.wait();
            }
        }
    });
    let sleeper = thread::spawn({
        let crew = crew.clone();
        move || {
            crew.sleep.no_work_found(crew.sleep.own_bed(1), &mut idle, None, || crew.has_work());
            crew.sleep.work_found(crew.sleep.own_bed(1), idle, || crew.has_work());
            crew.work(1);
        }
    });
    second(&crew, 0, newer);
    here.wait();
    thief.join().unwrap();
    crew.finish([sleeper]);
}

#[test]
fn sleep_4_a_busy_worker_that_forces_leaves_nothing_behind() {
    check(90_000, Some(2), || a_busy_worker_forces(Crew::push));
}

#[test]
fn canary_a_busy_worker_that_forces_does_not_announce() {
    canary(&[Step::SleepForceTells], Some(2), || a_busy_worker_forces(Crew::push));
    canary(&[Step::SleepForceTells], Some(2), || a_busy_worker_forces(Crew::fork));
}
