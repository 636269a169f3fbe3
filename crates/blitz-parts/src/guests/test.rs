//! The list of guests on one thread.

use super::{Guest, Guests, Injected};

const JOBS: Guest = Guest { worker: 1, tasks: false };
const TASKS: Guest = Guest { worker: 2, tasks: true };

fn told(tell: impl FnOnce(&mut dyn FnMut(usize))) -> Vec<usize> {
    let mut told = Vec::new();
    tell(&mut |worker| told.push(worker));
    told
}

#[test]
fn guests_1_each_guest_is_notified_of_a_job() {
    let guests = Guests::default();
    guests.add(JOBS);
    guests.add(TASKS);
    assert_eq!(told(|notify| guests.notify_of_job(notify)), [1, 2]);
    guests.remove(JOBS);
    assert_eq!(told(|notify| guests.notify_of_job(notify)), [2]);
}

#[test]
fn guests_1_a_worker_in_two_waits_is_notified_until_both_are_over() {
    let guests = Guests::new();
    guests.add(JOBS);
    guests.add(JOBS);
    guests.remove(JOBS);
    assert_eq!(told(|notify| guests.notify_of_job(notify)), [1]);
}

#[test]
fn guests_2_only_guests_for_tasks_are_notified_of_a_task() {
    let guests = Guests::new();
    guests.add(JOBS);
    assert!(told(|notify| guests.notify_of_task(notify)).is_empty());
    guests.add(TASKS);
    assert_eq!(told(|notify| guests.notify_of_task(notify)), [2]);
    guests.remove(TASKS);
    assert!(told(|notify| guests.notify_of_task(notify)).is_empty());
}

#[test]
fn guests_3_the_flag_stays_set() {
    let injected = Injected::new(false);
    assert!(!injected.get() && Injected::new(true).get());
    injected.set();
    assert!(injected.get());
}

#[test]
fn guests_4_without_guests_no_lock_is_taken() {
    let guests = Guests::new();
    let locked = guests.lock();
    guests.notify_of_job(|_| unreachable!("there is no guest"));
    guests.notify_of_task(|_| unreachable!("there is no guest"));
    drop(locked);
}
