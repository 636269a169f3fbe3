//! The queue and its chains, on one thread and on several.

use super::fixture::{Numbered, run, task};
use super::{Chain, Queue, fair_batch};
use crate::prim::{AtomicUsize, Relaxed};
use crate::task::Runnable;
use crate::tuning::{GLOBAL_BATCH_MAX, GLOBAL_BATCH_MIN};
use std::sync::Arc;

fn chain(tasks: impl IntoIterator<Item = Runnable>) -> Chain {
    let mut chain = Chain::new();
    tasks.into_iter().for_each(|task| chain.push(task));
    chain
}

#[test]
fn queue_2_a_chain_keeps_its_order_through_joining_and_splitting() {
    let tasks = Numbered::new(7);
    let mut all = chain(tasks.give_all(0..4));
    all.append(chain(tasks.give_all(4..7)));
    all.append(Chain::new());
    assert_eq!(all.split_front(0).count(), 0);
    let front = all.split_front(3);
    assert_eq!((front.len(), all.len()), (3, 4));
    let mut taken = tasks.take_all(front);
    taken.extend(tasks.take_all(all.next()));
    taken.extend(tasks.take_all(all.split_front(9)));
    assert!(all.is_empty() && all.next().is_none());
    assert_eq!(taken, [0, 1, 2, 3, 4, 5, 6]);
    tasks.assert_each_once(taken);
}

#[test]
fn queue_2_batches_are_the_oldest_tasks() {
    let tasks = Numbered::new(10);
    let queue = Queue::default();
    for (index, task) in tasks.give_all(0..4).enumerate() {
        assert_eq!(queue.push(task).unwrap(), index == 0);
    }
    assert!(!queue.push_chain(chain(tasks.give_all(4..10))).unwrap());
    assert_eq!(queue.len(), 10);
    let batches = [queue.pop_batch(3), queue.pop_batch(0), queue.pop_batch(6), queue.pop_batch(6)];
    assert!(queue.is_empty() && queue.pop_batch(1).is_empty());
    assert_eq!(batches.each_ref().map(Chain::len), [3, 0, 6, 1]);
    let taken = tasks.take_all(batches.into_iter().flatten());
    assert_eq!(taken, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    tasks.assert_each_once(taken);
}

#[test]
fn queue_3_a_closed_queue_gives_everything_back() {
    let tasks = Numbered::new(5);
    let queue = Queue::new();
    assert!(queue.push_chain(chain(tasks.give_all(0..2))).unwrap());
    let mut taken = tasks.take_all(queue.close());
    taken.push(tasks.take(queue.push(tasks.give(2)).unwrap_err()));
    taken.extend(tasks.take_all(queue.push_chain(chain(tasks.give_all(3..5))).unwrap_err()));
    assert!(queue.is_empty() && queue.pop_batch(9).is_empty() && queue.close().is_empty());
    assert_eq!(taken, [0, 1, 2, 3, 4]);
    tasks.assert_each_once(taken);
}

#[test]
fn queue_4_the_length_follows_every_change() {
    let tasks = Numbered::new(6);
    let queue = Queue::new();
    assert!(queue.push(tasks.give(0)).unwrap());
    assert_eq!(queue.len(), 1);
    assert!(!queue.push_chain(chain(tasks.give_all(1..5))).unwrap());
    assert_eq!(queue.len(), 5);
    let mut taken = tasks.take_all(queue.pop_batch(5));
    assert_eq!(queue.len(), 0);
    assert!(queue.push_chain(Chain::new()).unwrap());
    assert!(queue.push(tasks.give(5)).unwrap());
    taken.extend(tasks.take_all(queue.close()));
    assert_eq!(queue.len(), 0);
    tasks.assert_each_once(taken);
}

#[test]
fn queue_6_tasks_that_were_not_taken_are_cancelled() {
    let alive = Arc::new(());
    let hold = || {
        let alive = alive.clone();
        task(move || drop(alive))
    };
    let queue = Queue::new();
    assert!(queue.push_chain(chain([hold(), hold(), hold()])).unwrap());
    assert_eq!(Arc::strong_count(&alive), 4);
    drop(queue.pop_batch(1));
    assert_eq!(Arc::strong_count(&alive), 3);
    drop(queue);
    assert_eq!(Arc::strong_count(&alive), 1);
}

#[test]
fn queue_1_pushers_and_takers_run_every_task_once() {
    const PUSHERS: usize = 3;
    const EACH: usize = 10_000;
    let queue = Queue::new();
    let ran: Arc<Vec<_>> = Arc::new((0..PUSHERS * EACH).map(|_| AtomicUsize::new(0)).collect());
    let left = AtomicUsize::new(PUSHERS * EACH);
    let make = |number: usize| {
        let ran = ran.clone();
        task(move || {
            ran[number].fetch_add(1, Relaxed);
        })
    };
    std::thread::scope(|scope| {
        let (queue, left, make) = (&queue, &left, &make);
        for pusher in 0..PUSHERS {
            scope.spawn(move || {
                for pair in 0..EACH / 2 {
                    let number = pusher * EACH + 2 * pair;
                    if pair % 2 == 0 {
                        let _ = queue.push(make(number)).unwrap();
                        let _ = queue.push(make(number + 1)).unwrap();
                    } else {
                        let _ = queue.push_chain(chain([make(number), make(number + 1)])).unwrap();
                    }
                }
            });
        }
        for max in [1, 5] {
            scope.spawn(move || {
                while left.load(Relaxed) > 0 {
                    let batch = queue.pop_batch(max);
                    left.fetch_sub(batch.len(), Relaxed);
                    if batch.is_empty() {
                        std::thread::yield_now();
                    }
                    batch.for_each(run);
                }
            });
        }
    });
    assert!(queue.is_empty());
    assert!(ran.iter().all(|times| times.load(Relaxed) == 1));
}

#[test]
fn a_fair_batch_is_a_share_within_bounds() {
    assert_eq!(fair_batch(0, 4), 0);
    assert_eq!(fair_batch(3, 4), 3, "never more than there are");
    assert_eq!(fair_batch(8, 4), GLOBAL_BATCH_MIN, "two each would cost too many locks");
    assert_eq!(fair_batch(80, 4), 20);
    assert_eq!(fair_batch(256, 4), GLOBAL_BATCH_MAX);
    assert_eq!(fair_batch(100_000, 4), GLOBAL_BATCH_MAX);
    assert_eq!(fair_batch(10, 0), 10, "zero workers count as one");
}
