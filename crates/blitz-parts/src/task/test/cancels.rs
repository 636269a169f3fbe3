//! Aborts, shields, dropped entries and closed lists.

use super::{cancelled, ended, idle, was_cancelled};
use crate::task::rig::{Drops, Gate, Rig, outcome};
use crate::task::{Join, Ran, TooDeep};
use core::future::{pending, poll_fn};
use core::task::Poll;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, mpsc};

/// A task that waits for ever; the count shows when its future is dropped.
fn waits(rig: &Rig) -> (Join<()>, Drops) {
    let drops = Drops::new();
    let inside = drops.clone();
    let join = rig.spawn(async move {
        pending::<()>().await;
        drop(inside);
    });
    (join, drops)
}

#[test]
fn task_8_an_idle_task_that_is_aborted_ends() {
    let rig = Rig::new();
    let (mut join, drops) = waits(&rig);
    assert!(idle(rig.run_one()));
    join.abort();
    join.abort();
    assert_eq!((rig.queued(), drops.count()), (1, 0));
    assert!(cancelled(rig.run_one()));
    assert_eq!(drops.count(), 1);
    assert!(was_cancelled(&mut join));
    join.abort();
    assert!(rig.is_well_and_done());
}

#[test]
fn task_8_a_task_that_is_aborted_while_it_settles_gives_its_place_up() {
    let rig = Rig::new();
    let (_stays, _) = waits(&rig);
    assert!(idle(rig.run_one()));
    rig.aborts_settling.store(true, Relaxed);
    let (mut join, drops) = waits(&rig);
    assert!(cancelled(rig.run_one()));
    assert_eq!((rig.settled.load(Relaxed), drops.count()), (1, 1));
    assert!(was_cancelled(&mut join));
    assert_eq!(rig.owned.close_and_cancel(), 0, "the task that stays is ended by the closer");
}

#[test]
fn task_8_a_queued_task_that_is_aborted_is_not_polled() {
    let rig = Rig::new();
    let mut join = rig.spawn(poll_fn(|_| -> Poll<()> { panic!("polled") }));
    join.abort();
    assert_eq!(rig.queued(), 1);
    assert!(cancelled(rig.run_one()));
    assert!(was_cancelled(&mut join));
}

#[test]
fn task_8_a_task_that_aborts_itself_ends_with_its_poll() {
    let rig = Rig::new();
    let (sender, handle) = mpsc::channel::<crate::task::TaskRef>();
    let mut polls = 0;
    let mut join = rig.spawn(poll_fn(move |context| -> Poll<()> {
        polls += 1;
        assert_eq!(polls, 1);
        handle.recv().unwrap().abort();
        context.waker().wake_by_ref();
        Poll::Pending
    }));
    sender.send(join.task()).unwrap();
    assert!(cancelled(rig.run_one()));
    assert!(was_cancelled(&mut join));
}

#[test]
fn a_task_that_is_ready_in_spite_of_an_abort_keeps_its_output() {
    let rig = Rig::new();
    let (sender, handle) = mpsc::channel::<crate::task::TaskRef>();
    let mut join = rig.spawn(poll_fn(move |_| {
        handle.recv().unwrap().abort();
        Poll::Ready(5)
    }));
    sender.send(join.task()).unwrap();
    assert!(ended(rig.run_one()));
    assert!(matches!(outcome(&mut join), Poll::Ready(Ok(5))));
}

#[test]
fn task_8_a_dropped_entry_ends_its_task_and_wakes_the_waiter() {
    let rig = Rig::new();
    let (mut join, drops) = waits(&rig);
    let mut outer = rig.spawn(poll_fn(move |context| join.poll(context)));
    let entry = rig.pop().expect("the inner task");
    assert!(idle(rig.run_one()));
    drop(entry);
    assert_eq!(drops.count(), 1);
    assert!(ended(rig.run_one()));
    assert!(matches!(outcome(&mut outer), Poll::Ready(Ok(Err(crate::task::Failure::Cancelled)))));
    assert!(rig.is_well_and_done());
}

#[test]
fn task_9_an_abort_waits_for_every_shield() {
    let rig = Rig::new();
    let (mut join, drops) = waits(&rig);
    let task = join.task();
    assert!(idle(rig.run_one()));
    for _ in 0..255 {
        task.add_shield().expect("255 fit");
    }
    assert_eq!(task.add_shield(), Err(TooDeep));
    assert!(TooDeep.to_string().contains("255"));
    task.abort();
    for _ in 0..254 {
        task.remove_shield();
    }
    assert_eq!((rig.queued(), drops.count()), (0, 0));
    task.remove_shield();
    assert!(cancelled(rig.run_one()));
    assert!(was_cancelled(&mut join));
    assert!(rig.is_well_and_done());
}

#[test]
fn task_9_a_shielded_task_is_polled_although_it_was_aborted() {
    let (rig, gate) = (Rig::new(), Gate::new());
    let mut join = rig.spawn(gate.pass());
    assert!(idle(rig.run_one()));
    join.task().add_shield().unwrap();
    join.abort();
    let waker = gate.waker();
    waker.wake_by_ref();
    assert!(idle(rig.run_one()), "the task is polled, and waits again");
    gate.open();
    waker.wake();
    assert!(ended(rig.run_one()));
    assert!(matches!(outcome(&mut join), Poll::Ready(Ok(1))));
}

#[test]
fn a_shield_that_was_not_added_cannot_be_removed() {
    let rig = Rig::new();
    let (join, _drops) = waits(&rig);
    let task = join.task();
    assert!(catch_unwind(AssertUnwindSafe(|| task.remove_shield())).is_err());
    assert_eq!(rig.run_all(), 1);
    assert_eq!(rig.owned.close_and_cancel(), 0);
}

#[test]
fn task_10_a_list_has_tasks_that_wait_or_have_waited() {
    let (rig, gate) = (Rig::new(), Gate::new());
    let mut passes = rig.spawn(gate.pass());
    let waiting: Vec<_> = (0..3).map(|_| waits(&rig)).collect();
    assert_eq!(rig.owned.len(), 0, "a task that was not polled is in no list");
    assert_eq!(rig.run_all(), 4);
    let mut tasks = Vec::new();
    rig.owned.for_each(|task| tasks.push(task.addr().get()));
    let mut expected: Vec<_> = waiting.iter().map(|(join, _)| join.task().address()).collect();
    expected.push(passes.task().address());
    tasks.sort_unstable();
    expected.sort_unstable();
    assert_eq!(tasks, expected);
    gate.open();
    gate.waker().wake();
    assert_eq!(rig.owned.len(), 4);
    assert_eq!(rig.run_all(), 1);
    assert_eq!(rig.owned.len(), 3);
    assert!(matches!(outcome(&mut passes), Poll::Ready(Ok(1))));
    waiting[1].0.abort();
    assert_eq!(rig.run_all(), 1);
    assert_eq!(rig.owned.len(), 2);
    assert_eq!(rig.owned.close_and_cancel(), 0);
    assert!(waiting.iter().all(|(join, drops)| join.is_finished() && drops.count() == 1));
    assert!(rig.is_well_and_done());
}

#[test]
fn task_10_closing_ends_waiting_tasks_and_marks_the_rest() {
    let (rig, gate) = (Rig::new(), Gate::new());
    let (mut idle_one, _) = waits(&rig);
    let mut queued = rig.spawn(gate.pass());
    assert_eq!(rig.run_all(), 2);
    let (mut late, _) = waits(&rig);
    for join in [&idle_one, &late] {
        join.task().add_shield().unwrap();
    }
    queued.task().add_shield().unwrap();
    gate.waker().wake();
    assert_eq!(rig.owned.close_and_cancel(), 1, "one task is in the queue");
    assert_eq!(rig.owned.len(), 1);
    assert!(was_cancelled(&mut idle_one));
    assert_eq!(rig.owned.close_and_cancel(), 1, "closing twice does no harm");
    assert_eq!(rig.run_all(), 2);
    assert!(was_cancelled(&mut queued));
    assert!(was_cancelled(&mut late), "the task would have joined a closed list");
    assert!(rig.is_well_and_done());
}

#[test]
fn task_10_futures_are_dropped_outside_of_the_lock() {
    /// Uses the list while it is dropped, as a future that aborts another task may do.
    struct Looks(Arc<Rig>, mpsc::Sender<usize>);
    impl Drop for Looks {
        fn drop(&mut self) {
            self.1.send(self.0.owned.len()).unwrap();
        }
    }
    let rig = Rig::new();
    let (sender, seen) = mpsc::channel();
    let looks = Looks(rig.clone(), sender);
    let join = rig.spawn(async move {
        pending::<()>().await;
        drop(looks);
    });
    assert_eq!(rig.run_all(), 1);
    assert_eq!(rig.owned.close_and_cancel(), 0);
    assert_eq!(seen.recv().unwrap(), 0);
    drop(join);
    assert!(rig.is_well_and_done());
}

#[test]
fn a_task_that_closes_its_list_ends_with_its_poll() {
    let rig = Rig::new();
    let inside = rig.clone();
    let gate = Gate::new();
    let mut pass = Box::pin(gate.pass());
    let mut polls = 0;
    let (task, mut join) = rig.task(poll_fn(move |context| {
        polls += 1;
        if polls == 2 {
            assert_eq!(inside.owned.close_and_cancel(), 1);
        }
        pass.as_mut().poll(context)
    }));
    let Ran::Idle = task.run() else { panic!("it waits") };
    gate.waker().wake();
    assert!(cancelled(rig.run_one()));
    assert!(was_cancelled(&mut join));
    assert!(rig.is_well_and_done());
}
