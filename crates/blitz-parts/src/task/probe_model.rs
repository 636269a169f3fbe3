//! Probes under the model checker: they meet wakes, runs and other probes.
//!
//! The checker's condition variable has no timeout. So a probe that waits for a poll which it does
//! not see is a deadlock, and fails its model.

use super::rig::Rig;
use super::{Join, Probe};
use crate::prim::{Mutex, Step, canary, check, thread};
use core::future::poll_fn;
use core::task::{Poll, Waker};
use std::sync::Arc;
use std::time::Duration;

/// A task that waits for ever, and a waker of it. Each of its polls clones its waker twice.
fn waiting() -> (Arc<Rig>, Join<()>, Waker) {
    waiting_with(|| ())
}

/// As `waiting`. The polls after the first one call `between` after the first of their clones.
fn waiting_with(mut between: impl FnMut() + Send + 'static) -> (Arc<Rig>, Join<()>, Waker) {
    let (rig, place) = (Rig::new(), Arc::new(Mutex::new(None)));
    let kept = place.clone();
    let mut is_first = true;
    let join = rig.spawn(poll_fn(move |context| {
        if core::mem::take(&mut is_first) {
            *kept.lock().unwrap() = Some(context.waker().clone());
        } else {
            drop(context.waker().clone());
            between();
            drop(context.waker().clone());
        }
        Poll::Pending
    }));
    assert_eq!(rig.run_all(), 1);
    let waker = place.lock().unwrap().take().expect("the task was polled");
    (rig, join, waker)
}

/// Probes the task, runs what is queued, and waits for the poll if the probe was accepted. Returns
/// the probe.
fn probe(rig: &Rig, join: &Join<()>) -> Option<Probe> {
    let mut probe = Probe::begin(join.task());
    rig.run_all();
    Probe::wait(probe.as_mut_slice(), Duration::from_secs(600));
    probe
}

/// Ends a probe whose task was polled, and checks that it has seen whole polls.
fn saw_whole_polls(probe: Probe) {
    let stacks = probe.end().expect("the task was polled").len();
    assert!(stacks > 0 && stacks % 2 == 0, "{stacks} stacks");
}

/// Ends the task.
fn end(rig: &Rig, join: Join<()>) {
    join.abort();
    drop(join);
    rig.run_all();
    assert!(rig.is_well_and_done());
}

/// A probe of a task that no other thread wakes or probes.
fn a_probe_alone() {
    let (rig, join, waker) = waiting();
    let probing = thread::spawn({
        let rig = rig.clone();
        move || rig.run_all()
    });
    let probe = probe(&rig, &join).expect("the task waits");
    probing.join().unwrap();
    assert_eq!(probe.end().map(|stacks| stacks.len()), Some(2));
    drop(waker);
    end(&rig, join);
}

/// Another thread drops the queue entry of a probed task, as the end of a pool does.
fn a_probe_of_a_task_that_is_cancelled() {
    let (rig, join, waker) = waiting();
    let mut probe = Probe::begin(join.task());
    assert!(probe.is_some(), "the task waits");
    let ending = thread::spawn({
        let rig = rig.clone();
        move || drop(rig.pop().expect("the probe woke the task"))
    });
    // A probe that did not see the cancellation would wait for ever.
    assert_eq!(Probe::wait(probe.as_mut_slice(), Duration::from_secs(600)), 1);
    drop((probe, waker, join));
    ending.join().unwrap();
    assert!(rig.is_well_and_done());
}

#[test]
fn task_13_a_probe_sees_that_its_task_is_cancelled() {
    check(5, None, a_probe_of_a_task_that_is_cancelled);
}

#[test]
fn canary_a_cancelled_task_does_not_count_as_polled() {
    canary(&[Step::TaskProbeCancelled], None, a_probe_of_a_task_that_is_cancelled);
}

#[test]
fn task_13_the_poll_of_a_probe_has_its_waker() {
    check(20, None, a_probe_alone);
}

/// Two threads probe the task.
fn a_probe_meets_a_probe() {
    let (rig, join, waker) = waiting();
    let join = Arc::new(join);
    let probing = thread::spawn({
        let (rig, join) = (rig.clone(), join.clone());
        move || probe(&rig, &join).map(saw_whole_polls)
    });
    let first = probe(&rig, &join).map(saw_whole_polls);
    let second = probing.join().unwrap();
    assert!(first.or(second).is_some(), "at least one of the two probes begins");
    drop(waker);
    end(&rig, Arc::into_inner(join).unwrap());
}

#[test]
fn task_13_a_probe_that_ends_leaves_the_next_one_alone() {
    check(2_000, Some(2), a_probe_meets_a_probe);
}

#[test]
fn canary_a_probe_restores_the_table_before_it_forgets_its_notes() {
    canary(&[Step::TaskProbeForgetsFirst], Some(2), a_probe_meets_a_probe);
}

/// A thread wakes and runs the task while another one probes it.
fn a_probe_meets_a_wake_and_a_run() {
    let (rig, join, waker) = waiting();
    let running = thread::spawn({
        let rig = rig.clone();
        move || {
            waker.wake();
            rig.run_all();
        }
    });
    let probe = probe(&rig, &join);
    running.join().unwrap();
    if let Some(probe) = probe {
        saw_whole_polls(probe);
    }
    end(&rig, join);
}

#[test]
fn task_13_a_probe_that_begins_sees_a_poll() {
    check(5_000, Some(2), a_probe_meets_a_wake_and_a_run);
}

#[test]
fn canary_a_probe_begins_by_the_wake_of_another_thread() {
    canary(&[Step::TaskProbeOwnWake], Some(2), a_probe_meets_a_wake_and_a_run);
}

/// The second probe begins and ends while the poll of the first one may still be at its end.
fn a_late_poll_meets_a_probe() {
    let (rig, join, waker) = waiting();
    let first = Probe::begin(join.task()).expect("the task waits");
    let running = thread::spawn({
        let rig = rig.clone();
        move || rig.run_all()
    });
    drop(first);
    let stacks = Probe::begin(join.task()).and_then(Probe::end);
    assert_ne!(stacks.map(|stacks| stacks.len()), Some(0), "a poll without stacks");
    running.join().unwrap();
    drop(waker);
    end(&rig, join);
}

#[test]
fn task_13_a_late_poll_does_not_count_for_the_next_probe() {
    check(10_000, Some(3), a_late_poll_meets_a_probe);
}

#[test]
fn canary_a_late_poll_counts_for_the_next_probe() {
    canary(&[Step::TaskProbeNumbers], Some(3), a_late_poll_meets_a_probe);
}

/// A probe ends during a poll that has begun in it, and the next probe begins.
fn an_earlier_poll_meets_a_probe() {
    let place = Arc::new(Mutex::new(None::<Probe>));
    let ended = place.clone();
    let (rig, join, waker) = waiting_with(move || drop(ended.lock().unwrap().take()));
    *place.lock().unwrap() = probe(&rig, &join);
    let running = thread::spawn({
        let rig = rig.clone();
        move || {
            waker.wake();
            rig.run_all();
        }
    });
    let second = probe(&rig, &join);
    running.join().unwrap();
    if let Some(second) = second {
        saw_whole_polls(second);
    }
    end(&rig, join);
}

#[test]
fn task_13_a_probe_shows_no_earlier_poll() {
    check(5_000, Some(3), an_earlier_poll_meets_a_probe);
}

#[test]
fn canary_a_probe_shows_half_of_an_earlier_poll() {
    canary(&[Step::TaskProbePollBegins], Some(3), an_earlier_poll_meets_a_probe);
}
