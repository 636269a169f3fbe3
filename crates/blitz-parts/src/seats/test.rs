//! The invariants of seats, on one thread.

use super::{LongTasks, Noted, Seat, Seats};

#[test]
fn seats_1_a_worker_that_is_back_makes_a_spare_leave() {
    let (seats, seat) = (Seats::new(), Seat::new());
    assert!(!seats.try_fill() && !seats.try_leave());
    assert!(seat.lose(&seats) && seat.is_lost());
    assert_eq!(seats.free(), 1);
    assert!(seats.try_fill() && !seats.try_leave());
    assert_eq!(seat.attend(&seats), Noted { lost: true, long: false, slice: false });
    assert!(seats.has_too_many() && seats.try_leave());
    assert_eq!(seats.free(), 0);
}

#[test]
fn seats_1_a_worker_that_is_back_before_the_spare_needs_none() {
    let (seats, seat) = (Seats::new(), Seat::new());
    assert!(seat.lose(&seats));
    assert!(seat.attend(&seats).lost);
    assert!(!seats.try_fill() && !seats.try_leave());
}

#[test]
fn seats_2_one_seat_is_for_one_spare() {
    let seats = Seats::new();
    seats.vacate();
    assert!(seats.try_fill() && !seats.try_fill());
}

#[test]
fn seats_3_if_one_thread_is_too_many_one_leaves() {
    let seats = Seats::new();
    seats.take_back();
    assert!(seats.try_leave() && !seats.try_leave());
}

#[test]
fn seats_4_a_seat_is_lost_once_until_the_worker_is_back() {
    let (seats, seat) = (Seats::new(), Seat::new());
    assert!(seat.lose(&seats) && !seat.lose(&seats));
    seat.note_long();
    assert!(seat.is_noted() && seat.is_long());
    assert_eq!(seat.attend(&seats), Noted { lost: true, long: true, slice: false });
    assert_eq!(seat.attend(&seats), Noted { lost: false, long: false, slice: false });
    assert!(!seat.is_noted() && seats.free() == 0);
}

#[test]
fn seats_5_a_worker_learns_once_of_each_change_of_its_slice() {
    let (seats, seat) = (Seats::new(), Seat::new());
    for _ in 0..2 {
        seat.note_slice();
        assert!(seat.is_noted() && seat.has_slice() && !seat.is_long());
        assert_eq!(seat.attend(&seats), Noted { lost: false, long: false, slice: true });
        assert!(!seat.has_slice() && !seat.attend(&seats).slice);
    }
    assert_eq!(seats.free(), 0);
}

#[test]
fn seats_4_a_worker_that_waited_for_a_processor_has_run_nothing_long() {
    let (seats, seat) = (Seats::new(), Seat::new());
    seat.note_stuck();
    assert!(seat.is_noted() && !seat.is_long());
    assert_eq!(seat.attend(&seats), Noted { lost: false, long: false, slice: false });
    assert!(!seat.is_noted());
}

#[test]
fn long_tasks_are_remembered_until_a_poll_is_short() {
    let long = LongTasks::new();
    long.remember(64);
    long.remember(64);
    long.forget(128);
    assert!(long.contains(64) && !long.contains(128));
    long.remember(64);
    assert!(long.contains(64));
    long.forget(64);
    assert!(!long.contains(64));
}

#[test]
fn one_long_poll_may_be_an_accident() {
    let long = LongTasks::new();
    for _ in 0..10 {
        long.remember(64);
        assert!(!long.contains(64));
        long.forget(64);
    }
}

#[test]
fn first_polls_are_remembered_if_the_relief_worker_does_not_return() {
    let long = LongTasks::new();
    let poll_long = |key| {
        long.set_tried(key);
        long.remember_tried();
        long.end_tried(key)
    };
    assert!(!poll_long(None) && !poll_long(None));
    assert!(poll_long(Some(64)) && !long.contains(64));
    assert!(poll_long(Some(64)) && long.contains(64));
    long.forget(64);
    long.set_tried(Some(64));
    assert!(!long.end_tried(Some(64)));
    (0..2).for_each(|_| long.remember_tried());
    assert!(!long.contains(64), "the poll has ended");
}

#[test]
fn a_first_poll_counts_once() {
    let long = LongTasks::new();
    for _ in 0..10 {
        long.set_tried(Some(64));
        // The watch sees the worker stuck in this poll, and sees it again.
        (0..2).for_each(|_| long.remember_tried());
        // Then the worker finds that the poll took long.
        if !long.end_tried(Some(64)) {
            long.remember(64);
        }
        assert!(!long.contains(64), "this may have been an accident");
        long.forget(64);
    }
}
