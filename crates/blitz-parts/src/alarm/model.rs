//! Adders against the driver that goes to sleep.

use super::{Alarm, Earliest, covered};
use crate::prim::{Step, canary, check, thread};
use std::sync::Arc;

const LATE: u64 = 90;

/// One adder per wheel, while the driver decides until when to sleep. At the end the driver still
/// sleeps, unless `is_early` told an adder to wake it.
fn add_against_set(ticks: &'static [u64], swept: u64, slack: u64) {
    let alarm = Arc::new(Alarm::new());
    let wheels: Arc<Vec<Earliest>> = Arc::new(ticks.iter().map(|_| Earliest::new()).collect());
    assert!(wheels[0].lower(LATE));
    let adders: Vec<_> = ticks
        .iter()
        .enumerate()
        .map(|(wheel, &tick)| {
            let (alarm, wheels) = (alarm.clone(), wheels.clone());
            thread::spawn(move || wheels[wheel].lower(tick) && alarm.is_early(tick))
        })
        .collect();
    let least = || covered(wheels.iter().map(Earliest::get).min().unwrap(), swept, slack);
    let until = alarm.set(least);
    let woken = adders.into_iter().map(|adder| adder.join().unwrap());
    let woken = woken.filter(|woken| *woken).count();
    let earliest = ticks.iter().copied().min().unwrap();
    assert!(until <= earliest || woken > 0, "the driver sleeps until {until}, beyond {earliest}");
    assert!(ticks.len() < 2 || ticks[0] != ticks[1] || woken <= 1, "woken {woken} times");
}

/// The driver sleeps twice. Its second sleep does not miss a timer that was added since its first
/// sleep began.
fn add_against_second_set() {
    let alarm = Arc::new(Alarm::new());
    let wheel = Arc::new(Earliest::new());
    assert_eq!(alarm.set(|| wheel.get()), super::NEVER);
    let adder = thread::spawn({
        let (alarm, wheel) = (alarm.clone(), wheel.clone());
        move || wheel.lower(7) && alarm.is_early(7)
    });
    alarm.clear();
    let until = alarm.set(|| wheel.get());
    assert!(adder.join().unwrap() || until == 7);
}

fn one_adder() {
    add_against_set(&[7], 0, 0);
}

fn two_adders() {
    add_against_set(&[7, 5], 0, 0);
}

fn two_of_one_tick() {
    add_against_set(&[7, 7], 0, 0);
}

/// The driver has just fired timers, so it announces a tick before the first timer is due.
fn one_adder_with_slack() {
    add_against_set(&[7], 4, 20);
}

fn two_adders_with_slack() {
    add_against_set(&[7, 5], 4, 20);
}

#[test]
fn alarm_1_the_driver_does_not_oversleep() {
    check(5, None, one_adder);
    check(100, None, two_adders);
}

#[test]
fn alarm_1_the_driver_does_not_oversleep_its_second_sleep() {
    check(5, None, add_against_second_set);
}

#[test]
fn alarm_3_one_wake_up_is_enough_for_one_tick() {
    check(100, None, two_of_one_tick);
}

#[test]
fn alarm_4_with_slack_no_adder_is_missed() {
    check(5, None, one_adder_with_slack);
    check(100, None, two_adders_with_slack);
}

#[test]
fn canary_the_adder_has_no_fence() {
    canary(&[Step::AlarmAddFence], None, one_adder);
    canary(&[Step::AlarmAddFence], None, one_adder_with_slack);
}

#[test]
fn canary_the_driver_has_no_fence() {
    canary(&[Step::AlarmSetFence], None, one_adder);
    canary(&[Step::AlarmSetFence], None, one_adder_with_slack);
}

#[test]
fn canary_the_driver_does_not_look_again() {
    canary(&[Step::AlarmLookAgain], None, one_adder);
    canary(&[Step::AlarmLookAgain], None, one_adder_with_slack);
}
