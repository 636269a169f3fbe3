//! Many threads at once, for the sanitizers and for cases that are too large for models.

use crate::task::rig::{Drops, Rig, Woken, outcome};
use crate::task::{Failure, Join, Ran};
use core::future::poll_fn;
use core::task::{Context, Poll, Waker};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;

const TASKS: usize = if cfg!(miri) { 4 } else { 400 };
const ROUNDS: usize = if cfg!(miri) { 3 } else { 20 };

/// A task that has to be woken `rounds` times.
fn counts(
    rounds: usize,
    place: Arc<Mutex<Option<Waker>>>,
    output: Drops,
) -> impl Future<Output = Drops> {
    let mut left = rounds;
    let mut output = Some(output);
    poll_fn(move |context| {
        if left == 0 {
            return Poll::Ready(output.take().expect("the future was polled after it was ready"));
        }
        left -= 1;
        *place.lock().unwrap() = Some(context.waker().clone());
        Poll::Pending
    })
}

/// Runs tasks from the queue until `done`.
fn work(rig: &Rig, done: &AtomicBool) {
    while !done.load(Relaxed) {
        while let Some(task) = rig.pop() {
            if let Ran::Again(task) = task.run() {
                rig.put(task);
            }
        }
        thread::yield_now();
    }
}

#[test]
fn task_7_a_handle_is_polled_again_with_a_foreign_waker_while_its_task_ends() {
    let (rig, done) = (Rig::new(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| work(&rig, &done));
        for _ in 0..TASKS {
            let woken = Woken::new();
            let waker = woken.waker();
            let mut join = rig.spawn(async {});
            let mut was_pending = false;
            while join.poll(&mut Context::from_waker(&waker)).is_pending() {
                was_pending = true;
            }
            drop((join, waker));
            // The worker may still hold a clone of the waker, and be about to wake it.
            while woken.wakers() > 0 {
                thread::yield_now();
            }
            assert!(woken.count() <= usize::from(was_pending));
        }
        done.store(true, Relaxed);
    });
    assert!(rig.is_well_and_done());
}

#[test]
fn task_5_outputs_are_dropped_once_in_every_race() {
    let rig = Rig::new();
    let (drops, done) = (Drops::new(), AtomicBool::new(false));
    let places: Vec<_> = (0..TASKS).map(|_| Arc::new(Mutex::new(None::<Waker>))).collect();
    let mut joins: Vec<Option<Join<Drops>>> = Vec::new();
    for (index, place) in places.iter().enumerate() {
        joins.push(Some(rig.spawn(counts(index % ROUNDS, place.clone(), drops.clone()))));
    }
    let tasks: Vec<_> = joins.iter().flatten().map(Join::task).collect();
    let aborts = AtomicUsize::new(0);
    thread::scope(|scope| {
        let workers = [(); 2].map(|()| scope.spawn(|| work(&rig, &done)));
        let wakers = [(); 2].map(|()| {
            scope.spawn(|| {
                while !tasks.iter().all(|task| task.is_finished()) {
                    for place in &places {
                        let waker = place.lock().unwrap().clone();
                        waker.into_iter().for_each(Waker::wake);
                    }
                    thread::yield_now();
                }
            })
        });
        for (index, task) in tasks.iter().enumerate() {
            match index % 4 {
                0 => {
                    task.abort();
                    aborts.fetch_add(1, Relaxed);
                }
                1 => drop(joins[index].take()),
                _ => {}
            }
        }
        wakers.into_iter().for_each(|waker| waker.join().unwrap());
        done.store(true, Relaxed);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
    let mut cancelled = 0;
    for mut join in joins.into_iter().flatten() {
        match outcome(&mut join) {
            Poll::Ready(Ok(_)) => {}
            Poll::Ready(Err(Failure::Cancelled)) => cancelled += 1,
            other => panic!("the task did not end well: {other:?}"),
        }
    }
    assert!(cancelled <= aborts.load(Relaxed));
    places.iter().for_each(|place| drop(place.lock().unwrap().take()));
    assert_eq!(drops.count(), TASKS);
    assert!(rig.is_well_and_done());
}

#[test]
fn task_10_a_list_may_be_closed_at_any_time() {
    for _ in 0..ROUNDS {
        let rig = Rig::new();
        let (drops, done) = (Drops::new(), AtomicBool::new(false));
        let places: Vec<_> = (0..TASKS / 4).map(|_| Arc::new(Mutex::new(None::<Waker>))).collect();
        thread::scope(|scope| {
            let workers = [(); 2].map(|()| scope.spawn(|| work(&rig, &done)));
            for place in &places {
                drop(rig.spawn(counts(usize::MAX, place.clone(), drops.clone())));
                let waker = place.lock().unwrap().clone();
                waker.into_iter().for_each(Waker::wake);
            }
            while rig.owned.close_and_cancel() > 0 || drops.count() < places.len() {
                thread::yield_now();
            }
            done.store(true, Relaxed);
            workers.into_iter().for_each(|worker| worker.join().unwrap());
        });
        places.iter().for_each(|place| drop(place.lock().unwrap().take()));
        assert_eq!(drops.count(), places.len());
        assert!(rig.is_well_and_done());
    }
}
