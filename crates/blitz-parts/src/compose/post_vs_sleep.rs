//! A job is posted while the workers fall asleep.

use super::{Crew, Event};
use crate::prim::{SeqCst, Step, canary, check, fence};

/// Two jobs from outside, one worker; the main thread injects both and waits for both.
fn injected() {
    let crew = Crew::new(1);
    let worker = crew.start(0);
    let (first, second) = (Event::new(), Event::new());
    crew.inject(first.setter());
    crew.inject(second.setter());
    first.wait();
    second.wait();
    crew.finish([worker]);
}

#[test]
fn sleep_1_injected_jobs_are_found() {
    check(35_000, Some(3), injected);
}

#[test]
fn canary_injected_without_the_posters_fence() {
    canary(&[Step::SleepPostFence], Some(3), injected);
}

#[test]
fn canary_injected_without_the_sleepers_fence() {
    canary(&[Step::SleepLookFence], Some(3), injected);
}

/// One job from outside, two workers.
fn injected_for_two() {
    let crew = Crew::new(2);
    let workers = [crew.start(0), crew.start(1)];
    let done = Event::new();
    crew.inject(done.setter());
    done.wait();
    crew.finish(workers);
}

#[test]
fn sleep_1_an_injected_job_is_found_by_one_of_two() {
    check(60_000, Some(2), injected_for_two);
}

/// Worker 0 publishes two jobs. Then it looks for no work until worker 1 has run both jobs.
fn published() {
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
fn sleep_1_published_jobs_are_found() {
    check(1_200, Some(2), published);
}

/// Like `published`, but worker 0 checks before its fence whether an older job is public. Worker 1
/// was notified of the older job. Between worker 0's check and its fence, worker 1 may take the
/// older job and go to sleep.
fn checked_too_early() {
    let crew = Crew::new(2);
    let worker = crew.start(1);
    let (first, second) = (Event::new(), Event::new());
    for event in [&first, &second] {
        let was_empty = !crew.own(0).has_public();
        crew.own(0).push(event.setter().into_raw(), crew.arm(0));
        fence(SeqCst);
        if was_empty && crew.sleep.counters().peek().anyone_inactive() {
            crew.sleep.new_jobs(1, true);
        }
    }
    first.wait();
    second.wait();
    crew.finish([worker]);
}

#[test]
fn canary_a_push_looks_for_older_jobs_before_its_fence() {
    canary(&[], Some(2), checked_too_early);
}

#[test]
fn canary_published_to_a_sleepy_worker() {
    canary(&[Step::SleepNotifySleepy], Some(2), published);
}
