//! The deque under the model checker.
//!
//! Under loom both halves of the asymmetric fence are full fences, and a full fence orders more
//! than the real light half does. So the models without a forcing thief are checked without the
//! light half (`check_without`): their results do not rely on it.

use super::{Deque, Linked, Place, Steal, TakeBack};
use crate::prim::{AtomicUsize, Relaxed, Step, Witness, canary, check, check_without, thread};
use crate::tuning::{DEQUE_KEEPS, DEQUE_SLOTS};
use core::cell::Cell;
use core::ptr::{NonNull, null_mut};
use std::sync::Arc;

/// Enough items to make a large ring grow.
const ITEMS: usize = 2 * DEQUE_KEEPS + 1;

/// An item whose contents show whether its taker saw the writes of the owner. Its link is plain
/// memory.
struct Item {
    contents: AtomicUsize,
    armed: AtomicUsize,
    link: Cell<*mut Item>,
    uses_of_link: Witness,
}

// SAFETY: the witness fails a model in which the link is used without order.
unsafe impl Sync for Item {}
// SAFETY: as above; the items of a rig stay where they are.
unsafe impl Send for Item {}

// SAFETY: the link is one cell, which is read as it was written.
unsafe impl Linked for Item {
    unsafe fn set_older(this: NonNull<Item>, older: *mut Item) {
        // SAFETY: the items live as long as their rig.
        let item = unsafe { this.as_ref() };
        item.uses_of_link.write();
        item.link.set(older);
    }

    unsafe fn older(this: NonNull<Item>) -> *mut Item {
        // SAFETY: as above.
        let item = unsafe { this.as_ref() };
        item.uses_of_link.read();
        item.link.get()
    }
}

/// A deque and items for it.
struct Rig {
    deque: Deque<Item>,
    items: [Item; ITEMS],
}

impl Rig {
    fn new() -> Arc<Rig> {
        let item = |_| Item {
            contents: AtomicUsize::new(0),
            armed: AtomicUsize::new(0),
            link: Cell::new(null_mut()),
            uses_of_link: Witness::default(),
        };
        Arc::new(Rig { deque: Deque::new(), items: core::array::from_fn(item) })
    }

    fn item(&self, index: usize) -> NonNull<Item> {
        NonNull::from(&self.items[index])
    }

    fn index(&self, item: NonNull<Item>) -> usize {
        self.items.iter().position(|i| NonNull::from(i) == item).expect("an item of this rig")
    }

    /// Owner: writes an item and forks it.
    fn fork(&self, index: usize) -> Place<Item> {
        self.items[index].contents.store(index + 1, Relaxed);
        // SAFETY: only the model's first thread calls the owner's methods.
        let owner = unsafe { self.deque.owner() };
        // SAFETY: items stay in place; the models take forks back newest first, or leave them to
        // thieves.
        unsafe { owner.fork(self.item(index)) }
    }

    /// Owner: writes an item and pushes it.
    fn push(&self, index: usize) {
        self.items[index].contents.store(index + 1, Relaxed);
        self.items[index].armed.store(1, Relaxed);
        // SAFETY: as in `fork`.
        let _ = unsafe { self.deque.owner() }.push(self.item(index), |item| self.arm(item));
    }

    /// Owner: pops an item, and returns its index.
    fn pop(&self) -> Option<usize> {
        // SAFETY: as in `fork`.
        unsafe { self.deque.owner() }.pop().map(|item| self.index(item))
    }

    /// Owner: takes a fork back, as `blitz-core` does. An owner that finds it stolen relies on the
    /// fork being armed.
    fn take_back(&self, index: usize, place: Place<Item>) -> Vec<usize> {
        // SAFETY: as in `fork`.
        let owner = unsafe { self.deque.owner() };
        if owner.take_back(place)
            || owner.take_back_public(self.item(index), place) == TakeBack::Taken
        {
            return vec![index];
        }
        let mut taken = Vec::new();
        while let Some(item) = owner.pop() {
            taken.push(self.index(item));
            if taken.ends_with(&[index]) {
                return taken;
            }
        }
        assert_eq!(self.items[index].armed.load(Relaxed), 1, "stolen, but not seen armed");
        taken
    }

    /// Owner: publishes.
    fn publish(&self, count: usize) {
        // SAFETY: as in `fork`.
        let _ = unsafe { self.deque.owner() }.publish(|_| count, |item| self.arm(item));
    }

    fn arm(&self, item: NonNull<Item>) {
        self.items[self.index(item)].armed.store(1, Relaxed);
    }

    /// Thief: tries once to steal, and must see what the owner wrote before the fork (DEQUE-4).
    fn steal(&self) -> Option<usize> {
        match self.deque.steal() {
            Steal::Success(item) => {
                let index = self.index(item);
                let item = &self.items[index];
                assert_eq!(item.contents.load(Relaxed), index + 1, "the item's contents");
                assert_eq!(item.armed.load(Relaxed), 1, "the item is armed");
                Some(index)
            }
            Steal::Empty | Steal::Retry => None,
        }
    }

    /// Thief: makes private forks public and takes one of them, or another item.
    fn force_and_steal(&self) -> Option<usize> {
        self.deque.force(|item| self.arm(item));
        self.steal()
    }

    /// Owner: takes all public items.
    fn rest(&self) -> Vec<usize> {
        core::iter::from_fn(|| self.pop()).collect()
    }
}

fn assert_each_once(count: usize, mut taken: Vec<usize>) {
    taken.sort_unstable();
    assert_eq!(taken, (0..count).collect::<Vec<_>>());
}

/// Two public items: a thief takes up to two while the owner pops both.
fn pop_against_steal() {
    let rig = Rig::new();
    rig.push(0);
    rig.push(1);
    let thief = thread::spawn({
        let rig = rig.clone();
        move || [rig.steal(), rig.steal()]
    });
    let mut taken: Vec<_> = [rig.pop(), rig.pop()].into_iter().flatten().collect();
    taken.extend(thief.join().unwrap().into_iter().flatten());
    taken.extend(rig.rest());
    assert_each_once(2, taken);
}

#[test]
fn deque_1_pop_against_steal_takes_each_once() {
    check(400, None, pop_against_steal);
    check_without(Step::BarrierLight, 400, None, pop_against_steal);
}

#[test]
fn canary_pop_without_its_fence() {
    canary(&[Step::DequePopFence, Step::BarrierLight], None, pop_against_steal);
}

#[test]
fn canary_steal_without_its_fence() {
    canary(&[Step::DequeStealFence], None, pop_against_steal);
}

/// One public fork; two thieves and the owner.
fn last_item_for_three() {
    let rig = Rig::new();
    let place = rig.fork(0);
    rig.publish(1);
    let thieves = [(); 2].map(|()| {
        let rig = rig.clone();
        thread::spawn(move || rig.steal())
    });
    let mut taken = rig.take_back(0, place);
    taken.extend(thieves.into_iter().filter_map(|thief| thief.join().unwrap()));
    taken.extend(rig.rest());
    assert_each_once(1, taken);
}

#[test]
fn deque_1_the_last_item_has_one_taker() {
    check_without(Step::BarrierLight, 900, Some(3), last_item_for_three);
}

/// The owner forks and publishes while a thief steals.
fn publish_against_steal() {
    let rig = Rig::new();
    let thief = thread::spawn({
        let rig = rig.clone();
        move || [rig.steal(), rig.steal()]
    });
    let first = rig.fork(0);
    rig.publish(1);
    let second = rig.fork(1);
    rig.publish(1);
    let mut taken = rig.take_back(1, second);
    taken.extend(rig.take_back(0, first));
    taken.extend(thief.join().unwrap().into_iter().flatten());
    assert_each_once(2, taken);
}

#[test]
fn deque_4_a_thief_sees_writes_from_before_publish() {
    check(30, None, publish_against_steal);
    check_without(Step::BarrierLight, 30, None, publish_against_steal);
}

#[test]
fn canary_publish_without_release() {
    canary(&[Step::DequePublishRelease], None, publish_against_steal);
}

/// The owner pushes an item above a fork, and both threads take the two in the right order.
fn push_above_a_fork_against_steal() {
    let rig = Rig::new();
    let thief = thread::spawn({
        let rig = rig.clone();
        move || [rig.steal(), rig.steal()]
    });
    let place = rig.fork(0);
    rig.push(1);
    let mut taken = rig.take_back(0, place);
    assert!(!taken.starts_with(&[0, 1]), "the owner took the older item first");
    let stolen: Vec<_> = thief.join().unwrap().into_iter().flatten().collect();
    assert!(!stolen.starts_with(&[1, 0]), "the thief took the newer item first");
    taken.extend(stolen);
    taken.extend(rig.rest());
    assert_each_once(2, taken);
}

#[test]
fn deque_2_a_pushed_item_lies_above_older_forks() {
    check(100, None, push_above_a_fork_against_steal);
    check_without(Step::BarrierLight, 100, None, push_above_a_fork_against_steal);
}

/// The owner pushes one item more than the ring has slots. So it replaces the ring while a thief
/// reads it.
fn grow_against_steal(slots: usize) {
    let rig = Rig::new();
    for index in 0..slots {
        rig.push(index);
    }
    let thief = thread::spawn({
        let rig = rig.clone();
        move || [rig.steal(), rig.steal()]
    });
    rig.push(slots);
    let mut taken: Vec<_> = rig.pop().into_iter().collect();
    taken.extend(thief.join().unwrap().into_iter().flatten());
    taken.extend(rig.rest());
    assert_each_once(slots + 1, taken);
}

fn grow_small_against_steal() {
    grow_against_steal(DEQUE_SLOTS);
}

fn grow_large_against_steal() {
    grow_against_steal(2 * DEQUE_KEEPS);
}

#[test]
fn deque_5_growth_against_a_slow_thief() {
    check_without(Step::BarrierLight, 150, Some(3), grow_small_against_steal);
}

#[test]
fn deque_5_growth_of_a_large_ring_against_a_slow_thief() {
    check_without(Step::BarrierLight, 150, Some(3), grow_large_against_steal);
}

#[test]
fn canary_growth_without_release() {
    canary(&[Step::DequeGrowRelease, Step::BarrierLight], Some(3), grow_small_against_steal);
}

/// One private fork; the owner takes it back while a thief makes it public.
fn take_back_against_force() {
    let rig = Rig::new();
    let place = rig.fork(0);
    let thief = thread::spawn({
        let rig = rig.clone();
        move || rig.force_and_steal()
    });
    let mut taken = rig.take_back(0, place);
    taken.extend(thief.join().unwrap());
    taken.extend(rig.rest());
    assert_each_once(1, taken);
}

#[test]
fn deque_3_a_private_fork_is_forced_or_taken_back() {
    check(200, None, take_back_against_force);
}

#[test]
fn canary_force_without_its_heavy_fence() {
    canary(&[Step::DequeForceFence], None, take_back_against_force);
}

#[test]
fn canary_owner_does_not_wait_for_a_forcing_thief() {
    canary(&[Step::DequeForceWait], None, take_back_against_force);
}

#[test]
fn canary_the_owner_does_not_see_the_thiefs_writes() {
    canary(&[Step::DequeForceAcquire], None, take_back_against_force);
}

#[test]
fn canary_no_light_fence() {
    canary(&[Step::BarrierLight], None, take_back_against_force);
}

/// The owner forks while a thief forces.
fn fork_against_force() {
    let rig = Rig::new();
    let thief = thread::spawn({
        let rig = rig.clone();
        move || rig.force_and_steal()
    });
    let first = rig.fork(0);
    let second = rig.fork(1);
    let mut taken: Vec<_> = thief.join().unwrap().into_iter().collect();
    taken.extend(rig.take_back(1, second));
    taken.extend(rig.take_back(0, first));
    assert_each_once(2, taken);
}

#[test]
fn deque_4_a_forcing_thief_sees_writes_from_before_fork() {
    check(15, None, fork_against_force);
}

#[test]
fn canary_fork_without_release() {
    canary(&[Step::DequeForkRelease], None, fork_against_force);
}

/// The thief may begin to force before the owner forks 0 and 1. The newest fork that the thief sees
/// may be fork 0, which is the newest again because fork 1 was taken back.
fn fork_and_take_back_against_force() {
    let rig = Rig::new();
    let gone = rig.fork(3);
    let thief = thread::spawn({
        let rig = rig.clone();
        move || rig.force_and_steal()
    });
    let mut taken = rig.take_back(3, gone);
    let (first, second) = (rig.fork(0), rig.fork(1));
    taken.extend(rig.take_back(1, second));
    taken.extend(rig.take_back(0, first));
    taken.extend(thief.join().unwrap());
    taken.sort_unstable();
    assert_eq!(taken, [0, 1, 3]);
}

#[test]
fn deque_8_links_are_seen_through_a_fork_that_was_taken_back() {
    check(5_000, Some(4), fork_and_take_back_against_force);
}

#[test]
fn canary_take_back_without_release() {
    canary(&[Step::DequeTakeBackRelease], Some(4), fork_and_take_back_against_force);
}

/// `pop_above` takes only items above a mark, while a thief makes some of the items below the mark
/// public.
fn mark_against_force() {
    let rig = Rig::new();
    let (first, second) = (rig.fork(0), rig.fork(1));
    let thief = thread::spawn({
        let rig = rig.clone();
        move || rig.force_and_steal()
    });
    // SAFETY: as in `fork`.
    let owner = unsafe { rig.deque.owner() };
    let mark = owner.mark();
    assert!(owner.pop_above(mark).is_none(), "there is nothing above");
    rig.push(2);
    let above = owner.pop_above(mark).map(|item| rig.index(item));
    assert!(above.is_none_or(|item| item == 2), "{above:?} was there before");
    assert!(owner.pop_above(mark).is_none(), "there is nothing else above");
    let mut taken: Vec<_> = above.into_iter().collect();
    taken.extend(rig.take_back(1, second));
    taken.extend(rig.take_back(0, first));
    taken.extend(thief.join().unwrap());
    assert_each_once(3, taken);
}

#[test]
fn deque_9_items_below_a_mark_stay_while_a_thief_forces() {
    check(1_000, Some(3), mark_against_force);
}

/// The owner takes two private forks back while a thief follows the links. In between, the owner
/// uses the memory of the second fork for another fork.
fn reuse_against_force() {
    let rig = Rig::new();
    let first = rig.fork(0);
    let second = rig.fork(1);
    let thief = thread::spawn({
        let rig = rig.clone();
        move || rig.force_and_steal()
    });
    let mut taken = rig.take_back(1, second);
    if taken == [1] {
        let again = rig.fork(1);
        taken = rig.take_back(1, again);
    }
    taken.extend(rig.take_back(0, first));
    taken.extend(thief.join().unwrap());
    assert_each_once(2, taken);
}

#[test]
fn deque_8_frames_are_not_used_again_under_a_thief() {
    check(1_000, None, reuse_against_force);
}

#[test]
fn canary_frames_are_used_again_under_a_thief() {
    canary(&[Step::DequeForceWait], None, reuse_against_force);
    canary(&[Step::DequeForceFence], None, reuse_against_force);
}

/// The owner takes its fork back, forks again and publishes, while a thief forces twice.
fn publish_against_force() {
    let rig = Rig::new();
    let place = rig.fork(0);
    let thief = thread::spawn({
        let rig = rig.clone();
        move || [rig.force_and_steal(), rig.force_and_steal()]
    });
    let mut taken = rig.take_back(0, place);
    let place = rig.fork(1);
    rig.publish(1);
    taken.extend(rig.take_back(1, place));
    taken.extend(thief.join().unwrap().into_iter().flatten());
    assert_each_once(2, taken);
}

#[test]
fn deque_1_owner_and_thief_publish_at_once() {
    check(10_000, Some(3), publish_against_force);
}

/// An item is pushed above a fork while a thief makes the fork public.
fn push_against_force() {
    let rig = Rig::new();
    let place = rig.fork(0);
    let thief = thread::spawn({
        let rig = rig.clone();
        move || rig.force_and_steal()
    });
    rig.push(1);
    let mut taken = rig.take_back(0, place);
    taken.extend(thief.join().unwrap());
    taken.extend(rig.rest());
    assert_each_once(2, taken);
}

#[test]
fn deque_1_a_push_and_a_forcing_thief_publish_at_once() {
    check(1_000, Some(3), push_against_force);
}

/// Two thieves force while the owner takes both of its forks back.
fn two_forcing_thieves() {
    let rig = Rig::new();
    let (first, second) = (rig.fork(0), rig.fork(1));
    let thieves = [(); 2].map(|()| {
        let rig = rig.clone();
        thread::spawn(move || rig.force_and_steal())
    });
    let mut taken = rig.take_back(1, second);
    taken.extend(rig.take_back(0, first));
    taken.extend(thieves.into_iter().filter_map(|thief| thief.join().unwrap()));
    assert_each_once(2, taken);
}

#[test]
fn deque_1_two_forcing_thieves_against_an_owner() {
    check(4_000, Some(2), two_forcing_thieves);
}

/// A thief may try to force at a bad moment, and fail. After that the owner does not touch the
/// deque, as in a long computation. If the owner has left a private fork, the next attempt to force
/// must succeed, because nothing else would make the fork public.
fn force_after_a_vain_one(owner: fn(&Rig, Place<Item>) -> usize) {
    let rig = Rig::new();
    let place = rig.fork(0);
    let thief = thread::spawn({
        let rig = rig.clone();
        move || rig.force_and_steal()
    });
    let taken_by_owner = owner(&rig, place);
    let mut taken = taken_by_owner + usize::from(thief.join().unwrap().is_some());
    while !rig.deque.is_empty() {
        let public = rig.deque.public_len() > 0;
        let forced = rig.deque.force(|item| rig.arm(item));
        assert!(public || forced, "a private fork that cannot be forced: {:?}", rig.deque);
        taken += usize::from(rig.steal().is_some());
    }
    assert_eq!(taken, 2);
}

#[test]
fn deque_6_a_vain_force_does_not_hinder_the_next() {
    check(200, None, || {
        force_after_a_vain_one(|rig, place| {
            let taken = rig.take_back(0, place).len();
            let _ = rig.fork(1);
            taken
        });
    });
    check(1_000, None, || {
        force_after_a_vain_one(|rig, _| {
            let _ = rig.fork(1);
            rig.publish(1);
            0
        });
    });
}

/// A thread calls `is_empty` while the owner publishes its fork: the deque never looks empty.
fn look_against_publish() {
    let rig = Rig::new();
    let place = rig.fork(0);
    let looker = thread::spawn({
        let rig = rig.clone();
        move || assert!(!rig.deque.is_empty(), "a fork that becomes public is never missed")
    });
    rig.publish(1);
    looker.join().unwrap();
    assert_eq!(rig.take_back(0, place), [0]);
}

#[test]
fn deque_6_a_fork_that_becomes_public_is_seen_all_the_time() {
    check_without(Step::BarrierLight, 6, None, look_against_publish);
}

#[test]
fn canary_a_fork_is_said_to_be_public_too_early() {
    canary(&[Step::DequePublishedRelease, Step::BarrierLight], None, look_against_publish);
}

/// A thread counts while the owner takes a fork back and forks again.
fn count_against_take_back() {
    let rig = Rig::new();
    let place = rig.fork(0);
    let reader = thread::spawn({
        let rig = rig.clone();
        move || assert!(rig.deque.len() <= 1)
    });
    assert_eq!(rig.take_back(0, place), [0]);
    let place = rig.fork(0);
    reader.join().unwrap();
    assert_eq!(rig.deque.len(), 1);
    assert_eq!(rig.take_back(0, place), [0]);
}

#[test]
fn deque_8_counting_disturbs_no_thread() {
    check(100, Some(3), count_against_take_back);
}

/// Two thieves try to steal the only public item, while the owner does nothing.
fn a_failed_steal_has_a_winner() {
    let rig = Rig::new();
    rig.push(0);
    let thief = thread::spawn({
        let rig = rig.clone();
        move || rig.steal()
    });
    let here = rig.steal();
    let there = thief.join().unwrap();
    assert_eq!(usize::from(here.is_some()) + usize::from(there.is_some()), 1);
}

#[test]
fn deque_7_a_failed_steal_has_a_winner() {
    check_without(Step::BarrierLight, 4, None, a_failed_steal_has_a_winner);
}

/// A thief reads a slot of a large ring. Meanwhile the owner pops the last item, leaves the ring
/// and frees it.
fn shrink_against_steal() {
    let rig = Rig::new();
    for index in 0..=DEQUE_KEEPS {
        rig.push(index);
    }
    let mut taken: Vec<_> = (0..DEQUE_KEEPS).filter_map(|_| rig.pop()).collect();
    let thief = thread::spawn({
        let rig = rig.clone();
        move || rig.steal()
    });
    taken.extend(rig.pop());
    // SAFETY: only the model's first thread calls the owner's methods.
    let owner = unsafe { rig.deque.owner() };
    assert!(owner.is_oversized());
    let freed = owner.shrink();
    rig.push(DEQUE_KEEPS + 1);
    taken.extend(thief.join().unwrap());
    taken.extend(rig.rest());
    assert_each_once(DEQUE_KEEPS + 2, taken);
    assert!(owner.shrink() || freed, "no thief is left");
    assert!(!owner.is_oversized());
}

#[test]
fn deque_5_a_large_ring_is_freed_behind_its_last_reader() {
    check_without(Step::BarrierLight, 100, Some(3), shrink_against_steal);
}

/// A thief may begin before the first ring is replaced, and then find the small ring to which the
/// owner went back.
fn shrink_under_an_early_thief() {
    let rig = Rig::new();
    let thief = thread::spawn({
        let rig = rig.clone();
        move || rig.steal()
    });
    for index in 0..=DEQUE_KEEPS {
        rig.push(index);
    }
    let mut taken = rig.rest();
    // SAFETY: only the model's first thread calls the owner's methods.
    let _ = unsafe { rig.deque.owner() }.shrink();
    taken.extend(thief.join().unwrap());
    assert_each_once(DEQUE_KEEPS + 1, taken);
}

#[test]
fn deque_5_a_ring_that_is_used_again_is_seen_whole() {
    check_without(Step::BarrierLight, 100, Some(2), shrink_under_an_early_thief);
}

#[test]
fn canary_a_reader_of_a_large_ring_without_its_fence() {
    canary(&[Step::DequeReaderFence, Step::BarrierLight], Some(3), shrink_against_steal);
}

#[test]
fn canary_a_reader_of_a_large_ring_that_does_not_release() {
    canary(&[Step::DequeReaderRelease, Step::BarrierLight], Some(3), shrink_against_steal);
}

#[test]
fn canary_a_ring_is_left_without_the_fence() {
    canary(&[Step::DequeShrinkFence, Step::BarrierLight], Some(3), shrink_against_steal);
}
