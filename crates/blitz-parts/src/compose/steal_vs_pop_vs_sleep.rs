//! A worker pops its own job while another one falls asleep, wakes and steals.

use super::{Crew, Event};
use crate::prim::{AtomicUsize, Relaxed, Step, canary, check};
use std::sync::Arc;

/// Worker 0 publishes two jobs and pops one, if worker 1 has not taken both. Worker 1 takes the
/// rest. Each job runs once.
fn pop_or_wait() {
    let crew = Crew::new(2);
    let worker = crew.start(1);
    let ran = Arc::new(AtomicUsize::new(0));
    let events = [Event::new(), Event::new()];
    for event in &events {
        let (ran, event) = (ran.clone(), event.clone());
        let work = super::job(move || {
            ran.fetch_add(1, Relaxed);
            event.set();
        });
        crew.push(0, work);
    }
    if let Some(work) = crew.pop(0) {
        work.run(None);
    }
    events.iter().for_each(Event::wait);
    crew.finish([worker]);
    assert_eq!(ran.load(Relaxed), 2);
}

#[test]
fn deque_1_each_job_runs_once_beside_a_sleeper() {
    check(1_900, Some(2), pop_or_wait);
}

#[test]
fn canary_a_sleepy_thief_is_overlooked() {
    canary(&[Step::SleepNotifySleepy], Some(2), pop_or_wait);
}
