//! The order in which tasks leave.

use super::Arena;
use crate::bitmap::arena::SLOTS_PER_LEAF;
use crate::bitmap::{Cursor, Told};
use crate::tuning::SLOTS_PER_SIGNAL;

#[test]
fn bitmap_12_tasks_of_one_leaf_take_turns() {
    const COUNT: usize = 2 * SLOTS_PER_SIGNAL + 7;
    let mut arena = Arena::new();
    let tasks = arena.settle_all(COUNT);
    tasks.give_all(0..COUNT).for_each(|task| assert_eq!(arena.signal(task), Told::Nobody));
    let cursor = Cursor::default();
    for turn in 0..3 * COUNT {
        let task = arena.signals.take_own(&cursor, 0, 1).task;
        let number = tasks.take_all(task)[0];
        assert_eq!(number, turn % COUNT, "a task that is signalled again waits for all others");
        assert_eq!(arena.signal(tasks.give(number)), Told::Nobody);
    }
    let taken = tasks.take_all(arena.take_all(&cursor));
    tasks.assert_each_once(taken);
}

#[test]
fn bitmap_12_tasks_behind_another_take_turns_with_it() {
    const COUNT: usize = 2 * SLOTS_PER_SIGNAL + 7;
    let mut arena = Arena::new();
    let tasks = arena.settle_all(COUNT);
    tasks.give_all(0..COUNT).for_each(|task| assert_eq!(arena.signal(task), Told::Nobody));
    let cursor = Cursor::default();
    let mut order = Vec::new();
    while order.len() < 3 * COUNT {
        let mut batch = Vec::new();
        let first = arena.signals.take_own(&cursor, 0, 1).task.unwrap();
        let behind = arena.signals.take_behind(&cursor, 9, |task| batch.push(tasks.take(task)));
        assert_eq!(behind, batch.len());
        assert!(behind <= 9, "no more than asked for");
        batch.insert(0, tasks.take(first));
        for &number in &batch {
            assert_eq!(arena.signal(tasks.give(number)), Told::Nobody);
        }
        order.extend(batch);
    }
    let in_turn = (0..COUNT).cycle().take(order.len());
    assert!(order.iter().copied().eq(in_turn), "each task waits for all others: {order:?}");
    let taken = tasks.take_all(arena.take_all(&cursor));
    tasks.assert_each_once(taken);
}

#[test]
fn bitmap_12_nothing_is_behind_the_end_of_a_word() {
    let mut arena = Arena::new();
    let tasks = arena.settle_all(SLOTS_PER_SIGNAL + 1);
    for number in [SLOTS_PER_SIGNAL - 1, SLOTS_PER_SIGNAL] {
        assert_eq!(arena.signal(tasks.give(number)), Told::Nobody);
    }
    let cursor = Cursor::default();
    let last = tasks.take(arena.signals.take_own(&cursor, 0, 1).task.unwrap());
    assert_eq!(last, SLOTS_PER_SIGNAL - 1);
    assert_eq!(arena.signals.take_behind(&cursor, 9, |_| unreachable!()), 0);
    let mut taken = vec![last, tasks.take(arena.signals.take_own(&cursor, 0, 1).task.unwrap())];
    taken.extend(0..SLOTS_PER_SIGNAL - 1);
    tasks.assert_each_once(taken);
}

#[test]
fn bitmap_12_tasks_of_several_leaves_take_turns() {
    let mut arena = Arena::new();
    let tasks = arena.settle_all(2 * SLOTS_PER_LEAF + 1);
    let busy = [0, 5, SLOTS_PER_LEAF - 1, SLOTS_PER_LEAF, 2 * SLOTS_PER_LEAF];
    busy.iter().for_each(|&number| assert_eq!(arena.signal(tasks.give(number)), Told::Nobody));
    let cursor = Cursor::default();
    for turn in 0..3 * busy.len() {
        let task = arena.signals.take_own(&cursor, 0, 1).task;
        let number = tasks.take_all(task)[0];
        assert_eq!(number, busy[turn % busy.len()]);
        assert_eq!(arena.signal(tasks.give(number)), Told::Nobody);
    }
    let mut taken = tasks.take_all(arena.take_all(&cursor));
    assert_eq!(taken.len(), busy.len());
    taken.extend((0..2 * SLOTS_PER_LEAF).filter(|number| !busy.contains(number)));
    tasks.assert_each_once(taken);
}

#[test]
fn bitmap_12_a_worker_that_goes_round_takes_tasks_of_all_partitions() {
    let mut arena = Arena::new();
    let tasks = arena.settle_all(2 * SLOTS_PER_LEAF + 1);
    let busy = [0, 5, SLOTS_PER_LEAF, 2 * SLOTS_PER_LEAF];
    busy.iter().for_each(|&number| assert_eq!(arena.signal(tasks.give(number)), Told::Nobody));
    let (own, round) = (Cursor::default(), Cursor::default());
    for turn in 0..3 * busy.len() {
        // The first of three workers is always at work, and each task that it takes is signalled
        // again.
        let mine = tasks.take(arena.signals.take_own(&own, 0, 3).task.unwrap());
        assert_eq!(mine, busy[turn % 2]);
        assert_eq!(arena.signal(tasks.give(mine)), Told::Nobody);
        let next = tasks.take(arena.signals.take_in_turn(&round).task.unwrap());
        assert_eq!(next, busy[turn % busy.len()]);
        assert_eq!(arena.signal(tasks.give(next)), Told::Nobody);
    }
    let mut taken = tasks.take_all(core::iter::from_fn(|| arena.signals.take_left()));
    assert_eq!(taken.len(), busy.len());
    taken.extend((0..2 * SLOTS_PER_LEAF).filter(|number| !busy.contains(number)));
    tasks.assert_each_once(taken);
}

#[test]
fn bitmap_12_a_look_begins_at_the_given_leaf() {
    const COUNT: usize = 2 * SLOTS_PER_LEAF + 2;
    let mut arena = Arena::new();
    let tasks = arena.settle_all(COUNT);
    let (low, high) = (SLOTS_PER_LEAF, [2 * SLOTS_PER_LEAF, 2 * SLOTS_PER_LEAF + 1]);
    for number in [low, high[0], high[1]] {
        assert_eq!(arena.signal(tasks.give(number)), Told::Nobody);
    }
    let cursor = Cursor::default();
    let take_from = |leaf| tasks.take(arena.signals.take_any(&cursor, leaf).task.unwrap());
    let mut taken = vec![take_from(2), take_from(1), take_from(0)];
    assert_eq!(taken, [high[0], high[1], low], "a leaf that was begun goes first");
    taken.extend((0..COUNT).filter(|&number| number != low && !high.contains(&number)));
    tasks.assert_each_once(taken);
}
