//! The join handle: polled early, late, by several tasks, or never.

use super::ended;
use crate::task::rig::{Drops, Gate, Rig, Woken, outcome};
use crate::task::{Join, Shown, task_of};
use core::future::{poll_fn, ready};
use core::task::{Context, Poll, Waker};
use std::panic::{AssertUnwindSafe, catch_unwind};

fn poll<T>(join: &mut Join<T>, woken: &Woken) -> bool {
    join.poll(&mut Context::from_waker(&woken.waker())).is_ready()
}

#[test]
fn task_5_the_output_is_moved_to_the_caller() {
    let rig = Rig::new();
    let drops = Drops::new();
    let mut join = rig.spawn(ready(drops.clone()));
    assert!(join.try_take().is_none());
    assert_eq!(rig.run_all(), 1);
    let output = join.try_take();
    drop(join);
    assert_eq!(drops.count(), 0);
    assert!(matches!(output, Some(Ok(_))));
    drop(output);
    assert_eq!(drops.count(), 1);
}

#[test]
fn task_5_an_output_is_dropped_with_its_handle() {
    let rig = Rig::new();
    let drops = Drops::new();
    let before = rig.spawn(ready(drops.clone()));
    let after = rig.spawn(ready(drops.clone()));
    drop(before);
    assert_eq!(drops.count(), 0, "the task goes on without its handle");
    assert_eq!(rig.run_all(), 2);
    assert_eq!(drops.count(), 1, "no handle wants the first output");
    drop(after);
    assert_eq!(drops.count(), 2, "the second output is dropped with its handle");
    assert!(rig.is_well_and_done());
}

#[test]
fn task_7_only_the_waker_of_the_last_poll_is_woken() {
    let rig = Rig::new();
    let wakers = [Woken::new(), Woken::new(), Woken::new()];
    let mut join = rig.spawn(ready(()));
    for woken in &wakers {
        assert!(!poll(&mut join, woken));
        assert!(!poll(&mut join, woken), "a second poll changes nothing");
        assert_eq!(woken.wakers(), 1);
    }
    assert_eq!(wakers.each_ref().map(Woken::wakers), [0, 0, 1]);
    assert!(ended(rig.run_one()));
    assert_eq!(wakers.each_ref().map(Woken::count), [0, 0, 1]);
    assert_eq!(wakers.each_ref().map(Woken::wakers), [0, 0, 0]);
    assert!(poll(&mut join, &wakers[0]));
}

#[test]
fn task_7_a_handle_takes_its_waker_along() {
    let rig = Rig::new();
    let woken = Woken::new();
    let mut join = rig.spawn(ready(()));
    assert!(!poll(&mut join, &woken));
    drop(join);
    assert_eq!(woken.wakers(), 0);
    assert_eq!(rig.run_all(), 1);
    assert_eq!(woken.count(), 0);
    assert!(rig.is_well_and_done());
}

#[test]
fn task_7_wakers_of_tasks_and_foreign_wakers_replace_each_other() {
    let (rig, woken, gates) = (Rig::new(), Woken::new(), [Gate::new(), Gate::new()]);
    let mut waiting = gates.each_ref().map(|gate| rig.spawn(gate.pass()));
    assert_eq!(rig.run_all(), 2);
    let tasks = gates.each_ref().map(|gate| gate.waker());
    let mut join = rig.spawn(ready(()));
    for waker in [&tasks[0], &woken.waker(), &tasks[0], &tasks[1]] {
        let mut context = Context::from_waker(waker);
        assert!(join.poll(&mut context).is_pending());
        assert!(join.poll(&mut context).is_pending(), "a second poll changes nothing");
    }
    assert!(ended(rig.run_one()));
    assert_eq!((woken.count(), woken.wakers()), (0, 0));
    assert_eq!(rig.queued(), 1, "the waker of the last poll has woken its task");
    gates.iter().for_each(|gate| gate.open());
    assert!(ended(rig.run_one()));
    assert!(outcome(&mut waiting[0]).is_pending() && outcome(&mut waiting[1]).is_ready());
    tasks.into_iter().for_each(Waker::wake);
    assert!(ended(rig.run_one()) && outcome(&mut waiting[0]).is_ready());
    assert!(rig.is_well_and_done());
}

#[test]
fn an_outcome_is_given_out_once() {
    let rig = Rig::new();
    let mut join = rig.spawn(ready(1));
    assert_eq!(rig.run_all(), 1);
    assert!(matches!(outcome(&mut join), Poll::Ready(Ok(1))));
    let again = catch_unwind(AssertUnwindSafe(|| outcome(&mut join)));
    assert!(again.is_err_and(|payload| crate::task::rig::text(&payload).contains("once")));
    let again = catch_unwind(AssertUnwindSafe(|| join.try_take()));
    assert!(again.is_err());
    assert!(join.is_finished());
}

#[test]
fn a_task_may_wait_for_a_task() {
    let (rig, gate) = (Rig::new(), Gate::new());
    let mut inner = rig.spawn(gate.pass());
    let mut outer = rig.spawn(poll_fn(move |context| inner.poll(context)));
    assert_eq!(rig.run_all(), 2);
    assert_eq!(rig.owned.len(), 2);
    gate.open();
    gate.waker().wake();
    assert_eq!(rig.run_all(), 2, "the end of the inner task wakes the outer task");
    assert!(matches!(outcome(&mut outer), Poll::Ready(Ok(Ok(1)))));
    drop(outer);
    assert!(rig.is_well_and_done());
}

#[test]
fn a_future_may_hold_its_own_handle() {
    let rig = Rig::new();
    let (sender, handle) = std::sync::mpsc::channel::<Join<()>>();
    let mut own = None;
    let join = rig.spawn(poll_fn(move |_| {
        own = own.take().or_else(|| handle.try_recv().ok());
        if own.as_ref().is_some_and(|own| !own.is_finished()) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }));
    let task = join.task();
    sender.send(join).unwrap();
    assert!(ended(rig.run_one()));
    assert!(task.is_finished());
    assert!(rig.is_well_and_done());
}

#[test]
fn a_reference_knows_which_task_awaits_its_task() {
    let (rig, woken, gate) = (Rig::new(), Woken::new(), Gate::new());
    let mut inner = rig.spawn(gate.pass());
    let task = inner.task();
    assert_eq!(task.awaited_by(), None, "the handle was not polled");
    assert!(!poll(&mut inner, &woken));
    assert_eq!(task.awaited_by(), None, "the waker is of no task");
    let outer = rig.spawn(poll_fn(move |context| inner.poll(context)));
    let waiter = outer.task().address();
    assert_eq!(rig.run_all(), 2);
    assert_eq!(task.awaited_by(), Some(waiter));
    let waker = gate.waker();
    assert_eq!(task_of(&waker), Some(task.address()));
    gate.open();
    waker.wake();
    assert!(ended(rig.run_one()));
    assert_eq!(task.awaited_by(), None, "the task has ended");
    assert!(ended(rig.run_one()));
    drop((outer, task));
    assert!(rig.is_well_and_done());
}

#[test]
fn a_worker_shows_which_task_it_polls() {
    let (rig, shown) = (Rig::new(), Shown::default());
    // SAFETY: no other thread uses it.
    let owner = unsafe { shown.owner() };
    assert!(shown.get().is_none());
    let (first, _first_join) = rig.task(ready(()));
    let (second, _second_join) = rig.task(ready(()));
    owner.set(&first);
    let outer = shown.get();
    owner.set(&second);
    assert_eq!(shown.get().unwrap().serial(), second.serial());
    owner.restore(outer);
    let task = shown.get().unwrap();
    assert_eq!((task.serial(), task.site()), (first.serial(), first.site()));
    assert_eq!(task.type_name(), first.type_name());
    owner.restore(None);
    assert!(shown.get().is_none());
}

#[test]
fn references_know_their_task() {
    let rig = Rig::new();
    let (task, join) = rig.task(ready(()));
    let (other, _other_join) = rig.task(ready(()));
    let reference = join.task();
    assert_eq!(reference, reference.clone());
    assert_eq!(reference.address(), task.header().addr().get());
    assert_eq!(reference.serial(), task.serial());
    assert!(reference.site().file().ends_with("rig.rs"));
    // SAFETY: the entry keeps the task alive.
    let another = unsafe { crate::task::TaskRef::from_header(other.header()) };
    assert_ne!(reference, another);
    assert_ne!(reference.serial(), another.serial());
    assert!(format!("{reference:?}").contains("SCHEDULED JOIN_INTEREST shields 0 references 3"));
    drop(task);
    assert!(reference.is_finished());
    assert!(format!("{join:?}").contains("COMPLETE"));
}
