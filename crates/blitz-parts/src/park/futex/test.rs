//! The contract, on the system's backend and on the generic one.

use super::{generic, pause, wait, wake_all, wake_one};
use crate::prim::{AcqRel, Acquire, AtomicU32, Release};
use std::sync::Arc;
use std::time::Duration;

type Wait = fn(&AtomicU32, u32);
type Wake = fn(&AtomicU32);
const BACKENDS: [(Wait, Wake); 2] = [(wait, wake_one), (generic::wait, generic::wake_one)];

#[test]
fn futex_1_a_change_followed_by_wake_is_never_missed() {
    for (wait, wake) in BACKENDS {
        let word = Arc::new(AtomicU32::new(0));
        let other = word.clone();
        // Two threads pass a token back and forth; a missed wake-up would stop them for ever.
        let turns = 20_000;
        let partner = std::thread::spawn(move || {
            for turn in 0..turns {
                while other.load(Acquire) != 2 * turn + 1 {
                    wait(&other, 2 * turn);
                }
                other.store(2 * turn + 2, Release);
                wake(&other);
            }
        });
        for turn in 0..turns {
            word.store(2 * turn + 1, Release);
            wake(&word);
            while word.load(Acquire) != 2 * turn + 2 {
                wait(&word, 2 * turn + 1);
            }
        }
        partner.join().unwrap();
        assert_eq!(word.load(Acquire), 2 * turns);
    }
}

#[test]
fn futex_2_every_waiter_is_woken_by_its_own_wake() {
    for (wait, wake) in BACKENDS {
        let word = Arc::new(AtomicU32::new(0));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let word = word.clone();
                std::thread::spawn(move || {
                    loop {
                        let left = word.load(Acquire);
                        if left > 0 {
                            if word.compare_exchange(left, left - 1, AcqRel, Acquire).is_ok() {
                                return;
                            }
                            continue;
                        }
                        wait(&word, 0);
                    }
                })
            })
            .collect();
        for _ in 0..4 {
            word.fetch_add(1, AcqRel);
            wake(&word);
        }
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(word.load(Acquire), 0);
    }
}

#[test]
fn futex_3_a_wait_for_another_value_returns_at_once() {
    for (wait, wake) in BACKENDS {
        let word = AtomicU32::new(7);
        wait(&word, 8);
        wake(&word);
        assert_eq!(word.load(Acquire), 7);
    }
}

type Pause = fn(&AtomicU32, u32, Duration);
const PAUSES: [(Pause, Wake); 2] = [(pause, wake_all), (generic::pause, generic::wake_all)];

#[test]
fn futex_4_a_pause_ends_although_no_thread_wakes_it() {
    for (pause, _) in PAUSES {
        pause(&AtomicU32::new(0), 0, Duration::from_millis(1));
        // The word has another value, so this pause would never end by its time.
        pause(&AtomicU32::new(1), 0, Duration::MAX);
    }
}

#[test]
fn futex_4_one_wake_ends_all_pauses() {
    for (pause, wake) in PAUSES {
        let word = Arc::new(AtomicU32::new(0));
        let threads = [(); 4].map(|()| {
            let word = word.clone();
            std::thread::spawn(move || {
                while word.load(Acquire) == 0 {
                    pause(&word, 0, Duration::from_secs(1_000_000));
                }
            })
        });
        word.store(1, Release);
        wake(&word);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}
