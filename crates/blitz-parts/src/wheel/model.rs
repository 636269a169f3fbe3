//! The driver against the owner of a timer.

use super::{Entry, OnEarlier, Waiting, Wheel};
use crate::prim::{AtomicUsize, Relaxed, Step, canary, check, thread};
use core::pin::Pin;
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Wake, Waker};

/// Counts its calls. Each model reads the count after it has joined the driver's thread, so the
/// count needs no ordering.
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

struct Nobody;

impl OnEarlier for Nobody {
    fn is_earlier(&self, _: u64) {}
}

/// Opens a new wheel and leaks it. `Wheel::open` could reuse a wheel of another execution.
fn wheel() -> &'static Wheel {
    let wheel: &'static Wheel = Box::leak(Box::new(Wheel::new()));
    wheel.begin(0, Arc::new(Nobody));
    wheel
}

fn counter() -> (Arc<Count>, Waker) {
    let count = Arc::new(Count(AtomicUsize::new(0)));
    (count.clone(), Waker::from(count))
}

/// The holder of the driver's lease fires the timers that are due at `now`, or closes the wheel.
fn drive(wheel: &'static Wheel, now: u64, close: bool) {
    let mut wakers = VecDeque::new();
    if close {
        wheel.close(&mut wakers);
    } else {
        while wheel.expire(now, 1, &mut wakers) {}
    }
    wakers.into_iter().for_each(Waker::wake);
}

/// An action of a timer's owner while the driver works.
type Act = fn(Pin<&mut Entry>, &Waker);

/// Two timers are in one slot. Their owner acts on one of them and drops both, while the driver
/// fires them or closes the wheel.
fn owner_against_driver(act: Act, close: bool) {
    let wheel = wheel();
    let (count, waker) = counter();
    let mut near = Box::pin(Entry::new());
    let mut far = Box::pin(Entry::new());
    wheel.insert(near.as_mut(), 70, 0, waker.clone()).unwrap();
    wheel.insert(far.as_mut(), 70, 0, waker.clone()).unwrap();
    let driver = thread::spawn(move || drive(wheel, 70, close));
    act(far.as_mut(), &waker);
    drop(near);
    drop(far);
    driver.join().unwrap();
    assert!(count.0.load(Relaxed) <= 2, "each timer wakes at most once");
}

fn drops(entry: Pin<&mut Entry>, _: &Waker) {
    entry.cancel();
}

/// Polls with another waker. A timer that has fired stays fired.
fn polls(mut entry: Pin<&mut Entry>, _: &Waker) {
    let (_, waker) = counter();
    if entry.as_mut().poll(&waker) == Waiting::Fired {
        assert_eq!(entry.as_mut().poll(&waker), Waiting::Fired);
    }
}

fn resets(mut entry: Pin<&mut Entry>, _: &Waker) {
    if entry.as_mut().reset(90) {
        assert!(matches!(entry.state(), Waiting::Yes | Waiting::Closed));
    } else {
        assert_eq!(entry.state(), Waiting::No);
    }
}

/// A timer that is inserted while the driver checks is fired in that check or in the next, and
/// never lost.
fn insert_against_driver() {
    let wheel = wheel();
    let (count, waker) = counter();
    let driver = thread::spawn(move || drive(wheel, 5, false));
    let mut entry = Box::pin(Entry::new());
    wheel.insert(entry.as_mut(), 5, 0, waker).unwrap();
    driver.join().unwrap();
    drive(wheel, 5, false);
    assert_eq!(entry.state(), Waiting::Fired);
    assert_eq!(count.0.load(Relaxed), 1);
}

/// A timer is inserted while the driver moves the timers of its slot to a lower level, one at a
/// time. All timers are fired in the order of their ticks, and timers of one tick in the order in
/// which they were inserted.
fn insert_against_clearing() {
    let wheel = wheel();
    let (count, waker) = counter();
    let [mut late, mut soon, mut new] = [(); 3].map(|()| Box::pin(Entry::new()));
    wheel.insert(late.as_mut(), 75, 0, waker.clone()).unwrap();
    wheel.insert(soon.as_mut(), 70, 0, waker.clone()).unwrap();
    let driver = thread::spawn(move || {
        let mut wakers = VecDeque::new();
        // Moves the two older timers, and fires none.
        for _ in 0..2 {
            wheel.expire(80, 1, &mut wakers);
        }
        wakers
    });
    wheel.insert(new.as_mut(), 75, 0, waker).unwrap();
    let mut wakers = driver.join().unwrap();
    let mut order = Vec::new();
    for _ in 0..8 {
        wheel.expire(80, 1, &mut wakers);
        let fired = [&late, &soon, &new].map(|entry| entry.state() == Waiting::Fired);
        if order.last() != Some(&fired) {
            order.push(fired);
        }
    }
    order.retain(|fired| fired.contains(&true));
    let [t, f] = [true, false];
    assert_eq!(order, [[f, t, f], [t, t, f], [t, t, t]]);
    wakers.into_iter().for_each(Waker::wake);
    assert_eq!(count.0.load(Relaxed), 3);
}

/// A timer is inserted while the driver closes the wheel: the wheel refuses the timer or wakes it.
fn insert_against_close() {
    let wheel = wheel();
    let (count, waker) = counter();
    let driver = thread::spawn(move || drive(wheel, 5, true));
    let mut entry = Box::pin(Entry::new());
    let inserted = wheel.insert(entry.as_mut(), 5, 0, waker).is_ok();
    driver.join().unwrap();
    assert_eq!(entry.state(), if inserted { Waiting::Closed } else { Waiting::No });
    assert_eq!(count.0.load(Relaxed), usize::from(inserted));
}

fn drop_against_fire() {
    owner_against_driver(drops, false);
}

fn poll_against_fire() {
    owner_against_driver(polls, false);
}

#[test]
fn wheel_4_slots_are_touched_under_the_lock_only() {
    check(80, None, drop_against_fire);
    check(80, None, || owner_against_driver(resets, false));
}

#[test]
fn wheel_6_a_fired_timer_belongs_to_its_owner() {
    check(80, Some(3), poll_against_fire);
    check(80, None, || owner_against_driver(drops, true));
}

#[test]
fn wheel_7_a_timer_wakes_once_beside_its_insertion() {
    check(5, None, insert_against_driver);
}

#[test]
fn wheel_10_a_half_cleared_slot_comes_first() {
    check(5, None, insert_against_clearing);
}

#[test]
fn canary_a_half_cleared_slot_comes_when_its_level_does() {
    canary(&[Step::WheelClearFirst], None, insert_against_clearing);
}

#[test]
fn wheel_9_a_closed_wheel_refuses_or_wakes() {
    check(5, None, insert_against_close);
}

#[test]
fn canary_the_lock_is_given_back_without_release() {
    canary(&[Step::WheelUnlockRelease], None, drop_against_fire);
}

#[test]
fn canary_a_timer_is_fired_without_release() {
    canary(&[Step::WheelFireRelease], None, poll_against_fire);
}

#[test]
fn canary_the_owner_does_not_look_again() {
    canary(&[Step::WheelLookAgain], None, drop_against_fire);
}
