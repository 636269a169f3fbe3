//! Sorts put items in order, the stable ones keep the order of equal items, and no item is lost,
//! whatever the comparison does.

use super::scripted;
use crate::prelude::*;
use crate::script::play;
use blitz_core::Pool;
use std::cell::Cell;
use std::cmp::Ordering;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Random numbers.
fn random(len: usize, seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..len).map(move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    })
}

/// Inputs of a length: random keys, few different keys, sorted, reversed, all equal, nearly sorted.
fn inputs(len: usize) -> Vec<Vec<(u64, usize)>> {
    let numbered = |keys: Vec<u64>| keys.into_iter().zip(0..).collect();
    let mut nearly: Vec<u64> = (0..len as u64).collect();
    if len > 10 {
        nearly.swap(len / 3, len / 2);
    }
    vec![
        numbered(random(len, 1).collect()),
        numbered(random(len, 2).map(|n| n % 10).collect()),
        numbered((0..len as u64).collect()),
        numbered((0..len as u64).rev().collect()),
        numbered(vec![7; len]),
        numbered(nearly),
    ]
}

fn check_sorts(len: usize) {
    for input in inputs(len) {
        let mut stable = input.clone();
        stable.sort_by_key(|item| item.0);
        let mut found = input.clone();
        found.par_sort_by(|a, b| a.0.cmp(&b.0));
        assert!(found == stable, "par_sort_by of {len}");
        let mut found = input.clone();
        found.par_sort_by_key(|item| item.0);
        assert!(found == stable, "par_sort_by_key of {len}");
        let mut found = input.clone();
        found.par_sort_by_cached_key(|item| item.0);
        assert!(found == stable, "par_sort_by_cached_key of {len}");
        let mut sorted = input.clone();
        sorted.sort_unstable();
        let mut found = input.clone();
        found.par_sort();
        assert!(found == sorted, "par_sort of {len}");
        let mut found = input.clone();
        found.par_sort_unstable();
        assert!(found == sorted, "par_sort_unstable of {len}");
        let mut found = input.clone();
        found.par_sort_unstable_by(|a, b| b.cmp(a));
        assert!(found.iter().rev().eq(&sorted), "par_sort_unstable_by of {len}");
        let mut found = input;
        found.par_sort_unstable_by_key(|item| item.0);
        assert!(found.is_sorted_by_key(|item| item.0), "par_sort_unstable_by_key of {len}");
    }
}

#[test]
fn sorts_from_outside() {
    // The first slice is too short for a pool. The calling thread checks the order of the second.
    [100, 20_001].into_iter().for_each(check_sorts);
}

#[test]
fn sorts_sort() {
    for workers in [1, 2, 8] {
        let pool = Pool::builder().workers(workers).build().unwrap();
        pool.install(|| [0, 1, 2, 50, 5_000, 40_000].into_iter().for_each(check_sorts));
    }
    (0..4).for_each(|seed| play(seed, || check_sorts(30_000)));
}

#[test]
fn a_panic_or_no_order_at_all_leaves_each_item_once() {
    let input: Vec<u64> = random(30_000, 3).map(|n| n % 1000).collect();
    let mut sorted = input.clone();
    sorted.sort();
    for seed in 0..4 {
        play(seed, || {
            for limit in [0, 1, 100, 50_000, 200_000, 380_000, usize::MAX] {
                let calls = AtomicUsize::new(0);
                let loud = |a: &u64, b: &u64| {
                    assert!(calls.fetch_add(1, Relaxed) < limit);
                    a.cmp(b)
                };
                let (mut stable, mut unstable) = (input.clone(), input.clone());
                let _ = catch_unwind(AssertUnwindSafe(|| stable.par_sort_by(loud)));
                calls.store(0, Relaxed);
                let _ = catch_unwind(AssertUnwindSafe(|| unstable.par_sort_unstable_by(loud)));
                stable.sort();
                unstable.sort();
                assert!(stable == sorted && unstable == sorted, "seed {seed}, limit {limit}");
            }
            // A comparison that is not an order.
            let any = |a: &u64, b: &u64| match (a ^ b) % 3 {
                0 => Ordering::Less,
                1 => Ordering::Greater,
                _ => Ordering::Equal,
            };
            let (mut stable, mut unstable) = (input.clone(), input.clone());
            let _ = catch_unwind(AssertUnwindSafe(|| stable.par_sort_by(any)));
            let _ = catch_unwind(AssertUnwindSafe(|| unstable.par_sort_unstable_by(any)));
            stable.sort();
            unstable.sort();
            assert!(stable == sorted && unstable == sorted, "seed {seed}");
        });
    }
}

#[test]
fn items_need_not_be_shared() {
    let mut cells: Vec<Cell<u64>> = random(20_000, 4).map(Cell::new).collect();
    cells.par_sort();
    assert!(cells.is_sorted());
    cells.par_sort_by_cached_key(|cell| std::cmp::Reverse(cell.get()));
    assert!(cells.is_sorted_by(|a, b| a >= b));
    scripted(|| [(); 20_000].par_sort());
}
