//! The pair of fences on the real machine.

use super::{available, heavy, light};
use crate::prim::{Acquire, AtomicUsize, Relaxed, Release};
use std::sync::Barrier;

#[test]
fn barrier_1_neither_side_misses_the_other_on_this_machine() {
    if !available() {
        // BARRIER-2: nobody relies on the pair here.
        return;
    }
    const ROUNDS: usize = 20_000;
    // One pair of words per round; `turn` starts both sides of a round as closely as a spin can.
    let words: Vec<[AtomicUsize; 2]> = (0..ROUNDS).map(|_| Default::default()).collect();
    let turn = AtomicUsize::new(0);
    let meet = Barrier::new(2);
    let seen_by_frequent = std::thread::scope(|scope| {
        let frequent = scope.spawn(|| {
            meet.wait();
            let mut seen = Vec::with_capacity(ROUNDS);
            for (round, [mine, theirs]) in words.iter().enumerate() {
                let mut spins = 0u32;
                while turn.load(Acquire) < round {
                    spins += 1;
                    if spins % 1_000 == 0 {
                        std::thread::yield_now();
                    }
                }
                mine.store(1, Relaxed);
                light();
                seen.push(theirs.load(Relaxed));
            }
            seen
        });
        meet.wait();
        let seen_by_rare: Vec<_> = words
            .iter()
            .enumerate()
            .map(|(round, [theirs, mine])| {
                turn.store(round, Release);
                mine.store(1, Relaxed);
                heavy();
                theirs.load(Relaxed)
            })
            .collect();
        let seen_by_frequent = frequent.join().unwrap();
        for round in 0..ROUNDS {
            assert!(seen_by_rare[round] + seen_by_frequent[round] > 0, "round {round}");
        }
        seen_by_frequent
    });
    assert_eq!(seen_by_frequent.len(), ROUNDS);
}

#[test]
fn barrier_2_available_is_decided_once() {
    let here = available();
    let there = std::thread::spawn(available).join().unwrap();
    assert_eq!(here, there);
    // Callable in either case; where the pair is not available it is an ordinary fence.
    light();
    heavy();
    assert_eq!(available(), here);
}
