//! The alarm on one thread.

use super::{Alarm, Earliest, NEVER};

#[test]
fn alarm_1_the_driver_sleeps_until_the_earliest_of_all() {
    let alarm = Alarm::default();
    let wheels = [Earliest::default(), Earliest::default()];
    let least = || wheels.iter().map(Earliest::get).min().unwrap();
    assert_eq!(alarm.set(least), NEVER);
    alarm.clear();
    assert!(wheels[0].lower(30) && wheels[1].lower(20));
    assert_eq!(alarm.set(least), 20);
    wheels[1].set(NEVER);
    assert_eq!(alarm.set(least), 30);
}

#[test]
fn alarm_2_later_timers_are_nothing_to_tell() {
    let earliest = Earliest::new();
    assert!(earliest.lower(10));
    assert!(!earliest.lower(10) && !earliest.lower(11));
    assert_eq!(earliest.get(), 10);
}

#[test]
fn alarm_3_who_lowers_a_blocked_drivers_tick_wakes_it_once() {
    let alarm = Alarm::new();
    assert!(!alarm.is_early(1), "it does not block");
    assert_eq!(alarm.set(|| 100), 100);
    assert!(!alarm.is_early(100));
    assert!(alarm.is_early(50) && !alarm.is_early(50) && !alarm.is_early(60));
    assert!(alarm.is_early(40));
    alarm.clear();
    assert!(!alarm.is_early(1));
}
