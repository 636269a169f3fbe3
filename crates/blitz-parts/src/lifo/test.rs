//! The slot on one thread and on several.

use super::LifoSlot;
use crate::prim::{AtomicBool, AtomicUsize, Relaxed};
use crate::queue::fixture::{Numbered, run, task};
use crate::task::Runnable;
use std::sync::Arc;

/// Puts a task; only one thread calls this.
fn put(slot: &LifoSlot, task: Runnable) -> Option<Runnable> {
    // SAFETY: in every test one thread alone calls this.
    unsafe { slot.put(task) }
}

#[test]
fn lifo_1_the_newest_stays_and_the_one_before_is_evicted() {
    let tasks = Numbered::new(3);
    let slot = LifoSlot::default();
    let mut taken = Vec::new();
    for (index, task) in tasks.give_all(0..3).enumerate() {
        let evicted = put(&slot, task);
        assert_eq!(evicted.is_some(), index > 0);
        taken.extend(tasks.take_all(evicted));
        assert!(!slot.is_empty());
    }
    taken.extend(tasks.take_all(slot.take()));
    assert!(slot.is_empty() && slot.take().is_none());
    assert_eq!(taken, [0, 1, 2]);
    tasks.assert_each_once(taken);
}

#[test]
fn lifo_4_a_task_that_was_not_taken_is_cancelled() {
    let alive = Arc::new(());
    let slot = LifoSlot::new();
    let held = alive.clone();
    assert!(put(&slot, task(move || drop(held))).is_none());
    assert_eq!(Arc::strong_count(&alive), 2);
    drop(slot);
    assert_eq!(Arc::strong_count(&alive), 1);
}

#[test]
fn lifo_1_every_task_leaves_once_beside_another_taker() {
    const TASKS: usize = 50_000;
    let slot = LifoSlot::new();
    let ran: Arc<Vec<_>> = Arc::new((0..TASKS).map(|_| AtomicUsize::new(0)).collect());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                slot.take().into_iter().for_each(run);
            }
        });
        for number in 0..TASKS {
            let ran = ran.clone();
            let evicted = put(
                &slot,
                task(move || {
                    ran[number].fetch_add(1, Relaxed);
                }),
            );
            evicted.into_iter().for_each(run);
            if number % 3 == 0 {
                slot.take().into_iter().for_each(run);
            }
        }
        done.store(true, Relaxed);
    });
    slot.take().into_iter().for_each(run);
    assert!(ran.iter().all(|times| times.load(Relaxed) == 1));
}
