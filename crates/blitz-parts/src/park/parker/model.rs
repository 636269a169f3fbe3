//! Every interleaving of a thread that parks and its wakers.

use super::Parker;
use crate::prim::{AtomicBool, Relaxed, Step, canary, check, thread};
use std::sync::Arc;

/// A waiter that goes on only when it sees a flag, and a waker that sets the flag.
fn one_wakes() {
    let parker = Arc::new(Parker::new());
    let flag = Arc::new(AtomicBool::new(false));
    let waker = thread::spawn({
        let (parker, flag) = (parker.clone(), flag.clone());
        move || {
            flag.store(true, Relaxed);
            parker.unpark();
        }
    });
    parker.park();
    assert!(flag.load(Relaxed), "the waiter does not see what its waker did");
    waker.join().unwrap();
}

/// Two wakers, each with its own flag. The waiter looks again after each return, as a thread that
/// polls a future does.
fn two_wake() {
    let parker = Arc::new(Parker::new());
    let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
    let wakers: Vec<_> = (0..2)
        .map(|i| {
            let (parker, flags) = (parker.clone(), flags.clone());
            thread::spawn(move || {
                flags[i].store(true, Relaxed);
                parker.unpark();
            })
        })
        .collect();
    while !flags.iter().all(|flag| flag.load(Relaxed)) {
        parker.park();
    }
    for waker in wakers {
        waker.join().unwrap();
    }
}

#[test]
fn park_1_a_wake_up_is_not_missed() {
    check(5, None, one_wakes);
}

#[test]
fn park_2_writes_before_either_of_two_unparks_are_seen() {
    check(100, Some(3), two_wake);
}

#[test]
fn canary_the_waiter_leaves_with_a_store() {
    canary(&[Step::ParkLeaveSwap], Some(3), two_wake);
}

#[test]
fn canary_the_waker_does_not_wake() {
    canary(&[Step::ParkWake], None, one_wakes);
}
