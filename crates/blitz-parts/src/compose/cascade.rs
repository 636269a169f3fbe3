//! Two jobs. The first waits for the second, so the worker that is woken first must wake the other.

use super::{Crew, Event, job};
use crate::prim::{Step, canary, check, thread};

/// Both jobs come from outside. The first blocks until the second has run.
fn injected() {
    let crew = Crew::new(2);
    let workers = [0, 1].map(|worker| {
        let crew = crew.clone();
        thread::spawn(move || crew.work_once(worker))
    });
    let second = Event::new();
    crew.inject({
        let second = second.clone();
        job(move || second.wait())
    });
    crew.inject(second.setter());
    crew.wait_for(workers);
}

#[test]
fn sleep_3_of_two_injected_jobs_the_first_waits_for_the_second() {
    check(25_000, Some(2), injected);
}

#[test]
fn canary_injected_without_cascade() {
    canary(&[Step::SleepCascade], Some(2), injected);
}
