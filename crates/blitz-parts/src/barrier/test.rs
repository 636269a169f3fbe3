//! The pair of fences on the real machine.

use super::{Reliance, after_exchange, available, heavy, light};
use crate::prim::{AcqRel, Acquire, AtomicUsize, Relaxed, Release, SeqCst, fence};
use std::sync::Barrier;

const ROUNDS: usize = 20_000;

/// The rare and the frequent thread each write their own word, pass their fence, and read the
/// other's word. In no round do both miss the other.
fn assert_neither_misses_the_other(
    announce_frequent: impl Fn(&AtomicUsize) + Sync,
    announce_rare: impl Fn(&AtomicUsize),
) {
    // Each round has a pair of words. `turn` starts both sides of a round at nearly the same time.
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
                announce_frequent(mine);
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
                announce_rare(mine);
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
fn barrier_1_neither_side_misses_the_other_on_this_machine() {
    if !available() {
        // BARRIER-2: no thread relies on the pair here.
        return;
    }
    let frequent = |mine: &AtomicUsize| {
        mine.store(1, Relaxed);
        light();
    };
    let rare = |mine: &AtomicUsize| {
        mine.store(1, Relaxed);
        heavy();
    };
    assert_neither_misses_the_other(frequent, rare);
}

#[test]
fn barrier_3_neither_exchange_is_missed_on_this_machine() {
    let exchange = |mine: &AtomicUsize| {
        mine.swap(1, AcqRel);
        after_exchange();
    };
    assert_neither_misses_the_other(exchange, exchange);
    let store = |mine: &AtomicUsize| {
        mine.store(1, Relaxed);
        fence(SeqCst);
    };
    assert_neither_misses_the_other(exchange, store);
}

#[test]
fn barrier_2_available_is_decided_once() {
    let here = available();
    let there = std::thread::spawn(available).join().unwrap();
    assert_eq!(here, there);
    // `light` and `heavy` may be called even if the pair is not available. Then `heavy` is an
    // ordinary fence.
    light();
    heavy();
    assert_eq!(available(), here);
}

#[test]
fn barrier_5_a_refusal_is_announced_once() {
    let told = AtomicUsize::new(0);
    let tell = || {
        told.fetch_add(1, Relaxed);
    };
    let reliance = Reliance::new(true);
    reliance.notice(|| true, || unreachable!("the pair is available"));
    assert!(reliance.is_on());
    reliance.notice(|| false, tell);
    reliance.notice(|| false, tell);
    assert!(!reliance.is_on());
    Reliance::new(false).notice_refusal(tell);
    assert_eq!(told.load(Relaxed), 1);
}
