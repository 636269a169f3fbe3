//! The wheel against a sorted map, and beside other threads.

use super::{Closed, Entry, OnEarlier, Waiting, Wheel};
use crate::alarm::NEVER;
use crate::tuning::TIMERS_AT_ONCE;
use core::pin::Pin;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};

/// Remembers the last tick that it was notified of, and counts the notifications.
#[derive(Default)]
struct Told(AtomicU64, AtomicUsize);

impl OnEarlier for Told {
    fn is_earlier(&self, tick: u64) {
        self.0.store(tick, Relaxed);
        self.1.fetch_add(1, Relaxed);
    }
}

/// A waker that records its number.
struct Named(usize, Arc<Mutex<Vec<usize>>>);

impl Wake for Named {
    fn wake(self: Arc<Self>) {
        self.1.lock().unwrap().push(self.0);
    }
}

/// Timers by number, and their expected behaviour.
struct Twins {
    wheel: &'static Wheel,
    entries: Vec<Pin<Box<Entry>>>,
    /// The timers by tick, and then by the order of insertion.
    expected: BTreeMap<(u64, usize), usize>,
    keys: Vec<Option<(u64, usize)>>,
    woken: Arc<Mutex<Vec<usize>>>,
    now: u64,
    came: usize,
}

impl Twins {
    fn new(timers: usize, now: u64) -> Twins {
        Twins {
            wheel: Wheel::open(now, Arc::new(Told::default())),
            entries: (0..timers).map(|_| Box::pin(Entry::new())).collect(),
            expected: BTreeMap::new(),
            keys: vec![None; timers],
            woken: Arc::default(),
            now,
            came: 0,
        }
    }

    fn expect(&mut self, timer: usize, tick: u64) {
        self.forget(timer);
        self.came += 1;
        // An overdue timer is due at the wheel's current tick, after the timers of that tick that
        // were inserted before. Until the driver is done, that tick may be earlier than `now`.
        let key = (tick.max(self.wheel.lock().levels.elapsed), self.came);
        self.expected.insert(key, timer);
        self.keys[timer] = Some(key);
    }

    fn forget(&mut self, timer: usize) {
        if let Some(key) = self.keys[timer].take() {
            self.expected.remove(&key);
        }
    }

    fn insert(&mut self, timer: usize, tick: u64) {
        let waker = Waker::from(Arc::new(Named(timer, self.woken.clone())));
        self.wheel.insert(self.entries[timer].as_mut(), tick, self.now, waker).unwrap();
        self.expect(timer, tick);
    }

    fn reset(&mut self, timer: usize, tick: u64) {
        let waits = self.entries[timer].as_mut().reset(tick);
        assert_eq!(waits, self.keys[timer].is_some());
        if waits {
            self.expect(timer, tick);
        }
    }

    fn cancel(&mut self, timer: usize) {
        self.entries[timer].as_mut().cancel();
        self.forget(timer);
    }

    fn advance(&mut self, now: u64, max: usize) {
        self.now = self.now.max(now);
        let mut wakers = VecDeque::new();
        while self.wheel.expire(self.now, max, &mut wakers) {}
        wakers.into_iter().for_each(Waker::wake);
        let later = self.expected.split_off(&(self.now.saturating_add(1), 0));
        let due: Vec<_> = std::mem::replace(&mut self.expected, later).into_values().collect();
        for &timer in &due {
            self.keys[timer] = None;
            assert_eq!(self.entries[timer].state(), Waiting::Fired);
        }
        assert_eq!(*self.woken.lock().unwrap(), due, "at {}", self.now);
        self.woken.lock().unwrap().clear();
        self.check_rest();
    }

    /// Runs one turn of a driver, which fires the first of the due timers. Others may be left for
    /// the next turn.
    fn step(&mut self, now: u64, max: usize) {
        self.now = self.now.max(now);
        let mut wakers = VecDeque::new();
        let places = self.places();
        let more = self.wheel.expire(self.now, max, &mut wakers);
        let touched = places.iter().zip(self.places()).filter(|(a, b)| **a != *b).count();
        assert!(touched <= max, "{touched} entries under one lock, {max} allowed");
        wakers.into_iter().for_each(Waker::wake);
        for timer in std::mem::take(&mut *self.woken.lock().unwrap()) {
            let (key, first) = self.expected.pop_first().expect("a timer that waits");
            assert_eq!(timer, first, "fired out of order");
            assert!(key.0 <= self.now, "early: {} at {}", key.0, self.now);
            assert_eq!(self.entries[timer].state(), Waiting::Fired);
            self.keys[timer] = None;
        }
        let first = self.expected.keys().next().map_or(NEVER, |key| key.0);
        assert!(more || first > self.now, "a due timer is left: {first} at {}", self.now);
        assert!(self.wheel.earliest() <= first, "the driver would sleep beyond {first}");
    }

    /// The level of each timer that waits.
    fn places(&self) -> Vec<Option<u8>> {
        let _lock = self.wheel.lock();
        let level = |entry: &Pin<Box<Entry>>| {
            // SAFETY: this thread holds the lock.
            (entry.state() == Waiting::Yes).then(|| unsafe { entry.node() }.level)
        };
        self.entries.iter().map(level).collect()
    }

    fn check_rest(&self) {
        let first = self.expected.keys().next().map_or(NEVER, |key| key.0);
        assert!(self.wheel.earliest() <= first);
        assert_eq!(self.wheel.next(), first);
        assert_eq!(self.wheel.earliest(), first);
        for (timer, key) in self.keys.iter().enumerate() {
            assert_eq!(self.entries[timer].state() == Waiting::Yes, key.is_some());
        }
    }

    fn close(self) {
        let mut wakers = VecDeque::new();
        self.wheel.close(&mut wakers);
        self.wheel.give_back();
        assert_eq!(wakers.len(), self.expected.len());
        assert!(
            self.keys
                .iter()
                .zip(&self.entries)
                .all(|(key, entry)| { (entry.state() == Waiting::Closed) == key.is_some() })
        );
    }
}

#[derive(Clone, Debug)]
enum Op {
    Insert(usize, u64),
    Reset(usize, u64),
    Cancel(usize),
    Advance(u64, usize),
    /// Runs one turn of a driver only.
    Step(u64, usize),
    Next,
}

const TIMERS: usize = 24;

/// A distance of any magnitude. Its number of bits is drawn first, so small distances are as likely
/// as large ones.
fn distance() -> impl Strategy<Value = u64> {
    (0u32..64, any::<u64>()).prop_map(|(bits, seed)| seed & ((1 << bits) - 1))
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..TIMERS, distance()).prop_map(|(timer, tick)| Op::Insert(timer, tick)),
        1 => (0..TIMERS, distance()).prop_map(|(timer, tick)| Op::Reset(timer, tick)),
        1 => (0..TIMERS).prop_map(Op::Cancel),
        3 => (distance(), 1..4usize).prop_map(|(ticks, max)| Op::Advance(ticks, max)),
        2 => (0..200u64, 1..4usize).prop_map(|(ticks, max)| Op::Advance(ticks, max)),
    ]
}

/// Inserts and cancellations between the turns of a driver, many of them in the range of one slot.
fn op_between_turns() -> impl Strategy<Value = Op> {
    let near = || prop_oneof![0..70u64, 0..5_000u64, distance()];
    prop_oneof![
        4 => (0..TIMERS, near()).prop_map(|(timer, tick)| Op::Insert(timer, tick)),
        2 => (0..TIMERS, near()).prop_map(|(timer, tick)| Op::Reset(timer, tick)),
        2 => (0..TIMERS).prop_map(Op::Cancel),
        8 => (prop_oneof![Just(0), near()], 1..4usize).prop_map(|(ticks, max)| Op::Step(ticks, max)),
        1 => Just(Op::Next),
    ]
}

fn run(start: u64, ops: Vec<Op>) {
    let mut twins = Twins::new(TIMERS, start);
    for op in ops {
        let at = |distance: u64| twins.now.saturating_add(distance);
        match op {
            Op::Insert(timer, distance) => twins.insert(timer, at(distance)),
            Op::Reset(timer, distance) => twins.reset(timer, at(distance)),
            Op::Cancel(timer) => twins.cancel(timer),
            Op::Advance(distance, max) => {
                // Do not advance to the last tick, which stands for "never".
                let now = at(distance).min(NEVER - 1);
                twins.advance(now, max);
            }
            Op::Step(distance, max) => {
                let now = at(distance).min(NEVER - 1);
                twins.step(now, max);
            }
            Op::Next => {
                let first = twins.expected.keys().next().map_or(NEVER, |key| key.0);
                assert_eq!(twins.wheel.next(), first);
            }
        }
    }
    twins.check_rest();
    twins.close();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn wheel_2_a_wheel_behaves_like_a_sorted_map(
        start in distance(),
        ops in prop::collection::vec(op(), 1..80),
    ) {
        run(start, ops);
    }

    #[test]
    fn wheel_10_a_wheel_behaves_like_a_sorted_map_between_turns(
        start in distance(),
        ops in prop::collection::vec(op_between_turns(), 1..160),
    ) {
        run(start, ops);
    }
}

#[test]
fn wheel_1_nothing_is_early_and_nothing_is_left_on_any_level() {
    for level in 0..11 {
        let mut twins = Twins::new(3, 3);
        let tick = 1u64 << (6 * level);
        twins.insert(0, 3 + tick);
        twins.insert(1, 3 + tick + 1);
        twins.insert(2, 3 + tick / 2);
        twins.advance(2 + tick, 8);
        assert_eq!(twins.entries[0].state(), Waiting::Yes);
        twins.advance(3 + tick, 8);
        assert_eq!(twins.entries[0].state(), Waiting::Fired);
        twins.advance(4 + tick, 8);
        twins.close();
    }
}

#[test]
fn wheel_3_timers_of_one_tick_keep_their_order_through_the_levels() {
    let mut twins = Twins::new(9, 0);
    for timer in 0..9 {
        twins.insert(timer, 5_000);
        twins.advance(u64::try_from(timer).unwrap() * 600, 2);
    }
    twins.advance(5_000, 2);
    twins.close();
}

#[test]
fn wheel_5_an_idle_wheel_follows_the_clock_and_an_overdue_timer_is_due_at_once() {
    let mut twins = Twins::new(2, 0);
    twins.now = 1_000_000;
    twins.insert(0, 999_000);
    twins.insert(1, 1_000_001);
    twins.advance(1_000_000, 8);
    assert_eq!(twins.entries[0].state(), Waiting::Fired);
    assert_eq!(twins.wheel.earliest(), 1_000_001);
    twins.advance(1_000_001, 8);
    twins.close();
}

/// Timers that are due at one tick, in an open wheel.
fn crowd(count: usize, tick: u64) -> (&'static Wheel, Vec<Entry>) {
    let wheel = Wheel::open(0, Arc::new(Told::default()));
    let mut crowd: Vec<_> = (0..count).map(|_| Entry::new()).collect();
    for entry in pinned(&mut crowd) {
        wheel.insert(entry, tick, 0, Waker::noop().clone()).unwrap();
    }
    (wheel, crowd)
}

/// Pins the entries. They stay where they are: no caller moves a vector's contents before the
/// vector is dropped.
fn pinned(crowd: &mut [Entry]) -> impl Iterator<Item = Pin<&mut Entry>> {
    // SAFETY: the entries stay where they are, as the documentation says.
    crowd.iter_mut().map(|entry| unsafe { Pin::new_unchecked(entry) })
}

const MANY: usize = if cfg!(miri) { 1_000 } else { 1_000_000 };

fn end(wheel: &'static Wheel) {
    wheel.close(&mut VecDeque::new());
    wheel.give_back();
}

#[test]
fn wheel_12_no_turn_touches_more_than_its_share_of_a_million_timers() {
    const TICK: u64 = 64 + 5;
    let (wheel, crowd) = crowd(MANY, TICK);
    let mut others: Vec<_> = (0..MANY / TIMERS_AT_ONCE).map(|_| Entry::new()).collect();
    let mut others = pinned(&mut others);
    let mut fired = VecDeque::new();
    let (mut turns, mut inserted) = (0, 0);
    while wheel.expire(TICK, TIMERS_AT_ONCE, &mut fired) {
        turns += 1;
        // Threads that insert get the lock between two turns.
        if let Some(other) = others.next() {
            wheel.insert(other, TICK, TICK, Waker::noop().clone()).unwrap();
            inserted += 1;
        }
    }
    assert_eq!(fired.len(), MANY + inserted);
    assert!(crowd.iter().all(|entry| entry.state() == Waiting::Fired));
    // Each timer was moved once, from level 1 to level 0, and fired once.
    let share = (2 * MANY).div_ceil(TIMERS_AT_ONCE);
    assert!(turns + 1 >= share, "{turns} turns, but the work takes {share}");
    end(wheel);
}

#[test]
fn wheel_12_the_search_for_the_next_tick_goes_on_beside_others() {
    const MAX: usize = 8;
    let mut twins = Twins::new(1_000, 0);
    for timer in 0..999 {
        twins.insert(timer, 100_000 + timer as u64);
    }
    // Timer 0 had the earliest tick, and the slot still remembers that tick.
    twins.cancel(0);
    let mut turns = 0;
    let next = || twins.wheel.lock().levels.next(MAX).ok();
    while next().is_none() {
        turns += 1;
        match turns {
            // Cancels the entry at which the search will continue.
            1 => twins.entries[1 + MAX].as_mut().cancel(),
            2 => assert!(twins.entries[2].as_mut().reset(100_900)),
            3 => twins.entries[1].as_mut().cancel(),
            _ => (),
        }
    }
    assert!(turns >= 998 / MAX, "{turns} turns for 998 entries");
    // The search does not notice if an entry that it has seen leaves or moves. So its result may be
    // earlier than the first entry, but never later.
    let first = twins.wheel.lock().levels.first().unwrap();
    assert!((100_001..=100_003).contains(&first));
    assert_eq!(twins.wheel.next(), 100_003, "the next search is exact");
    end(twins.wheel);
}

#[test]
fn wheel_11_a_search_outlives_every_entry_of_its_slot() {
    for from_the_end in [false, true] {
        let mut twins = Twins::new(20, 0);
        (0..20).for_each(|timer| twins.insert(timer, 5_000));
        assert!(twins.wheel.lock().levels.next(5).is_err());
        for timer in 0..20 {
            twins.cancel(if from_the_end { 19 - timer } else { timer });
        }
        assert_eq!(twins.wheel.next(), NEVER);
        twins.insert(3, 6_000);
        assert!(twins.wheel.lock().levels.next(0).is_err());
        twins.step(6_000, 1);
        assert_eq!(twins.wheel.next(), 6_000);
        twins.advance(6_000, 1);
        twins.close();
    }
}

#[test]
fn wheel_12_a_wheel_is_closed_in_turns() {
    let (wheel, mut crowd) = crowd(1_000, 5_000);
    let mut woken = VecDeque::new();
    assert!(wheel.lock().levels.close(8, &mut woken));
    assert_eq!(woken.len(), 8);
    // Timers that still wait may leave between two turns, or be moved.
    let mut waiting = pinned(&mut crowd).filter(|entry| entry.state() == Waiting::Yes);
    waiting.next().unwrap().cancel();
    assert!(waiting.next().unwrap().reset(7));
    drop(waiting);
    wheel.close(&mut woken);
    assert_eq!((woken.len(), wheel.earliest()), (999, NEVER));
    wheel.give_back();
}

/// A million timers of one tick. Half of them leave, then half of the rest, and so on, while the
/// driver works on them.
#[test]
fn wheel_10_half_after_half_leaves_a_slot_that_is_being_cleared() {
    const TICK: u64 = 64 * 64 + 77;
    let (wheel, mut crowd) = crowd(MANY, TICK);
    let mut fired = VecDeque::new();
    let mut cancelled = 0;
    for round in 0..8 {
        for entry in pinned(&mut crowd).skip((1 << round) - 1).step_by(2 << round) {
            if entry.state() == Waiting::Yes {
                entry.cancel();
                cancelled += 1;
            }
        }
        for _ in 0..10 {
            assert!(wheel.expire(TICK, TIMERS_AT_ONCE, &mut fired) || cfg!(miri));
        }
        assert!(wheel.earliest() <= TICK || cfg!(miri));
    }
    while wheel.expire(TICK, TIMERS_AT_ONCE, &mut fired) {}
    assert_eq!(fired.len() + cancelled, MANY, "each timer was fired, or cancelled");
    assert!(crowd.iter().all(|entry| entry.state() != Waiting::Yes));
    assert_eq!(wheel.next(), NEVER);
    end(wheel);
}

#[test]
fn wheel_1_the_last_ticks_have_a_place_and_a_timer_at_never_is_not_fired() {
    let mut twins = Twins::new(4, 0);
    // The top level has 16 slots only; the last of them ends with the last tick.
    for (timer, tick) in [NEVER - 1, NEVER, 1 << 63, NEVER - 64].into_iter().enumerate() {
        twins.insert(timer, tick);
    }
    for now in [(1 << 63) - 1, 1 << 63, NEVER - 65, NEVER - 64, NEVER - 2, NEVER - 1, NEVER - 1] {
        twins.step(now, 1);
        twins.advance(now, 1);
    }
    assert_eq!(twins.entries[1].state(), Waiting::Yes, "a timer at NEVER does not fire");
    // This timer is as overdue as possible.
    twins.insert(0, 0);
    twins.advance(NEVER - 1, 1);
    twins.close();
}

#[test]
fn wheel_7_the_newest_waker_is_called_and_none_after_a_cancellation() {
    let wheel = Wheel::open(0, Arc::new(Told::default()));
    let woken = Arc::new(Mutex::new(Vec::new()));
    let named = |number| Waker::from(Arc::new(Named(number, woken.clone())));
    let (mut a, mut b) = (pin!(Entry::new()), pin!(Entry::new()));
    wheel.insert(a.as_mut(), 10, 0, named(1)).unwrap();
    wheel.insert(b.as_mut(), 10, 0, named(2)).unwrap();
    assert_eq!(a.as_mut().poll(&named(3)), Waiting::Yes);
    b.as_mut().cancel();
    let mut wakers = VecDeque::new();
    assert!(!wheel.expire(10, 8, &mut wakers));
    wakers.drain(..).for_each(Waker::wake);
    assert_eq!(*woken.lock().unwrap(), [3]);
    assert_eq!(b.state(), Waiting::No);
    wheel.close(&mut wakers);
    wheel.give_back();
    assert!(wakers.is_empty());
}

#[test]
fn wheel_8_on_earlier_is_called_for_each_earlier_tick_and_no_other() {
    let told = Arc::new(Told::default());
    let wheel = Wheel::open(0, told.clone());
    let mut entries: Vec<_> = (0..4).map(|_| Box::pin(Entry::new())).collect();
    for (entry, tick) in entries.iter_mut().zip([50, 60, 40, 40]) {
        wheel.insert(entry.as_mut(), tick, 0, Waker::noop().clone()).unwrap();
    }
    assert_eq!((told.0.load(Relaxed), told.1.load(Relaxed)), (40, 2));
    assert!(entries[1].as_mut().reset(30));
    assert_eq!((told.0.load(Relaxed), told.1.load(Relaxed)), (30, 3));
    wheel.close(&mut VecDeque::new());
    wheel.give_back();
    assert_eq!(Arc::strong_count(&told), 1, "a closed wheel drops its OnEarlier");
}

#[test]
fn wheel_9_a_closed_wheel_refuses_and_its_entries_may_outlive_it() {
    let wheel = Wheel::open(0, Arc::new(Told::default()));
    let mut kept = Box::pin(Entry::new());
    wheel.insert(kept.as_mut(), 10, 0, Waker::noop().clone()).unwrap();
    let mut wakers = VecDeque::new();
    wheel.close(&mut wakers);
    wheel.give_back();
    assert_eq!((wakers.len(), kept.state()), (1, Waiting::Closed));
    assert!(!kept.as_mut().reset(20));
    assert_eq!(kept.state(), Waiting::No);
    let alone: &'static Wheel = Box::leak(Box::new(Wheel::new()));
    assert_eq!(alone.insert(kept.as_mut(), 1, 0, Waker::noop().clone()), Err(Closed));
    alone.give_back();
}

/// A waker that remembers what the driver's clock was when the driver called it; zero until then.
struct WokenAt {
    clock: Arc<AtomicU64>,
    at: AtomicU64,
}

impl Wake for WokenAt {
    fn wake(self: Arc<Self>) {
        self.at.store(self.clock.load(Relaxed), Relaxed);
    }
}

/// Owners insert, reset, poll and drop while another thread drives: each awaited timer is fired,
/// and not before it is due.
#[test]
fn wheel_2_no_timer_is_lost_beside_a_driver() {
    const ROUNDS: u64 = 20_000;
    let wheel = Wheel::open(0, Arc::new(Told::default()));
    let now = Arc::new(AtomicU64::new(0));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut wakers = VecDeque::new();
            while !done.load(Relaxed) {
                let tick = now.fetch_add(1, Relaxed);
                while wheel.expire(tick, 4, &mut wakers) {}
                wakers.drain(..).for_each(Waker::wake);
            }
        });
        let owners: Vec<_> = (0..3)
            .map(|owner| {
                let now = &now;
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let woken = Arc::new(WokenAt { clock: now.clone(), at: AtomicU64::new(0) });
                        let waker = Waker::from(woken.clone());
                        let mut entry = pin!(Entry::new());
                        let tick = now.load(Relaxed);
                        let mut due = tick + round % 100;
                        wheel.insert(entry.as_mut(), due, tick, waker).unwrap();
                        match (round + owner) % 4 {
                            0 => entry.as_mut().cancel(),
                            1 => {
                                due = tick + 3;
                                entry.as_mut().reset(due);
                            }
                            2 => drop(entry.as_mut().poll(&Waker::from(woken.clone()))),
                            _ => (),
                        }
                        while round % 64 == 0 && entry.state() == Waiting::Yes {
                            std::thread::yield_now();
                        }
                        if entry.state() == Waiting::Fired && round % 64 == 0 {
                            while woken.at.load(Relaxed) == 0 {
                                std::thread::yield_now();
                            }
                            // The driver's clock is one ahead of the tick that it has expired.
                            let fired = woken.at.load(Relaxed) - 1;
                            assert!(fired >= due, "fired at {fired}, due at {due}");
                        }
                    }
                })
            })
            .collect();
        // An owner that fails must not leave the driver running.
        let ended: Vec<_> = owners.into_iter().map(|owner| owner.join()).collect();
        done.store(true, Relaxed);
        ended.into_iter().for_each(|owner| owner.unwrap());
    });
    let mut wakers = VecDeque::new();
    wheel.close(&mut wakers);
    wheel.give_back();
    assert!(wakers.is_empty(), "every owner has removed its timers");
}

#[test]
fn timers_that_wait_are_shown_with_their_ticks() {
    const NOW: u64 = 1_000;
    let wheel = Wheel::open(NOW, Arc::new(Told::default()));
    let ticks = [1_001, 1_001, 1_063, 2_000, 1 << 20, 1 << 40];
    let wakers: Vec<_> =
        ticks.iter().map(|_| Waker::from(Arc::new(Named(0, Arc::default())))).collect();
    let mut entries: Vec<_> = ticks.iter().map(|_| Box::pin(Entry::new())).collect();
    for ((entry, &tick), waker) in entries.iter_mut().zip(&ticks).zip(&wakers) {
        wheel.insert(entry.as_mut(), tick, NOW, waker.clone()).unwrap();
    }
    let shown = || {
        let mut shown = Vec::new();
        wheel.for_each_waiting(&mut |waker, tick| {
            let timer = wakers.iter().position(|known| known.will_wake(waker)).unwrap();
            shown.push((tick, timer));
        });
        shown.sort_unstable();
        shown
    };
    let expected: Vec<_> = ticks.iter().enumerate().map(|(timer, &tick)| (tick, timer)).collect();
    assert_eq!(shown(), expected);
    entries[0].as_mut().cancel();
    let mut fired = VecDeque::new();
    while wheel.expire(1_063, 1, &mut fired) {}
    assert_eq!(fired.len(), 2);
    assert_eq!(shown(), expected[3..]);
    entries.clear();
    assert_eq!(shown(), []);
    wheel.close(&mut fired);
    wheel.give_back();
}
