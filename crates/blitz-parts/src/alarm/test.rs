//! The alarm on one thread.

use super::{Alarm, Earliest, NEVER, covered};
use proptest::prelude::*;

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
fn alarm_2_later_timers_need_no_wake_up() {
    let earliest = Earliest::new();
    assert!(earliest.lower(10));
    assert!(!earliest.lower(10) && !earliest.lower(11));
    assert_eq!(earliest.get(), 10);
}

#[test]
fn alarm_3_a_blocked_driver_is_woken_once_per_tick() {
    let alarm = Alarm::new();
    assert!(!alarm.is_early(1), "the driver does not block");
    assert_eq!(alarm.set(|| 100), 100);
    assert!(!alarm.is_early(100));
    assert!(alarm.is_early(50) && !alarm.is_early(50) && !alarm.is_early(60));
    assert!(alarm.is_early(40));
    alarm.clear();
    assert!(!alarm.is_early(1));
}

/// Yields triples of ticks: `first`, `swept`, `slack`. They are of any size, or near each other.
fn ticks() -> impl Strategy<Value = (u64, u64, u64)> {
    let far = (any::<u64>(), any::<u64>(), any::<u64>());
    let near = (0..200u64, 0..200u64, 0..100u64);
    prop_oneof![near, far]
}

proptest! {
    #[test]
    fn alarm_4_a_timer_is_late_by_the_slack_at_most_and_a_lone_timer_is_not_late((first, swept, slack) in ticks()) {
        let until = covered(first, swept, slack);
        prop_assert!(until <= first.max(1), "a timer at {first} would have to wake the driver");
        let end = until.saturating_add(slack);
        prop_assert!(end >= first, "the driver would wake for nothing");
        if swept.saturating_add(slack) <= first && slack < first {
            prop_assert_eq!(end, first);
        }
    }

    #[test]
    fn alarm_5_the_driver_lets_the_slack_pass_after_it_has_fired_timers((first, swept, slack) in ticks()) {
        let end = covered(first, swept, slack).saturating_add(slack);
        prop_assert!(first <= swept || end >= swept.saturating_add(slack));
    }
}

#[test]
fn alarm_4_never_stays_never_and_zero_is_announced_as_one() {
    assert_eq!(covered(NEVER, 5, 50), NEVER);
    assert_eq!(covered(0, 0, 0), 1, "zero means that the driver does not block");
    assert_eq!(covered(NEVER - 1, 0, 0), NEVER - 1);
    assert_eq!(covered(7, 90, u64::MAX), 7, "a timer that is overdue");
}
