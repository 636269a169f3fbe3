//! Parking, on real threads.

use super::Parker;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[test]
fn park_1_an_unpark_in_advance_counts_once() {
    let parker = Parker::new();
    parker.unpark();
    parker.unpark();
    parker.park();
    assert_eq!(parker.word.load(Relaxed), super::UNPARKED);
}

#[test]
fn park_3_two_threads_take_turns() {
    const TURNS: usize = 2_000;
    let (a, b) = (Arc::new(Parker::new()), Arc::new(Parker::new()));
    let turns = Arc::new(AtomicUsize::new(0));
    let other = std::thread::spawn({
        let (a, b, turns) = (a.clone(), b.clone(), turns.clone());
        move || {
            for turn in 0..TURNS {
                a.park();
                // Neither thread returns from `park` out of turn, and each sees what the other did.
                assert_eq!(turns.load(Relaxed), 2 * turn + 1);
                turns.store(2 * turn + 2, Relaxed);
                b.unpark();
            }
        }
    });
    for turn in 0..TURNS {
        turns.store(2 * turn + 1, Relaxed);
        a.unpark();
        b.park();
        assert_eq!(turns.load(Relaxed), 2 * turn + 2);
    }
    other.join().unwrap();
}
