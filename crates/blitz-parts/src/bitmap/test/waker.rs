//! The hints of a worker about its own part of the tree.

use super::Arena;
use crate::bitmap::{Bitmap, BitmapWaker, Cursor, SlotCache, SummaryTree, Told};
use crate::queue::fixture::Numbered;

#[test]
fn bitmap_11_a_waker_is_small() {
    assert!(size_of::<BitmapWaker>() <= 384);
}

#[test]
fn bitmap_11_a_workers_bits_are_its_own() {
    let waker = BitmapWaker::new();
    // SAFETY: no other thread uses the waker.
    let owner = unsafe { waker.owner() };
    assert!(!owner.try_unmark_yield());
    owner.mark_yield();
    owner.mark_yield();
    assert_eq!(waker.status(), 0b01);
    assert!(!owner.sync_partition_summary(Arena::new().signals.tree(), 0, 1));
    assert_eq!(waker.status(), 0b01, "each bit changes alone");
    assert!(owner.try_unmark_yield() && !owner.try_unmark_yield());
    assert_eq!(waker.status(), 0);
}

#[test]
fn bitmap_11_a_worker_knows_its_own_leaves() {
    let signals = Bitmap::new(4);
    let tasks = Numbered::new(2);
    for (number, worker) in [(0, 1), (1, 3)] {
        let task = tasks.give(number);
        let mut stock = SlotCache::of_worker(worker);
        task.set_place(signals.reserve(&mut stock, 4, task.header()));
        assert_eq!(signals.signal(task, || false).told, Told::Nobody);
    }
    let waker = BitmapWaker::new();
    // SAFETY: no other thread uses the waker.
    let owner = unsafe { waker.owner() };
    let sync = |worker, workers| {
        let some = owner.sync_partition_summary(signals.tree(), worker, workers);
        assert_eq!((some, waker.status()), (waker.partition_summary() != 0, u64::from(some) << 1));
        waker.partition_summary()
    };
    assert_eq!([0, 1, 2, 3].map(|worker| sync(worker, 4)), [0, 1, 0, 1]);
    assert_eq!([0, 1].map(|worker| sync(worker, 2)), [0, 0b11], "dealt to two workers");
    assert_eq!(sync(0, 1), 0b1010);
    let cursor = Cursor::default();
    let own = signals.take_own(&cursor, 1, 4).task;
    assert!(signals.take_own(&cursor, 1, 4).task.is_none(), "the other task is elsewhere");
    let other = signals.take_any(&cursor, 0).task;
    assert_eq!([0, 1, 2, 3].map(|worker| sync(worker, 4)), [0, 0, 0, 1], "summaries stay a while");
    let taken = tasks.take_all([own, other].into_iter().flatten());
    assert_eq!(taken, [0, 1]);
    tasks.assert_each_once(taken);
}

#[test]
fn bitmap_11_leaves_are_dealt_anew_when_workers_come_or_go() {
    const LEAVES: usize = 4;
    let signals = Bitmap::new(LEAVES);
    let tasks = Numbered::new(LEAVES);
    for number in 0..LEAVES {
        let task = tasks.give(number);
        let mut stock = SlotCache::of_worker(number);
        task.set_place(signals.reserve(&mut stock, LEAVES, task.header()));
        assert_eq!(tasks.take(task), number);
    }
    let cursors: [Cursor; 6] = core::array::from_fn(|_| Cursor::default());
    for workers in [4, 2, 3, 1, 6, 4] {
        for number in 0..LEAVES {
            assert_eq!(signals.signal(tasks.give(number), || false).told, Told::Nobody);
        }
        for (worker, cursor) in cursors.iter().enumerate().take(workers) {
            let own = || signals.take_own(cursor, worker, workers).task;
            let mut taken = tasks.take_all(core::iter::from_fn(own));
            taken.sort_unstable();
            let dealt: Vec<_> = (worker..LEAVES).step_by(workers).collect();
            assert_eq!(taken, dealt, "worker {worker} of {workers}");
        }
        assert!(!signals.has_task(), "each leaf has an owner");
    }
    tasks.assert_each_once((0..LEAVES).collect());
}

#[test]
fn bitmap_11_leaves_have_one_owner_each() {
    for workers in 1..5 {
        let owners = (0..20).map(|leaf| SummaryTree::compute_partition_owner(leaf, workers));
        assert!(owners.enumerate().all(|(leaf, owner)| owner == leaf % workers));
    }
    assert_eq!(SummaryTree::compute_partition_owner(7, 0), 0, "zero workers count as one");
    assert!(!Arena::new().signals.has_any());
}
