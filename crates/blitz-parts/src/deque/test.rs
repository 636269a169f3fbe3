//! The deque on real threads, and compared with simple models.

use super::{Deque, Linked, Mark, Owner, Place, Published, Steal, TakeBack};
use crate::prim::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Relaxed, SeqCst};
use crate::rng::XorShift64Star;
use crate::tuning;
use core::cell::RefCell;
use core::ptr::{NonNull, null_mut};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use std::collections::VecDeque;

/// An item that counts how often it was taken.
struct Item {
    taken: AtomicU32,
    older: AtomicPtr<Item>,
}

// SAFETY: the link is one atomic, which is read as it was written.
unsafe impl Linked for Item {
    unsafe fn set_older(this: NonNull<Item>, older: *mut Item) {
        // SAFETY: the items of a test outlive their deque's use.
        unsafe { this.as_ref() }.older.store(older, Relaxed);
    }

    unsafe fn older(this: NonNull<Item>) -> *mut Item {
        // SAFETY: as above.
        unsafe { this.as_ref() }.older.load(Relaxed)
    }
}

/// Items to push; each is identified by its index.
struct Items(Vec<Item>);

impl Items {
    fn new(count: usize) -> Items {
        let item = |_| Item { taken: AtomicU32::new(0), older: AtomicPtr::new(null_mut()) };
        Items((0..count).map(item).collect())
    }

    fn item(&self, index: usize) -> NonNull<Item> {
        NonNull::from(&self.0[index])
    }

    fn index(&self, item: NonNull<Item>) -> usize {
        (item.addr().get() - self.0.as_ptr().addr()) / size_of::<Item>()
    }

    /// Forks an item, which the caller takes back, newest first, or leaves to thieves.
    fn fork(&self, deque: &Deque<Item>, index: usize) -> Place<Item> {
        // SAFETY: the items stay where they are.
        unsafe { owner(deque).fork(self.item(index)) }
    }
}

/// The owner's end of a deque that this thread alone uses.
fn owner(deque: &Deque<Item>) -> Owner<'_, Item> {
    // SAFETY: in every test one thread alone calls this.
    unsafe { deque.owner() }
}

/// Takes a fork back as `blitz-core` does, and passes items pushed since to `other`. Returns
/// whether the fork was still there.
fn take_back(
    deque: &Deque<Item>,
    fork: NonNull<Item>,
    place: Place<Item>,
    mut other: impl FnMut(NonNull<Item>),
) -> bool {
    let own = owner(deque);
    if own.take_back(place) || own.take_back_public(fork, place) == TakeBack::Taken {
        return true;
    }
    while let Some(item) = own.pop() {
        if item == fork {
            return true;
        }
        other(item);
    }
    false
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Fork,
    Push,
    PopAbove,
    TakeBack,
    Publish(usize),
    Steal,
    Force,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        4 => Just(Op::Fork),
        1 => Just(Op::Push),
        1 => Just(Op::PopAbove),
        2 => Just(Op::TakeBack),
        1 => (0usize..4).prop_map(Op::Publish),
        1 => Just(Op::Steal),
        1 => Just(Op::Force),
    ];
    proptest::collection::vec(op, 0..900)
}

/// The expected items of the deque, oldest first. The first `public` of them are public.
#[derive(Default)]
struct Expected {
    items: VecDeque<usize>,
    public: usize,
}

impl Expected {
    fn pop(&mut self) -> Option<usize> {
        let newest = self.items.pop_back();
        self.public = self.public.min(self.items.len());
        newest
    }

    fn steal(&mut self) -> Option<usize> {
        self.public = self.public.checked_sub(1)?;
        self.items.pop_front()
    }

    fn private(&self) -> usize {
        self.items.len() - self.public
    }

    /// Makes the `count` oldest private items public. Returns them newest first, the order in which
    /// they are armed.
    fn publish(&mut self, count: usize) -> Vec<usize> {
        let count = count.min(self.private());
        let armed: Vec<_> = self.items.iter().skip(self.public).take(count).copied().collect();
        self.public += count;
        armed.into_iter().rev().collect()
    }
}

fn stolen(items: &Items, steal: Steal<Item>) -> Option<usize> {
    match steal {
        Steal::Success(item) => Some(items.index(item)),
        Steal::Empty => None,
        Steal::Retry => panic!("no other thread steals"),
    }
}

/// Does `ops` on a deque and on its model, and compares the two after every step.
fn compare_with_model(ops: &[Op]) {
    let items = Items::new(ops.len());
    let deque = Deque::new();
    let own = owner(&deque);
    let mut expected = Expected::default();
    // The forks that were not taken back: their index, their place, and the mark after them.
    let mut frames: Vec<(usize, Place<Item>, Mark<Item>)> = Vec::new();
    let armed = RefCell::new(Vec::new());
    let arm = |item| armed.borrow_mut().push(items.index(item));
    for (step, &op) in ops.iter().enumerate() {
        match op {
            Op::Fork => {
                let place = items.fork(&deque, step);
                frames.push((step, place, own.mark()));
                expected.items.push_back(step);
            }
            Op::Push => {
                let published = own.push(items.item(step), arm);
                let forks = expected.publish(usize::MAX);
                assert_eq!(published, forks.len() + 1);
                assert_eq!(armed.take(), forks);
                expected.items.push_back(step);
                expected.public += 1;
            }
            Op::PopAbove => {
                let (newest, mark) =
                    frames.last().map_or((None, Mark::START), |f| (Some(f.0), f.2));
                // Items newer than the newest fork were pushed.
                let above =
                    expected.items.back().is_some_and(|&item| newest.is_none_or(|n| item > n));
                let expected = if above { expected.pop() } else { None };
                assert_eq!(own.pop_above(mark).map(|item| items.index(item)), expected);
            }
            Op::TakeBack => {
                if let Some((fork, place, _)) = frames.pop() {
                    let other = |item| assert_eq!(Some(items.index(item)), expected.pop());
                    let taken = take_back(&deque, items.item(fork), place, other);
                    assert_eq!(expected.pop(), taken.then_some(fork));
                }
            }
            Op::Publish(count) => {
                let was_empty = expected.public == 0;
                let published = own.publish(|_| count, arm);
                let now_public = expected.publish(count);
                assert_eq!(published, Published { count: now_public.len(), was_empty });
                assert_eq!(armed.take(), now_public);
            }
            Op::Steal => assert_eq!(stolen(&items, deque.steal()), expected.steal()),
            Op::Force => {
                assert_eq!(deque.force(arm), expected.private() > 0);
                assert_eq!(armed.take(), expected.publish(expected.private().div_ceil(2)));
            }
        }
        assert_eq!(deque.len(), expected.items.len());
        assert_eq!(deque.is_empty(), expected.items.is_empty());
        assert_eq!(deque.public_len(), expected.public);
        assert_eq!(deque.has_private(), expected.private() > 0);
        assert_eq!(own.has_public(), expected.public > 0);
    }
}

/// Compares with crossbeam's deque. No item is forked, so each is public at once.
fn compare_with_crossbeam(ops: &[(bool, bool)]) {
    let items = Items::new(ops.len());
    let deque = Deque::new();
    let own = owner(&deque);
    let oracle = crossbeam_deque::Worker::new_lifo();
    let thief = oracle.stealer();
    for (step, &(at_owners_end, push)) in ops.iter().enumerate() {
        if at_owners_end && push {
            oracle.push(step);
            let _ = own.push(items.item(step), |_| unreachable!("there are no forks"));
        } else if at_owners_end {
            assert_eq!(own.pop().map(|item| items.index(item)), oracle.pop());
        } else if push {
            assert_eq!(deque.is_empty(), oracle.is_empty());
            assert_eq!(deque.len(), oracle.len());
        } else {
            assert_eq!(stolen(&items, deque.steal()), thief.steal().success());
        }
    }
}

proptest! {
    // Every `force` is a heavy fence, so more cases would take too long on a busy machine.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn deque_2_owner_takes_newest_and_thief_oldest(ops in ops()) {
        compare_with_model(&ops);
    }

    #[test]
    fn deque_2_as_crossbeam_does(
        ops in proptest::collection::vec(any::<(bool, bool)>(), 0..900)
    ) {
        compare_with_crossbeam(&ops);
    }
}

#[test]
fn deque_7_a_thief_leaves_the_item_if_its_condition_fails() {
    let items = Items::new(2);
    let deque = Deque::new();
    let _ = items.fork(&deque, 0);
    // Nothing is public, so the condition is not called.
    let unasked = deque.steal_if(|| unreachable!("there is nothing to judge"));
    assert_eq!(stolen(&items, unasked), None);
    assert_eq!(owner(&deque).publish(|_| 1, |_| ()).count, 1);
    assert_eq!(stolen(&items, deque.steal_if(|| false)), None);
    assert_eq!(deque.len(), 1);
    assert_eq!(stolen(&items, deque.steal_if(|| true)), Some(0));
    assert!(deque.is_empty());
}

#[test]
fn deque_3_private_forks_are_out_of_reach_and_free_of_exchanges() {
    let items = Items::new(100);
    let deque = Deque::new();
    let places: Vec<_> = (0..100).map(|index| items.fork(&deque, index)).collect();
    assert_eq!(stolen(&items, deque.steal()), None);
    for &place in places.iter().rev() {
        assert!(owner(&deque).take_back(place));
    }
    assert!(deque.is_empty());
    // The owner exchanges `top` only for a public item.
    assert_eq!(deque.stolen(), 0);
}

#[test]
fn deque_3_take_back_of_a_stolen_fork_says_so() {
    let items = Items::new(1);
    let deque = Deque::new();
    let place = items.fork(&deque, 0);
    assert!(deque.force(|_| ()));
    assert_eq!(stolen(&items, deque.steal()), Some(0));
    let nothing_else = |_| unreachable!("there is nothing else");
    assert!(!take_back(&deque, items.item(0), place, nothing_else));
    assert_eq!(owner(&deque).pop(), None);
    // The deque still works.
    let place = items.fork(&deque, 0);
    assert!(owner(&deque).take_back(place));
}

#[test]
fn deque_5_growth_keeps_every_item() {
    let count = 5 * tuning::DEQUE_SLOTS;
    let items = Items::new(count);
    let deque = Deque::new();
    for index in 0..count {
        if index % 2 == 0 {
            let _ = owner(&deque).push(items.item(index), |_| ());
        } else {
            let _ = items.fork(&deque, index);
        }
        if index % 3 == 0 {
            let _ = owner(&deque).publish(|_| 2, |_| ());
        }
    }
    assert_eq!(deque.len(), count);
    assert_eq!(deque.pushes(), count as u64);
    let _ = owner(&deque).publish(|private| private, |_| ());
    assert_eq!(deque.public_len(), count);
    for index in 0..count / 2 {
        assert_eq!(stolen(&items, deque.steal()), Some(index));
    }
    for index in (count / 2..count).rev() {
        assert_eq!(owner(&deque).pop(), Some(items.item(index)));
    }
    assert!(deque.is_empty());
}

#[test]
fn deque_5_large_rings_are_freed_when_the_deque_is_empty() {
    let count = 3 * tuning::DEQUE_KEEPS;
    let items = Items::new(count);
    let deque = Deque::new();
    assert!(!owner(&deque).is_oversized());
    for _ in 0..3 {
        for index in 0..count {
            let _ = owner(&deque).push(items.item(index), |_| ());
        }
        assert!(owner(&deque).is_oversized());
        assert!(!owner(&deque).shrink(), "a ring with items is not freed");
        for index in 0..count / 2 {
            assert_eq!(stolen(&items, deque.steal()), Some(index));
        }
        for index in (count / 2..count).rev() {
            assert_eq!(owner(&deque).pop(), Some(items.item(index)));
        }
        assert!(owner(&deque).shrink());
        assert!(!owner(&deque).is_oversized() && deque.is_empty());
        // The deque goes on with the ring that it kept.
        let place = items.fork(&deque, 0);
        assert!(owner(&deque).take_back(place));
        assert!(matches!(deque.steal(), Steal::Empty));
    }
}

/// The owner fills, empties and shrinks the deque while thieves read its rings.
#[test]
fn deque_5_thieves_never_read_a_ring_that_was_freed() {
    const ROUNDS: usize = if cfg!(miri) { 2 } else { 12 };
    let count = if cfg!(miri) { 300 } else { tuning::DEQUE_KEEPS + 1_000 };
    let items = Items::new(count);
    let deque = Deque::new();
    let (done, taken) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(SeqCst) {
                    if let Steal::Success(_) = deque.steal() {
                        taken.fetch_add(1, SeqCst);
                    }
                }
            });
        }
        for round in 1..=ROUNDS {
            for index in 0..count {
                let _ = owner(&deque).push(items.item(index), |_| ());
            }
            while owner(&deque).pop().is_some() {
                taken.fetch_add(1, SeqCst);
            }
            while owner(&deque).is_oversized() {
                owner(&deque).shrink();
            }
            while taken.load(SeqCst) < round * count {
                std::thread::yield_now();
            }
        }
        done.store(true, SeqCst);
    });
    assert_eq!(taken.load(SeqCst), ROUNDS * count);
}

#[test]
fn deque_6_every_private_fork_can_be_forced_out() {
    let items = Items::new(50);
    let deque = Deque::new();
    assert!(!deque.force(|_| ()), "nothing is there");
    for index in 0..50 {
        let _ = items.fork(&deque, index);
    }
    let mut forced = 0;
    for index in 0..50 {
        if deque.public_len() == 0 {
            assert!(deque.force(|_| ()));
            forced += 1;
        }
        assert_eq!(stolen(&items, deque.steal()), Some(index));
    }
    assert!(!deque.force(|_| ()), "nothing is left");
    assert_eq!(forced, 6, "half of what is left each time: 25, 13, 6, 3, 2 and the last");
}

#[test]
fn deque_8_counting_changes_nothing() {
    let items = Items::new(3);
    let deque = Deque::new();
    let places = [0, 1, 2].map(|index| items.fork(&deque, index));
    let _ = owner(&deque).publish(|_| 1, |_| ());
    assert_eq!((deque.len(), deque.public_len()), (3, 1));
    assert!(owner(&deque).take_back(places[2]), "it is private still");
}

#[test]
fn deque_9_only_later_items_are_above_a_mark() {
    let items = Items::new(5);
    let deque = Deque::new();
    let own = owner(&deque);
    let _ = own.push(items.item(0), |_| ());
    let place = items.fork(&deque, 1);
    let mark = own.mark();
    assert_eq!(own.pop_above(mark), None, "private");
    let _ = own.push(items.item(2), |_| ());
    assert_eq!(own.pop_above(mark), Some(items.item(2)));
    assert_eq!(own.pop_above(mark), None, "the fork is public, and below");
    // The mark also holds once the fork itself and all items below it are stolen.
    let _ = own.push(items.item(3), |_| ());
    assert_eq!(
        [deque.steal(), deque.steal()].map(|steal| stolen(&items, steal)),
        [Some(0), Some(1)]
    );
    assert_eq!(own.pop_above(mark), Some(items.item(3)));
    assert_eq!(own.pop_above(mark), None);
    assert!(!take_back(&deque, items.item(1), place, |_| unreachable!("there is nothing else")));
}

/// The owner forks or pushes `count` items in bursts, and takes back those that it can get.
/// Meanwhile `thieves` threads steal, force and count. Returns how often each item was taken, and
/// how many items thieves took.
fn storm(count: usize, thieves: u64) -> (Vec<u32>, usize) {
    let items = Items::new(count);
    let deque = Deque::new();
    let over = AtomicBool::new(false);
    let take = |item: NonNull<Item>| {
        items.0[items.index(item)].taken.fetch_add(1, Relaxed);
    };
    let steal = |seed: u64| {
        let rng = XorShift64Star::new(seed);
        let mut won = 0;
        loop {
            let last_round = over.load(crate::prim::Acquire);
            match rng.below(64) {
                0..4 => drop(deque.force(|_| ())),
                4 => assert!(deque.len() <= count),
                _ => {}
            }
            match deque.steal() {
                Steal::Success(item) => {
                    take(item);
                    won += 1;
                }
                Steal::Retry => {}
                Steal::Empty if last_round => return won,
                Steal::Empty => std::thread::yield_now(),
            }
        }
    };
    let own_and_push = || {
        let own = owner(&deque);
        let rng = XorShift64Star::new(99);
        let mut next = 0;
        let mut frames = Vec::new();
        while next < count {
            let burst = if rng.below(50) == 0 { 3 * tuning::DEQUE_SLOTS } else { rng.below(8) };
            let end = (next + burst).min(count);
            for index in next..end {
                if rng.below(16) == 0 {
                    let _ = own.push(items.item(index), |_| ());
                } else {
                    frames.push((index, items.fork(&deque, index)));
                }
            }
            next = end;
            if rng.below(4) == 0 {
                let _ = own.publish(|_| rng.below(5), |_| ());
            }
            // Sometimes take all forks back, so that the list is not always long.
            let leave = if rng.below(20) == 0 { frames.len() } else { rng.below(10) };
            for (fork, place) in
                frames.split_off(frames.len().saturating_sub(leave)).into_iter().rev()
            {
                if take_back(&deque, items.item(fork), place, take) {
                    take(items.item(fork));
                }
            }
        }
        for (fork, place) in frames.into_iter().rev() {
            if take_back(&deque, items.item(fork), place, take) {
                take(items.item(fork));
            }
        }
        while let Some(item) = own.pop() {
            take(item);
        }
        over.store(true, crate::prim::Release);
    };
    let won = std::thread::scope(|scope| {
        let thieves: Vec<_> = (1..=thieves).map(|seed| scope.spawn(move || steal(seed))).collect();
        own_and_push();
        thieves.into_iter().map(|thief| thief.join().unwrap()).sum()
    });
    assert!(deque.is_empty());
    (items.0.iter().map(|item| item.taken.load(Relaxed)).collect(), won)
}

#[test]
fn deque_1_a_storm_takes_every_item_once() {
    for thieves in [1, 3] {
        let (taken, won) = storm(100_000, thieves);
        assert!(taken.iter().all(|&times| times == 1));
        assert!(won <= taken.len());
    }
}
