//! The deque on real threads, and against models of what it should do.

use super::{Deque, Owner, Published, Steal, TakeBack};
use crate::prim::{AtomicBool, AtomicU32, Relaxed};
use crate::rng::XorShift64Star;
use crate::tuning;
use core::cell::RefCell;
use core::ptr::NonNull;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use std::collections::VecDeque;

/// Items to push: each is known by its place.
struct Items(Vec<AtomicU32>);

impl Items {
    fn new(count: usize) -> Items {
        Items((0..count).map(|_| AtomicU32::new(0)).collect())
    }

    fn item(&self, index: usize) -> NonNull<AtomicU32> {
        NonNull::from(&self.0[index])
    }

    fn index(&self, item: NonNull<AtomicU32>) -> usize {
        (item.addr().get() - self.0.as_ptr().addr()) / size_of::<AtomicU32>()
    }
}

/// The owner's end of a deque that this thread alone uses.
fn owner(deque: &Deque<AtomicU32>) -> Owner<'_, AtomicU32> {
    // SAFETY: in every test one thread alone calls this.
    unsafe { deque.owner() }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Push,
    Pop,
    TakeBack,
    TakeBackOldest,
    Publish(usize),
    Steal,
    Force,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        4 => Just(Op::Push),
        1 => Just(Op::Pop),
        1 => Just(Op::TakeBack),
        1 => Just(Op::TakeBackOldest),
        1 => (0usize..4).prop_map(Op::Publish),
        1 => Just(Op::Steal),
        1 => Just(Op::Force),
    ];
    proptest::collection::vec(op, 0..900)
}

/// What the deque should hold: the items, oldest first, of which the first `public` are public.
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

    fn publish(&mut self, count: usize) -> Vec<usize> {
        let count = count.min(self.items.len() - self.public);
        let armed = self.items.iter().skip(self.public).take(count).copied().collect();
        self.public += count;
        armed
    }
}

fn stolen(items: &Items, steal: Steal<AtomicU32>) -> Option<usize> {
    match steal {
        Steal::Success(item) => Some(items.index(item)),
        Steal::Empty => None,
        Steal::Retry => panic!("nobody else steals"),
    }
}

/// Does `ops` on a deque and on its model and compares after every step.
fn compare_with_model(ops: &[Op]) {
    let items = Items::new(ops.len());
    let deque = Deque::new();
    let own = owner(&deque);
    let mut expected = Expected::default();
    // Where each item was pushed.
    let mut places = vec![isize::MIN; ops.len()];
    let armed = RefCell::new(Vec::new());
    let arm = |item| armed.borrow_mut().push(items.index(item));
    for (step, &op) in ops.iter().enumerate() {
        match op {
            Op::Push => {
                places[step] = own.push(items.item(step));
                expected.items.push_back(step);
            }
            Op::Pop => assert_eq!(own.pop().map(|item| items.index(item)), expected.pop()),
            Op::TakeBack => {
                if let Some(&newest) = expected.items.back() {
                    assert_eq!(own.take_back(places[newest]), TakeBack::Taken);
                    expected.pop();
                }
            }
            Op::TakeBackOldest => {
                if let [oldest, .., _] = *expected.items.make_contiguous() {
                    assert_eq!(own.take_back(places[oldest]), TakeBack::NotNewest);
                }
            }
            Op::Publish(count) => {
                let was_empty = expected.public == 0;
                let published = own.publish(count, arm);
                let now_public = expected.publish(count);
                assert_eq!(published, Published { count: now_public.len(), was_empty });
                assert_eq!(armed.take(), now_public);
            }
            Op::Steal => assert_eq!(stolen(&items, deque.steal()), expected.steal()),
            Op::Force => {
                assert_eq!(deque.force(arm), expected.public < expected.items.len());
                assert_eq!(armed.take(), expected.publish(1));
            }
        }
        assert_eq!(deque.len(), expected.items.len());
        assert_eq!(deque.is_empty(), expected.items.is_empty());
        assert_eq!(deque.public_len(), expected.public);
        assert_eq!(own.has_public(), expected.public > 0);
    }
}

/// As crossbeam's deque does, with every item public at once.
fn compare_with_crossbeam(ops: &[(bool, bool)]) {
    let items = Items::new(ops.len());
    let deque = Deque::new();
    let own = owner(&deque);
    let oracle = crossbeam_deque::Worker::new_lifo();
    let thief = oracle.stealer();
    for (step, &(at_owners_end, push)) in ops.iter().enumerate() {
        if at_owners_end && push {
            oracle.push(step);
            own.push(items.item(step));
            let _ = own.publish(usize::MAX, |_| ());
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
    // Every `force` is a heavy fence; more cases would take long on a busy machine.
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
fn deque_7_a_thief_whose_condition_fails_leaves_the_item() {
    let items = Items::new(2);
    let deque = Deque::new();
    owner(&deque).push(items.item(0));
    // Nothing public: the condition is not even asked.
    let unasked = deque.steal_if(|| unreachable!("there is nothing to judge"));
    assert_eq!(stolen(&items, unasked), None);
    assert_eq!(owner(&deque).publish(1, |_| ()).count, 1);
    assert_eq!(stolen(&items, deque.steal_if(|| false)), None);
    assert_eq!(deque.len(), 1);
    assert_eq!(stolen(&items, deque.steal_if(|| true)), Some(0));
    assert!(deque.is_empty());
}

#[test]
fn deque_3_private_items_are_out_of_reach_and_free_of_exchanges() {
    let items = Items::new(100);
    let deque = Deque::new();
    let places: Vec<_> = (0..100).map(|index| owner(&deque).push(items.item(index))).collect();
    assert_eq!(stolen(&items, deque.steal()), None);
    for &place in places.iter().rev() {
        assert_eq!(owner(&deque).take_back(place), TakeBack::Taken);
    }
    // The owner exchanges `top` only for a public item.
    assert_eq!(deque.stolen(), 0);
}

#[test]
fn deque_3_take_back_of_a_stolen_item_says_so() {
    let items = Items::new(1);
    let deque = Deque::new();
    let place = owner(&deque).push(items.item(0));
    assert!(deque.force(|_| ()));
    assert_eq!(stolen(&items, deque.steal()), Some(0));
    assert_eq!(owner(&deque).take_back(place), TakeBack::Stolen);
    assert_eq!(owner(&deque).pop(), None);
    // And the deque goes on as before.
    let place = owner(&deque).push(items.item(0));
    assert_eq!(owner(&deque).take_back(place), TakeBack::Taken);
}

#[test]
fn deque_5_growth_keeps_every_item() {
    let count = 5 * tuning::DEQUE_SLOTS;
    let items = Items::new(count);
    let deque = Deque::new();
    for index in 0..count {
        owner(&deque).push(items.item(index));
        if index % 3 == 0 {
            let _ = owner(&deque).publish(2, |_| ());
        }
    }
    assert_eq!(deque.len(), count);
    assert_eq!(deque.pushes(), count as u64);
    let public = deque.public_len();
    for index in 0..public {
        assert_eq!(stolen(&items, deque.steal()), Some(index));
    }
    for index in (public..count).rev() {
        assert_eq!(owner(&deque).pop(), Some(items.item(index)));
    }
    assert!(deque.is_empty());
}

#[test]
fn deque_6_every_private_item_can_be_forced_out() {
    let items = Items::new(50);
    let deque = Deque::new();
    assert!(!deque.force(|_| ()), "nothing is there");
    for index in 0..50 {
        owner(&deque).push(items.item(index));
    }
    for index in 0..50 {
        assert!(deque.force(|item| assert_eq!(item, items.item(index))));
        assert_eq!(stolen(&items, deque.steal()), Some(index));
    }
    assert!(!deque.force(|_| ()), "nothing is left");
}

/// The owner pushes `count` items in bursts, and pops, takes back and publishes in between; `thieves`
/// threads steal and force. Returns how often each item was taken, and how many by thieves.
fn storm(count: usize, thieves: u64) -> (Vec<u32>, usize) {
    let items = Items::new(count);
    let deque = Deque::new();
    let over = AtomicBool::new(false);
    let take = |item: NonNull<AtomicU32>| {
        items.0[items.index(item)].fetch_add(1, Relaxed);
    };
    let steal = |seed: u64| {
        let rng = XorShift64Star::new(seed);
        let mut won = 0;
        loop {
            let last_round = over.load(crate::prim::Acquire);
            if rng.below(16) == 0 {
                deque.force(|_| ());
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
        while next < count {
            let burst = if rng.below(50) == 0 { 3 * tuning::DEQUE_SLOTS } else { rng.below(8) };
            let end = (next + burst).min(count);
            let mut newest = None;
            for index in next..end {
                newest = Some((index, own.push(items.item(index))));
            }
            next = end;
            match (rng.below(4), newest) {
                (0, _) => {
                    let _ = own.publish(rng.below(5), |_| ());
                }
                (1, Some((newest, place))) => match own.take_back(place) {
                    TakeBack::Taken => take(items.item(newest)),
                    TakeBack::Stolen => {}
                    TakeBack::NotNewest => panic!("it is the newest"),
                },
                _ => (0..rng.below(10)).filter_map(|_| own.pop()).for_each(take),
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
    (items.0.iter().map(|taken| taken.load(Relaxed)).collect(), won)
}

#[test]
fn deque_1_a_storm_takes_every_item_once() {
    for thieves in [1, 3] {
        let (taken, won) = storm(100_000, thieves);
        assert!(taken.iter().all(|&times| times == 1));
        assert!(won <= taken.len());
    }
}
