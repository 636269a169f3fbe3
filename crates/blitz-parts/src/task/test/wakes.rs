//! Wakers, kept in different places and used at different times.

use super::{ended, idle};
use crate::task::rig::{Gate, Rig, outcome};
use crate::task::{Ran, Runnable};
use core::future::poll_fn;
use core::task::{Poll, Waker};
use std::sync::{Arc, Mutex, mpsc};

/// A wake that consumes its own reference.
fn wake_clone(waker: &Waker) {
    let clone = waker.clone();
    clone.wake();
}

#[test]
fn task_2_a_wake_runs_the_task_again() {
    let rig = Rig::new();
    let (sender, wakers) = mpsc::channel::<Waker>();
    let mut polls = 0;
    let mut join = rig.spawn(poll_fn(move |context| {
        polls += 1;
        sender.send(context.waker().clone()).unwrap();
        if polls == 3 { Poll::Ready(polls) } else { Poll::Pending }
    }));
    assert!(idle(rig.run_one()));
    assert_eq!((rig.queued(), rig.owned.len()), (0, 1));
    wakers.recv().unwrap().wake();
    assert!(idle(rig.run_one()));
    let waker = wakers.recv().unwrap();
    waker.wake_by_ref();
    assert_eq!(rig.queued(), 1);
    assert!(ended(rig.run_one()));
    assert!(matches!(outcome(&mut join), Poll::Ready(Ok(3))));
    assert!(rig.is_well_and_done());
}

#[test]
fn task_3_many_wakes_make_one_queue_entry() {
    let (rig, gate) = (Rig::new(), Gate::new());
    let _join = rig.spawn(gate.pass());
    assert_eq!(rig.run_all(), 1);
    let waker = gate.waker();
    for _ in 0..10 {
        waker.wake_by_ref();
        wake_clone(&waker);
    }
    assert_eq!(rig.queued(), 1);
    assert!(idle(rig.run_one()), "wakes of a queued task are no reason to poll it twice");
    assert_eq!(rig.queued(), 0);
    gate.open();
    waker.wake();
    assert!(ended(rig.run_one()));
    assert!(rig.is_well_and_done());
}

#[test]
fn a_task_that_wakes_itself_runs_again_at_once_and_joins_no_list() {
    let rig = Rig::new();
    let mut left = 5;
    let (mut task, mut join) = rig.task(poll_fn(move |context| {
        left -= 1;
        match left {
            0 => return Poll::Ready("done"),
            1 => wake_clone(context.waker()),
            _ => context.waker().wake_by_ref(),
        }
        Poll::Pending
    }));
    for _ in 0..4 {
        let Ran::Again(again) = task.run() else { panic!("woken in its poll, it is to run again") };
        assert_eq!((rig.queued(), rig.owned.len()), (0, 0));
        task = again;
    }
    assert!(matches!(task.run(), Ran::Complete));
    assert!(matches!(outcome(&mut join), Poll::Ready(Ok("done"))));
}

#[test]
fn a_linked_task_that_wakes_itself_stays_in_its_list() {
    let rig = Rig::new();
    let place = Arc::new(Mutex::new(None::<Waker>));
    let left = place.clone();
    let mut polls = 0;
    let _join = rig.spawn(poll_fn(move |context| {
        polls += 1;
        match polls {
            1 => *left.lock().unwrap() = Some(context.waker().clone()),
            2 => context.waker().wake_by_ref(),
            _ => return Poll::Ready(()),
        }
        Poll::Pending
    }));
    assert!(idle(rig.run_one()));
    place.lock().unwrap().take().expect("left in the first poll").wake();
    let Ran::Again(again) = rig.pop().expect("woken").run() else { panic!("woken in its poll") };
    assert_eq!(rig.owned.len(), 1);
    assert!(matches!(again.run(), Ran::Complete));
    assert!(rig.is_well_and_done());
}

#[test]
fn wakers_of_a_task_are_known_as_equal() {
    let rig = Rig::new();
    let (sender, wakers) = mpsc::channel::<Waker>();
    let task = |sender: mpsc::Sender<Waker>| -> (Runnable, _) {
        rig.task(poll_fn(move |context| {
            assert!(context.waker().will_wake(&context.waker().clone()));
            sender.send(context.waker().clone()).unwrap();
            sender.send(context.waker().clone()).unwrap();
            Poll::Ready(())
        }))
    };
    let (one, other) = (task(sender.clone()), task(sender));
    assert!(matches!((one.0.run(), other.0.run()), (Ran::Complete, Ran::Complete)));
    let wakers: Vec<_> = wakers.iter().collect();
    assert!(wakers[0].will_wake(&wakers[1]));
    assert!(!wakers[0].will_wake(&wakers[2]));
    assert!(rig.panics().is_empty());
}

#[test]
fn a_waker_may_be_used_after_the_end() {
    let (rig, gate) = (Rig::new(), Gate::new());
    let join = rig.spawn(gate.pass());
    assert_eq!(rig.run_all(), 1);
    gate.open();
    let waker = gate.waker();
    waker.wake_by_ref();
    assert_eq!(rig.run_all(), 1);
    waker.wake_by_ref();
    wake_clone(&waker);
    drop(join);
    waker.wake_by_ref();
    let last = waker.clone();
    drop(waker);
    last.wake();
    assert!(rig.is_well_and_done());
}

/// Wakes when it is dropped.
struct WakesInDrop(Option<Waker>);

impl Drop for WakesInDrop {
    fn drop(&mut self) {
        self.0.take().expect("it was polled").wake();
    }
}

/// A future that is ready in its second poll, and wakes its own task when it is dropped.
fn wakes_itself_in_drop() -> impl Future<Output = ()> + Send {
    let mut waker = WakesInDrop(None);
    let mut polls = 0;
    poll_fn(move |context| {
        polls += 1;
        waker.0.get_or_insert_with(|| context.waker().clone());
        if polls == 2 { Poll::Ready(()) } else { Poll::Pending }
    })
}

#[test]
fn a_future_may_wake_its_task_while_it_is_dropped() {
    let rig = Rig::new();
    let join = rig.spawn(wakes_itself_in_drop());
    assert!(idle(rig.run_one()));
    join.abort();
    assert_eq!(rig.run_all(), 1);
    let (task, _join) = rig.task(wakes_itself_in_drop());
    let Ran::Idle = task.run() else { panic!("it waits") };
    assert_eq!(rig.owned.close_and_cancel(), 0);
    let (task, _join) = rig.task(wakes_itself_in_drop());
    let Ran::Cancelled = task.run() else { panic!("the list is closed") };
    assert!(rig.is_well_and_done());
}

#[test]
fn a_future_may_wake_its_task_in_the_drop_that_follows_its_end() {
    let rig = Rig::new();
    let place = Arc::new(Mutex::new(None::<Waker>));
    let outside = place.clone();
    let mut future = Box::pin(wakes_itself_in_drop());
    let mut join = rig.spawn(poll_fn(move |context| {
        *outside.lock().unwrap() = Some(context.waker().clone());
        future.as_mut().poll(context)
    }));
    assert!(idle(rig.run_one()));
    let waker = place.lock().unwrap().take().expect("it was polled");
    waker.wake();
    assert!(ended(rig.run_one()));
    assert!(matches!(outcome(&mut join), Poll::Ready(Ok(()))));
    drop(place.lock().unwrap().take());
    assert!(rig.is_well_and_done());
}
