//! The arena and the tree, invariant by invariant.

mod slots;
mod threads;
mod turns;
mod waker;

use super::{Bitmap, Cursor, SlotCache, Told};
use crate::queue::fixture::{Numbered, task};
use crate::task::Runnable;
use std::sync::Arc;

/// An arena whose slots are reserved in order.
struct Arena {
    signals: Bitmap,
    stock: SlotCache,
}

impl Arena {
    /// Creates an arena for one worker.
    fn new() -> Arena {
        Arena { signals: Bitmap::new(1), stock: SlotCache::of_worker(0) }
    }

    /// Gives the task the next slot.
    fn settle(&mut self, task: Runnable) -> Runnable {
        task.set_place(self.signals.reserve(&mut self.stock, 1, task.header()));
        task
    }

    /// Gives the next slots to `count` tasks, numbered in the order of their slots.
    fn settle_all(&mut self, count: usize) -> Numbered {
        let tasks = Numbered::new(count);
        for number in 0..count {
            let task = self.settle(tasks.give(number));
            assert_eq!(tasks.take(task), number);
        }
        tasks
    }

    fn signal(&self, task: Runnable) -> Told {
        self.signals.signal(task, || false).told
    }

    /// Takes all remaining tasks, in the order of one cursor.
    fn take_all<'a>(&'a self, cursor: &'a Cursor) -> impl Iterator<Item = Runnable> + 'a {
        core::iter::from_fn(|| self.signals.take_own(cursor, 0, 1).task)
    }
}

#[test]
#[should_panic(expected = "a task keeps its place")]
fn a_second_place_is_refused() {
    let mut arena = Arena::new();
    let task = arena.settle(task(|| ()));
    drop(arena.settle(task));
}

#[test]
fn bitmap_1_a_signalled_task_leaves_once() {
    let mut arena = Arena::new();
    let tasks = arena.settle_all(130);
    for number in 0..130 {
        assert_eq!(arena.signal(tasks.give(number)), Told::Nobody);
        assert_eq!(arena.signals.count(), number + 1);
    }
    let taken = tasks.take_all(arena.take_all(&Cursor::default()));
    assert_eq!(arena.signals.count(), 0);
    assert!(arena.signals.take_any(&Cursor::default(), 0).task.is_none());
    tasks.assert_each_once(taken);
}

#[test]
fn bitmap_1_half_of_a_word_is_taken_in_one_call() {
    let mut arena = Arena::new();
    let tasks = arena.settle_all(70);
    for number in 0..70 {
        assert_eq!(arena.signal(tasks.give(number)), Told::Nobody);
    }
    let first = arena.signals.take_any(&Cursor::default(), 0).task.unwrap();
    let place = first.place().unwrap();
    let mut taken = vec![first];
    assert_eq!(arena.signals.take_beside(place, 100, |task| taken.push(task)), 32, "63 are left");
    assert_eq!(
        arena.signals.take_beside(place, 3, |task| taken.push(task)),
        3,
        "no more than asked for"
    );
    assert_eq!(arena.signals.take_beside(place, 0, |task| taken.push(task)), 0);
    assert_eq!(arena.signals.count(), 70 - 36);
    taken.extend(arena.take_all(&Cursor::default()));
    tasks.assert_each_once(tasks.take_all(taken));
}

#[test]
fn bitmap_1_remaining_tasks_are_cancelled_with_the_arena() {
    let alive = Arc::new(());
    let mut arena = Arena::new();
    for _ in 0..70 {
        let alive = alive.clone();
        let task = arena.settle(task(move || drop(alive)));
        assert_eq!(arena.signal(task), Told::Nobody);
    }
    drop(arena.signals.take_any(&Cursor::default(), 0));
    assert_eq!(Arc::strong_count(&alive), 70);
    drop(arena);
    assert_eq!(Arc::strong_count(&alive), 1);
}

#[test]
fn bitmap_3_a_signal_is_in_every_summary() {
    let mut arena = Arena::new();
    let tasks = arena.settle_all(65);
    let signalled = arena.signals.signal(tasks.give(64), || false);
    assert!(signalled.activated, "its leaf was not in the root");
    assert_eq!(arena.signals.tree().snapshot_leaves(), [0b10]);
    assert_eq!(arena.signals.tree().snapshot_summary(), [0b1]);
    let signalled = arena.signals.signal(tasks.give(0), || false);
    assert!(!signalled.activated, "the leaf is in the root already");
    assert_eq!(arena.signals.tree().snapshot_leaves(), [0b11]);
    let mut taken = tasks.take_all(arena.take_all(&Cursor::default()));
    assert_eq!(taken, [0, 64]);
    taken.extend(1..64);
    tasks.assert_each_once(taken);
}

#[test]
fn bitmap_4_one_sleeper_is_woken_for_one_task() {
    let mut arena = Arena::new();
    let tasks = arena.settle_all(4);
    assert_eq!(arena.signal(tasks.give(0)), Told::Nobody, "all are awake");
    let sleeper = arena.signals.lie_down();
    assert!(arena.signals.has_task(), "the last look sees the task");
    let told = arena.signals.signal(tasks.give(1), || true).told;
    assert_eq!(told, Told::Nobody, "a worker looks");
    assert_eq!(arena.signal(tasks.give(2)), Told::WakeOne);
    assert_eq!(arena.signal(tasks.give(3)), Told::Nobody, "the sleeper has its permit");
    assert!(arena.signals.get_up(sleeper).is_some());
    let taken = tasks.take_all(arena.take_all(&Cursor::default()));
    tasks.assert_each_once(taken);
}

#[test]
fn bitmap_5_there_are_no_more_permits_than_sleepers() {
    let mut arena = Arena::new();
    let tasks = arena.settle_all(6);
    let books = |arena: &Arena| {
        let tree = arena.signals.tree();
        (tree.sleepers(), tree.permits())
    };
    let mut sleepers: Vec<_> = (0..3).map(|_| arena.signals.lie_down()).collect();
    let told: Vec<_> = tasks.give_all(0..5).map(|task| arena.signal(task)).collect();
    let wakes = told.iter().filter(|told| **told == Told::WakeOne).count();
    assert_eq!((wakes, books(&arena)), (3, (3, 3)));
    assert!(arena.signals.get_up(sleepers.remove(0)).is_some());
    assert_eq!(books(&arena), (2, 2));
    assert!(arena.signals.try_acquire().is_some());
    assert_eq!(books(&arena), (2, 1));
    assert_eq!(arena.signal(tasks.give(5)), Told::WakeOne, "one sleeper has no permit again");
    let permits = sleepers.into_iter().filter_map(|sleeper| arena.signals.get_up(sleeper));
    assert_eq!(permits.count(), 2);
    assert_eq!(books(&arena), (0, 0));
    let taken = tasks.take_all(arena.take_all(&Cursor::default()));
    tasks.assert_each_once(taken);
}

#[test]
fn bitmap_6_an_awake_worker_may_take_a_permit() {
    let mut arena = Arena::new();
    let tasks = arena.settle_all(1);
    assert!(arena.signals.try_acquire().is_none());
    let sleeper = arena.signals.lie_down();
    assert_eq!(arena.signal(tasks.give(0)), Told::WakeOne);
    assert!(arena.signals.try_acquire().is_some());
    assert!(arena.signals.try_acquire().is_none(), "there was one permit");
    assert!(arena.signals.get_up(sleeper).is_none(), "that permit is gone");
    let taken = tasks.take_all(arena.take_all(&Cursor::default()));
    tasks.assert_each_once(taken);
}

#[test]
fn bitmap_7_an_idle_tree_is_empty_after_a_look() {
    let mut arena = Arena::new();
    let tasks = arena.settle_all(200);
    tasks.give_all(0..200).for_each(|task| assert_eq!(arena.signal(task), Told::Nobody));
    let cursor = Cursor::default();
    let taken: Vec<_> = (0..200).map(|_| arena.signals.take_own(&cursor, 0, 1).task).collect();
    let taken = tasks.take_all(taken.into_iter().flatten());
    assert!(arena.signals.has_any(), "summaries stay until a scan finds nothing");
    assert!(!arena.signals.has_task(), "but they keep no worker awake");
    let look = arena.signals.take_own(&cursor, 0, 1);
    assert!(look.task.is_none() && look.again.is_none());
    assert!(!arena.signals.has_any());
    assert_eq!(arena.signals.tree().snapshot_leaves(), [0]);
    tasks.assert_each_once(taken);
}

#[test]
fn bitmap_10_a_setter_after_the_end_is_told_closed() {
    let mut arena = Arena::new();
    let tasks = arena.settle_all(3);
    let sleeper = arena.signals.lie_down();
    assert_eq!(arena.signal(tasks.give(0)), Told::WakeOne);
    arena.signals.close();
    assert_eq!(tasks.take_all(arena.take_all(&Cursor::default())), [0]);
    assert_eq!(arena.signal(tasks.give(1)), Told::Closed);
    assert_eq!(arena.signals.signal(tasks.give(2), || true).told, Told::Closed);
    let mut taken = tasks.take_all(arena.take_all(&Cursor::default()));
    assert!(arena.signals.get_up(sleeper).is_some());
    taken.push(0);
    tasks.assert_each_once(taken);
}

#[test]
fn every_type_can_be_printed() {
    let mut arena = Arena::new();
    let tasks = arena.settle_all(2);
    assert_eq!(arena.signal(tasks.give(1)), Told::Nobody);
    let tenants = arena.signals.tenants();
    let signalled: Vec<_> = tenants.iter().map(|tenant| tenant.signalled).collect();
    assert_eq!(signalled, [false, true]);
    let text = format!("{:?}", arena.signals);
    assert!(text.contains("signalled: 1") && text.contains("sleepers: 0"), "{text}");
    let mut taken = tasks.take_all(arena.take_all(&Cursor::default()));
    taken.push(0);
    tasks.assert_each_once(taken);
}
