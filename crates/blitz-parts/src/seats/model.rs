//! Seats under the model checker.

use super::{Seat, Seats};
use crate::prim::{Step, canary, check, thread};
use std::sync::Arc;

/// A watch gives a blocked worker's seat away, twice, while the worker returns in between.
fn back_and_forth() {
    let pool = Arc::new((Seats::new(), Seat::new()));
    let watch = thread::spawn({
        let pool = pool.clone();
        move || (0..2).filter(|_| pool.1.lose(&pool.0) && pool.0.try_fill()).count()
    });
    let back = usize::from(pool.1.attend(&pool.0).lost);
    let spares = watch.join().unwrap();
    let back = back + usize::from(pool.1.attend(&pool.0).lost);
    let left = (0..spares).filter(|_| pool.0.try_leave()).count();
    assert!(back <= 2 && left <= back);
    // SEATS-1: the worker is back, and no surplus spare is left.
    assert_eq!(pool.0.free(), 0, "{spares} came, {left} left, back {back} times");
    assert_eq!(left, spares);
}

/// Two threads compete three times, and one of them succeeds each time: first, both find the worker
/// blocked, then both want to fill its seat, and at last both want to leave.
fn two_at_once() {
    let pool = Arc::new((Seats::new(), Seat::new()));
    let both = |pool: &Arc<(Seats, Seat)>, f: fn(&(Seats, Seat)) -> bool| {
        let other = thread::spawn({
            let pool = pool.clone();
            move || f(&pool)
        });
        usize::from(f(pool)) + usize::from(other.join().unwrap())
    };
    assert_eq!(both(&pool, |(seats, seat)| seat.lose(seats)), 1, "SEATS-4");
    assert_eq!(both(&pool, |(seats, _)| seats.try_fill()), 1, "SEATS-2");
    assert!(pool.1.attend(&pool.0).lost);
    assert_eq!(both(&pool, |(seats, _)| seats.try_leave()), 1, "SEATS-3");
    assert_eq!(pool.0.free(), 0, "SEATS-1");
}

#[test]
fn seats_come_back() {
    check(10, None, back_and_forth);
}

#[test]
fn one_of_two_threads_succeeds() {
    check(10, None, two_at_once);
}

#[test]
fn canary_attend_exchange() {
    canary(&[Step::SeatsAttendExchange], None, back_and_forth);
}

#[test]
fn canary_lose_once() {
    canary(&[Step::SeatsLoseOnce], None, two_at_once);
}

#[test]
fn canary_fill_once() {
    canary(&[Step::SeatsFillOnce], None, two_at_once);
}

#[test]
fn canary_leave_once() {
    canary(&[Step::SeatsLeaveOnce], None, two_at_once);
}
