//! Polls that show where a task waits.

use super::{ended, idle};
use crate::task::rig::{Gate, Rig, Woken, outcome};
use crate::task::{Join, Probe, task_of};
use core::future::{pending, poll_fn};
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A future that waits for ever, and keeps its waker as futures do: it clones the waker of a poll
/// only if that waker differs from the kept one.
fn keeps_its_waker(place: Arc<Mutex<Option<Waker>>>) -> impl Future<Output = ()> + Send {
    poll_fn(move |context: &mut Context<'_>| {
        let mut kept = place.lock().unwrap();
        if kept.as_ref().is_none_or(|kept| !kept.will_wake(context.waker())) {
            *kept = Some(context.waker().clone());
        }
        Poll::Pending
    })
}

/// Whether one of the stacks leads through [`keeps_its_waker`].
fn is_here(stacks: &[std::backtrace::Backtrace]) -> bool {
    stacks.iter().any(|stack| stack.to_string().contains("keeps_its_waker"))
}

#[test]
fn task_13_a_probe_shows_where_the_waker_is_kept_and_leaves_an_ordinary_one() {
    let (rig, place) = (Rig::new(), Arc::new(Mutex::new(None)));
    let join = rig.spawn(keeps_its_waker(place.clone()));
    assert!(Probe::begin(join.task()).is_none(), "the task does not wait yet");
    assert!(idle(rig.run_one()));
    let ordinary = place.lock().unwrap().clone().unwrap();
    let probe = Probe::begin(join.task()).unwrap();
    assert!(Probe::begin(join.task()).is_none(), "a task has one probe at a time");
    assert_eq!((rig.queued(), Probe::wait(&mut [], Duration::ZERO)), (1, 0), "a probe is a wake");
    assert!(idle(rig.run_one()));
    let mut probes = [probe];
    assert_eq!(Probe::wait(&mut probes, Duration::from_secs(600)), 1);
    let [probe] = probes;
    let stacks = probe.end().unwrap();
    assert_eq!(stacks.len(), 1);
    assert!(is_here(&stacks), "{}", stacks[0]);
    let kept = place.lock().unwrap().clone().unwrap();
    assert!(kept.will_wake(&ordinary));
    assert_eq!(task_of(&kept), Some(join.task().address()));
    // Later polls have the ordinary waker again.
    kept.wake();
    assert!(idle(rig.run_one()));
    assert!(place.lock().unwrap().as_ref().unwrap().will_wake(&ordinary));
    join.abort();
    drop((join, ordinary, place));
    assert_eq!(rig.run_all(), 1);
    assert!(rig.is_well_and_done());
}

#[test]
fn task_13_a_task_that_is_not_polled_in_time_shows_nothing() {
    let (rig, place) = (Rig::new(), Arc::new(Mutex::new(None)));
    let join = rig.spawn(keeps_its_waker(place.clone()));
    assert!(idle(rig.run_one()));
    let mut probes = [Probe::begin(join.task()).unwrap()];
    assert_eq!(Probe::wait(&mut probes, Duration::ZERO), 0);
    let [probe] = probes;
    assert!(probe.end().is_none());
    let before = place.lock().unwrap().clone().unwrap();
    assert!(idle(rig.run_one()), "the probe's wake still causes a poll");
    assert!(place.lock().unwrap().as_ref().unwrap().will_wake(&before));
    join.abort();
    drop((join, before, place));
    assert_eq!(rig.run_all(), 1);
    assert!(rig.is_well_and_done());
}

#[test]
fn task_13_a_task_whose_queue_entry_is_dropped_counts_as_polled() {
    let rig = Rig::new();
    let join = rig.spawn(pending::<()>());
    assert!(idle(rig.run_one()));
    let mut probes = [Probe::begin(join.task()).unwrap()];
    drop(rig.pop());
    assert_eq!(Probe::wait(&mut probes, Duration::from_secs(600)), 1);
    let [probe] = probes;
    assert_eq!(probe.end().map(|stacks| stacks.len()), Some(0));
    drop(join);
    assert!(rig.is_well_and_done());
}

/// Spawns two `async` blocks with one name and different code.
fn spawn_two_kinds(rig: &Arc<Rig>) -> [Join<usize>; 2] {
    let (one, other) = (std::hint::black_box(1), std::hint::black_box(2));
    [rig.spawn(async move { one * 3 }), rig.spawn(async move { other + 4 })]
}

#[test]
fn the_kind_of_a_task_differs_by_type_and_not_by_a_probe() {
    let rig = Rig::new();
    let joins = spawn_two_kinds(&rig);
    let (one, other) = (rig.pop().unwrap(), rig.pop().unwrap());
    assert_eq!(one.type_name(), other.type_name());
    assert_ne!(one.kind(), other.kind());
    assert_eq!((one.kind() % 2, other.kind() % 2), (0, 0));
    drop((one, other, joins));
    let join = rig.spawn(pending::<()>());
    let task = rig.pop().unwrap();
    let kind = task.kind();
    assert!(idle(Some(task.run())));
    let probe = Probe::begin(join.task()).unwrap();
    let task = rig.pop().unwrap();
    assert_eq!(task.kind(), kind);
    assert!(idle(Some(task.run())));
    drop(probe);
    join.abort();
    drop(join);
    assert_eq!(rig.run_all(), 1);
    assert!(rig.is_well_and_done());
}

#[test]
fn task_13_each_wait_counts_the_polls_of_its_own_probes() {
    let rig = Rig::new();
    let joins: Vec<_> = (0..3).map(|_| rig.spawn(pending::<()>())).collect();
    assert_eq!(rig.run_all(), 3);
    let mut probes: Vec<_> = joins.iter().map(|join| Probe::begin(join.task()).unwrap()).collect();
    assert!(idle(rig.run_one()));
    assert_eq!(Probe::wait(&mut probes, Duration::ZERO), 1);
    assert!(idle(rig.run_one()), "a poll after the wait was over");
    assert_eq!(Probe::wait(&mut probes, Duration::ZERO), 2);
    assert_eq!(Probe::wait(&mut probes[..2], Duration::from_secs(600)), 2);
    let (first, last) = probes.split_at_mut(2);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| Probe::wait(last, Duration::from_secs(600)));
        assert_eq!(Probe::wait(first, Duration::from_secs(600)), 2);
        assert!(idle(rig.run_one()));
        assert_eq!(waiting.join().unwrap(), 1);
    });
    let polled = probes.into_iter().filter_map(Probe::end).count();
    assert_eq!(polled, 3);
    joins.iter().for_each(|join| join.abort());
    drop(joins);
    assert_eq!(rig.run_all(), 3);
    assert!(rig.is_well_and_done());
}

/// Awaits another task through its handle.
fn awaits(mut join: Join<usize>) -> impl Future<Output = usize> + Send {
    poll_fn(move |context| join.poll(context).map(Result::unwrap))
}

#[test]
fn task_13_a_task_that_awaits_another_still_does_after_a_probe() {
    let (rig, gate) = (Rig::new(), Gate::new());
    let inner = rig.spawn(gate.pass());
    let task = inner.task();
    let mut outer = rig.spawn(awaits(inner));
    assert_eq!(rig.run_all(), 2);
    let probe = Probe::begin(outer.task()).unwrap();
    assert!(idle(rig.run_one()));
    assert_eq!(task.awaited_by(), Some(outer.task().address()), "the waker is kept as an address");
    assert_eq!(probe.end().unwrap().len(), 1);
    gate.open();
    gate.waker().wake();
    assert!(ended(rig.run_one()) && ended(rig.run_one()));
    assert!(matches!(outcome(&mut outer), Poll::Ready(Ok(1))));
    drop((outer, task));
    assert!(rig.is_well_and_done());
}

#[test]
fn task_13_a_probe_sees_that_its_task_ends() {
    let (rig, gate, woken) = (Rig::new(), Gate::new(), Woken::new());
    let mut join = rig.spawn(gate.pass());
    assert!(idle(rig.run_one()));
    assert!(join.poll(&mut Context::from_waker(&woken.waker())).is_pending());
    gate.open();
    let probe = Probe::begin(join.task()).unwrap();
    assert!(ended(rig.run_one()), "the probe's wake lets the task see the gate");
    assert_eq!(woken.count(), 1);
    assert_eq!(probe.end().map(|stacks| stacks.len()), Some(0));
    assert!(Probe::begin(join.task()).is_none());
    drop((gate.waker(), join));
    assert!(rig.is_well_and_done());
}
