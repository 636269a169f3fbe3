//! Two jobs, of which the first to run waits for the other: one wake-up must lead to the next.

use super::{Crew, Event, job};
use crate::prim::{Step, canary, check};

/// Both jobs come from outside, the first blocks until the second has run.
fn injected() {
    let crew = Crew::new(2);
    let workers = [crew.start(0), crew.start(1)];
    let (first, second) = (Event::new(), Event::new());
    crew.inject({
        let (first, second) = (first.clone(), second.clone());
        job(move || {
            second.wait();
            first.set();
        })
    });
    crew.inject(second.setter());
    first.wait();
    crew.finish(workers);
}

#[test]
fn sleep_3_of_two_injected_jobs_the_first_waits_for_the_second() {
    check(1_000, Some(2), injected);
}

#[test]
fn canary_injected_without_cascade() {
    canary(&[Step::SleepCascade], Some(2), injected);
}
