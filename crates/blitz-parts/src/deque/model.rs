//! The deque under the model checker.
//!
//! Under loom both halves of the asymmetric fence are full fences, and a full fence also orders what
//! the free half does not. So the models without a forcing thief run with the free half left out
//! altogether (`check_without`): what they show does not lean on it.

use super::{Deque, Steal, TakeBack};
use crate::prim::{AtomicUsize, Relaxed, Step, canary, check, check_without, thread};
use core::ptr::NonNull;
use std::sync::Arc;

const ITEMS: usize = 4;

/// A deque, and items whose contents show whether their taker saw what was written for it.
struct Rig {
    deque: Deque<AtomicUsize>,
    items: [AtomicUsize; ITEMS],
    armed: [AtomicUsize; ITEMS],
}

impl Rig {
    fn new() -> Arc<Rig> {
        Arc::new(Rig {
            deque: Deque::new(),
            items: core::array::from_fn(|_| AtomicUsize::new(0)),
            armed: core::array::from_fn(|_| AtomicUsize::new(0)),
        })
    }

    fn item(&self, index: usize) -> NonNull<AtomicUsize> {
        NonNull::from(&self.items[index])
    }

    fn index(&self, item: NonNull<AtomicUsize>) -> usize {
        self.items.iter().position(|i| NonNull::from(i) == item).expect("an item of this rig")
    }

    /// Owner: writes an item and pushes it.
    fn push(&self, index: usize) {
        self.items[index].store(index + 1, Relaxed);
        // SAFETY: only the model's first thread calls the owner's methods.
        unsafe { self.deque.owner() }.push(self.item(index));
    }

    /// Owner: pops, and checks what it got.
    fn pop(&self) -> Option<usize> {
        // SAFETY: as in `push`.
        unsafe { self.deque.owner() }.pop().map(|item| self.index(item))
    }

    /// Owner: takes an item back, whose index is its number if they were pushed in order. An owner that finds
    /// it stolen relies on its having been armed.
    fn take_back(&self, index: usize) -> bool {
        // SAFETY: as in `push`.
        match unsafe { self.deque.owner() }.take_back(index as isize) {
            TakeBack::Taken => true,
            TakeBack::Stolen => {
                assert_eq!(self.armed[index].load(Relaxed), 1, "stolen, but not seen armed");
                false
            }
            TakeBack::NotNewest => panic!("it is the newest"),
        }
    }

    /// Owner: publishes.
    fn publish(&self, count: usize) {
        // SAFETY: as in `push`.
        let _ = unsafe { self.deque.owner() }.publish(count, |item| self.arm(item));
    }

    fn arm(&self, item: NonNull<AtomicUsize>) {
        self.armed[self.index(item)].store(1, Relaxed);
    }

    /// Thief: one attempt; what was written for the thief must be there (DEQUE-4).
    fn steal(&self) -> Option<usize> {
        match self.deque.steal() {
            Steal::Success(item) => {
                let index = self.index(item);
                assert_eq!(self.items[index].load(Relaxed), index + 1, "the item's contents");
                assert_eq!(self.armed[index].load(Relaxed), 1, "the item is armed");
                Some(index)
            }
            Steal::Empty | Steal::Retry => None,
        }
    }

    /// Thief: brings a private item into the open and takes it, or another.
    fn force_and_steal(&self) -> Option<usize> {
        self.deque.force(|item| self.arm(item));
        self.steal()
    }

    /// Everything that is still there, taken by the owner.
    fn rest(&self) -> Vec<usize> {
        core::iter::from_fn(|| self.pop()).collect()
    }
}

fn assert_each_once(count: usize, mut taken: Vec<usize>) {
    taken.sort_unstable();
    assert_eq!(taken, (0..count).collect::<Vec<_>>());
}

/// Two public items; a thief that takes up to two against an owner that pops both.
fn pop_against_steal() {
    let rig = Rig::new();
    rig.push(0);
    rig.push(1);
    rig.publish(2);
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

/// One public item; two thieves and the owner.
fn last_item_for_three() {
    let rig = Rig::new();
    rig.push(0);
    rig.publish(1);
    let thieves = [(); 2].map(|()| {
        let rig = rig.clone();
        thread::spawn(move || rig.steal())
    });
    let mut taken: Vec<_> = rig.take_back(0).then_some(0).into_iter().collect();
    taken.extend(thieves.into_iter().filter_map(|thief| thief.join().unwrap()));
    taken.extend(rig.rest());
    assert_each_once(1, taken);
}

#[test]
fn deque_1_the_last_item_has_one_taker() {
    check_without(Step::BarrierLight, 900, Some(3), last_item_for_three);
}

/// The owner publishes while a thief looks.
fn publish_against_steal() {
    let rig = Rig::new();
    let thief = thread::spawn({
        let rig = rig.clone();
        move || [rig.steal(), rig.steal()]
    });
    rig.push(0);
    rig.publish(1);
    rig.push(1);
    rig.publish(1);
    let mut taken: Vec<_> = thief.join().unwrap().into_iter().flatten().collect();
    taken.extend(rig.rest());
    assert_each_once(2, taken);
}

#[test]
fn deque_4_a_thief_sees_what_was_written_before_publish() {
    check(30, None, publish_against_steal);
    check_without(Step::BarrierLight, 30, None, publish_against_steal);
}

#[test]
fn canary_publish_without_release() {
    canary(&[Step::DequePublishRelease], None, publish_against_steal);
}

/// The third push outgrows the buffer while a thief reads it.
fn grow_against_steal() {
    let rig = Rig::new();
    rig.push(0);
    rig.push(1);
    rig.publish(1);
    let thief = thread::spawn({
        let rig = rig.clone();
        move || [rig.steal(), rig.steal()]
    });
    rig.push(2);
    rig.publish(2);
    let mut taken: Vec<_> = rig.pop().into_iter().collect();
    taken.extend(thief.join().unwrap().into_iter().flatten());
    taken.extend(rig.rest());
    assert_each_once(3, taken);
}

#[test]
fn deque_5_growth_against_a_slow_thief() {
    check_without(Step::BarrierLight, 150, Some(3), grow_against_steal);
}

#[test]
fn canary_growth_without_release() {
    canary(&[Step::DequeGrowRelease, Step::BarrierLight], Some(3), grow_against_steal);
}

/// One private item; the owner takes it back while a thief forces it into the open.
fn take_back_against_force() {
    let rig = Rig::new();
    rig.push(0);
    let thief = thread::spawn({
        let rig = rig.clone();
        move || rig.force_and_steal()
    });
    let mut taken: Vec<_> = rig.take_back(0).then_some(0).into_iter().collect();
    taken.extend(thief.join().unwrap());
    taken.extend(rig.rest());
    assert_each_once(1, taken);
}

#[test]
fn deque_3_a_private_item_is_forced_or_taken_back() {
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
fn canary_no_light_fence() {
    canary(&[Step::BarrierLight], None, take_back_against_force);
}

/// The owner pushes while a thief forces.
fn push_against_force() {
    let rig = Rig::new();
    let thief = thread::spawn({
        let rig = rig.clone();
        move || rig.force_and_steal()
    });
    rig.push(0);
    rig.push(1);
    let mut taken: Vec<_> = thief.join().unwrap().into_iter().collect();
    taken.extend(rig.rest());
    assert_each_once(2, taken);
}

#[test]
fn deque_4_a_forcing_thief_sees_what_was_written_before_push() {
    check(15, None, push_against_force);
}

#[test]
fn canary_push_without_release() {
    canary(&[Step::DequePushRelease], None, push_against_force);
}

/// Owner: take back, push again, publish; thief: force, twice.
fn reuse_against_force() {
    let rig = Rig::new();
    rig.push(0);
    let thief = thread::spawn({
        let rig = rig.clone();
        move || [rig.force_and_steal(), rig.force_and_steal()]
    });
    let mut taken: Vec<_> = rig.take_back(0).then_some(0).into_iter().collect();
    rig.push(1);
    rig.publish(1);
    taken.extend(rig.pop());
    taken.extend(thief.join().unwrap().into_iter().flatten());
    taken.extend(rig.rest());
    assert_each_once(2, taken);
}

#[test]
fn deque_1_reused_slots_against_force() {
    check(40_000, Some(3), reuse_against_force);
}

/// Two thieves force, the owner pops both items.
fn two_forcing_thieves() {
    let rig = Rig::new();
    rig.push(0);
    rig.push(1);
    let thieves = [(); 2].map(|()| {
        let rig = rig.clone();
        thread::spawn(move || rig.force_and_steal())
    });
    let mut taken: Vec<_> = [rig.pop(), rig.pop()].into_iter().flatten().collect();
    taken.extend(thieves.into_iter().filter_map(|thief| thief.join().unwrap()));
    taken.extend(rig.rest());
    assert_each_once(2, taken);
}

#[test]
fn deque_1_two_forcing_thieves_against_pops() {
    check(4_000, Some(2), two_forcing_thieves);
}

/// A thief forces at a bad moment, in vain. Then the owner sits in a long leaf with a private item:
/// the next attempt must succeed, for nothing else would bring the item out.
fn force_after_a_vain_one(owner: fn(&Rig) -> usize) {
    let rig = Rig::new();
    rig.push(0);
    let thief = thread::spawn({
        let rig = rig.clone();
        move || rig.force_and_steal()
    });
    let taken_by_owner = owner(&rig);
    let mut taken = taken_by_owner + usize::from(thief.join().unwrap().is_some());
    while !rig.deque.is_empty() {
        let public = rig.deque.public_len() > 0;
        let forced = rig.deque.force(|item| rig.arm(item));
        assert!(public || forced, "a private item that cannot be forced: {:?}", rig.deque);
        taken += usize::from(rig.steal().is_some());
    }
    assert_eq!(taken, 2);
}

fn reuse_then_leaf(rig: &Rig) -> usize {
    let taken = usize::from(rig.take_back(0));
    rig.push(1);
    taken
}

fn publish_then_leaf(rig: &Rig) -> usize {
    rig.push(1);
    rig.publish(1);
    0
}

#[test]
fn deque_6_a_vain_force_does_not_hinder_the_next() {
    check(200, None, || force_after_a_vain_one(reuse_then_leaf));
    check(1_000, None, || force_after_a_vain_one(publish_then_leaf));
}

#[test]
fn canary_force_gives_up_on_a_raised_guard() {
    canary(&[Step::DequeForceAgain], None, || force_after_a_vain_one(reuse_then_leaf));
    canary(&[Step::DequeForceAgain], None, || force_after_a_vain_one(publish_then_leaf));
}

/// Two thieves, one public item, an idle owner.
fn a_failed_steal_has_a_winner() {
    let rig = Rig::new();
    rig.push(0);
    rig.publish(1);
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
