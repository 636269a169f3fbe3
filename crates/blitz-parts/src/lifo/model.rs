//! The slot under the model checker.

use super::LifoSlot;
use crate::prim::{AtomicUsize, Relaxed, Step, canary, check, thread};
use crate::queue::fixture::Numbered;
use std::sync::Arc;

const TASKS: usize = 3;

/// The owner puts two tasks, takes, and puts a third; another thread takes twice.
fn owner_against_taker() {
    let tasks = Numbered::new(TASKS);
    let slot = Arc::new(LifoSlot::new());
    let written: Arc<[AtomicUsize; TASKS]> =
        Arc::new(core::array::from_fn(|_| AtomicUsize::new(0)));
    let taker = thread::spawn({
        let (slot, tasks, written) = (slot.clone(), tasks.clone(), written.clone());
        move || {
            let got = tasks.take_all([slot.take(), slot.take()].into_iter().flatten());
            for &number in &got {
                let written = written[number].load(Relaxed);
                assert_eq!(written, 1, "what the owner wrote before it put the task");
            }
            got
        }
    });
    let mut taken = Vec::new();
    for number in 0..TASKS {
        written[number].store(1, Relaxed);
        // SAFETY: only this thread puts.
        let evicted = unsafe { slot.put(tasks.give(number)) };
        taken.extend(tasks.take_all(evicted));
        if number == 1 {
            taken.extend(tasks.take_all(slot.take()));
        }
    }
    taken.extend(taker.join().unwrap());
    taken.extend(tasks.take_all(slot.take()));
    tasks.assert_each_once(taken);
}

#[test]
fn lifo_1_every_task_leaves_once() {
    check(7_500, Some(4), owner_against_taker);
}

#[test]
fn lifo_2_a_slot_that_the_owner_saw_empty_stays_empty() {
    check(7_500, Some(4), owner_against_taker);
}

#[test]
fn lifo_3_a_taker_sees_writes_from_before_put() {
    check(7_500, Some(4), owner_against_taker);
}

#[test]
fn canary_put_without_release() {
    canary(&[Step::LifoPutRelease], Some(4), owner_against_taker);
}

#[test]
fn canary_eviction_without_exchange() {
    canary(&[Step::LifoEvictExchange], Some(4), owner_against_taker);
}

#[test]
fn canary_take_without_exchange() {
    canary(&[Step::LifoTakeExchange], Some(4), owner_against_taker);
}
