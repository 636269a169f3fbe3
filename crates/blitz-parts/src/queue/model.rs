//! The queue under the model checker.

use super::fixture::Numbered;
use super::{Chain, Queue};
use crate::prim::{AtomicUsize, Relaxed, Step, canary, check, thread};
use std::sync::Arc;

const TASKS: usize = 3;

/// One thread pushes a task, and another pushes a chain of two. A third thread takes a batch and,
/// if `close` is set, closes the queue.
fn push_against_pop(close: bool) {
    let tasks = Numbered::new(TASKS);
    let queue = Arc::new(Queue::new());
    let written: Arc<[AtomicUsize; TASKS]> =
        Arc::new(core::array::from_fn(|_| AtomicUsize::new(0)));
    let one = thread::spawn({
        let (queue, written, tasks) = (queue.clone(), written.clone(), tasks.clone());
        move || {
            written[0].store(1, Relaxed);
            let pushed = queue.push(tasks.give(0));
            let was_empty = usize::from(matches!(pushed, Ok(true)));
            (was_empty, tasks.take_all(pushed.err()))
        }
    });
    let two = thread::spawn({
        let (queue, written, tasks) = (queue.clone(), written.clone(), tasks.clone());
        move || {
            let mut chain = Chain::new();
            tasks.give_all(1..TASKS).for_each(|task| chain.push(task));
            written[1].store(1, Relaxed);
            written[2].store(1, Relaxed);
            let pushed = queue.push_chain(chain);
            let was_empty = usize::from(matches!(pushed, Ok(true)));
            (was_empty, tasks.take_all(pushed.err().into_iter().flatten()))
        }
    });
    let mut taken = tasks.take_all(queue.pop_batch(2));
    if close {
        taken.extend(tasks.take_all(queue.close()));
    }
    for &number in &taken {
        assert_eq!(written[number].load(Relaxed), 1, "a taker sees writes from before the push");
    }
    let mut found_empty = 0;
    for pusher in [one, two] {
        let (was_empty, refused) = pusher.join().unwrap();
        found_empty += was_empty;
        assert!(close || refused.is_empty());
        taken.extend(refused);
    }
    if close {
        assert!(queue.is_empty(), "a closed queue stays empty");
    } else {
        assert!(found_empty >= 1, "the first push finds the queue empty");
        assert_eq!(queue.len(), TASKS - taken.len());
        taken.extend(tasks.take_all(queue.pop_batch(TASKS)));
    }
    assert!(queue.is_empty());
    tasks.assert_each_once(taken);
}

fn open() {
    push_against_pop(false);
}

fn closing() {
    push_against_pop(true);
}

#[test]
fn queue_1_every_task_leaves_once() {
    check(400, None, open);
}

#[test]
fn queue_4_the_length_is_correct_after_every_race() {
    check(400, None, open);
}

#[test]
fn queue_5_a_taker_sees_writes_from_before_push() {
    check(900, None, closing);
}

#[test]
fn queue_3_nothing_enters_a_closed_queue() {
    check(900, None, closing);
}

#[test]
fn canary_the_length_is_written_after_the_unlock() {
    canary(&[Step::QueueCountLocked], None, open);
}

#[test]
fn canary_closed_is_read_before_the_lock() {
    canary(&[Step::QueueClosedLocked], None, closing);
}
