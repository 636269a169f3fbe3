//! Slots have one tenant at a time and never move.

use super::Arena;
use crate::bitmap::arena::SLOTS_PER_LEAF;
use crate::bitmap::{Bitmap, Position, SlotCache, SummaryTree};
use crate::task::{Header, Place};
use crate::tuning::{SLOTS_PER_SIGNAL, STOCK_MAX};
use core::ptr::NonNull;
use std::collections::BTreeSet;

/// Stands in for a task: slots do not look at their tasks.
const SOMEBODY: NonNull<Header> = NonNull::dangling();

fn reserve(signals: &Bitmap, stock: &mut SlotCache, count: usize) -> Vec<Place> {
    (0..count).map(|_| signals.reserve(stock, 1, SOMEBODY)).collect()
}

fn indices(places: &[Place]) -> BTreeSet<usize> {
    places.iter().map(|place| place.index()).collect()
}

#[test]
fn bitmap_8_a_slot_has_one_tenant_at_a_time() {
    let Arena { signals, mut stock } = Arena::new();
    let places = reserve(&signals, &mut stock, 500);
    assert_eq!(indices(&places).len(), 500);
    assert_eq!(signals.tenants().len(), 500);
    let outside = signals.reserve_outside(SOMEBODY);
    assert!(!places.contains(&outside));
    assert!(signals.free(&mut stock, signals.identity(outside)));
    assert_eq!(signals.tenants().len(), 500);
}

#[test]
fn bitmap_8_a_stale_identity_frees_nothing() {
    let Arena { signals, mut stock } = Arena::new();
    let place = signals.reserve(&mut stock, 1, SOMEBODY);
    let first = signals.identity(place);
    assert_eq!((first.place(), first.generation()), (place, 0));
    assert!(signals.free(&mut stock, first));
    assert!(!signals.free(&mut stock, first), "it was freed already");
    assert_eq!(signals.reserve(&mut stock, 1, SOMEBODY), place, "the last slot freed is next");
    let second = signals.identity(place);
    assert_ne!(first, second);
    assert!(!signals.free(&mut stock, first), "the slot is another task's");
    assert_eq!(signals.tenants().len(), 1);
    assert!(signals.free(&mut stock, second));
    assert!(signals.tenants().is_empty());
}

#[test]
fn bitmap_8_a_slot_cache_keeps_few_slots_and_gives_the_others_back() {
    let signals = Bitmap::new(1);
    let (mut one, mut other) = (SlotCache::of_worker(0), SlotCache::of_worker(0));
    let places = reserve(&signals, &mut one, SLOTS_PER_LEAF);
    assert_eq!(signals.tree().leaf_count(), 1);
    for &place in &places[..STOCK_MAX] {
        assert!(signals.free(&mut one, signals.identity(place)));
    }
    let beside = signals.reserve(&mut other, 1, SOMEBODY);
    assert!(!places.contains(&beside), "the first cache has kept them all");
    assert_eq!(signals.tree().leaf_count(), 2, "so the arena has grown");
    assert!(signals.free(&mut one, signals.identity(places[STOCK_MAX])));
    let given_back = indices(&places[..STOCK_MAX / 2]);
    let others = reserve(&signals, &mut other, SLOTS_PER_LEAF - 1 + STOCK_MAX / 2);
    assert_eq!(indices(&others[SLOTS_PER_LEAF - 1..]), given_back);
    assert_eq!(signals.tree().leaf_count(), 2);
}

#[test]
fn bitmap_9_growth_moves_nothing() {
    let Arena { signals, mut stock } = Arena::new();
    let address = |leaf: usize| signals.leaves.get(leaf).map(std::ptr::from_ref);
    let first = reserve(&signals, &mut stock, 1)[0];
    let before = address(0);
    assert!(before.is_some() && address(1).is_none());
    let places = reserve(&signals, &mut stock, 3 * SLOTS_PER_LEAF);
    assert_eq!(signals.tree().leaf_count(), 4, "it grows by whole leaves");
    assert_eq!(address(0), before);
    assert_eq!(first, Position { leaf: 0, word: 0, bit: 0 }.place());
    assert_eq!(signals.tenants()[0].id.place(), first);
    for (number, &place) in places.iter().enumerate() {
        assert_eq!(place.index(), number + 1);
        assert_eq!(Position::of(place).place(), place);
    }
}

#[test]
fn bitmap_9_workers_reserve_from_their_own_leaves() {
    const WORKERS: usize = 3;
    let signals = Bitmap::new(WORKERS);
    for worker in 0..WORKERS {
        let mut stock = SlotCache::of_worker(worker);
        for _ in 0..=SLOTS_PER_LEAF {
            let place = signals.reserve(&mut stock, WORKERS, SOMEBODY);
            let leaf = Position::of(place).leaf;
            assert_eq!(SummaryTree::compute_partition_owner(leaf, WORKERS), worker);
        }
    }
    let outside = (0..2 * WORKERS * SLOTS_PER_SIGNAL).map(|_| signals.reserve_outside(SOMEBODY));
    let owners: BTreeSet<_> = outside.map(|place| Position::of(place).leaf % WORKERS).collect();
    assert_eq!(owners.len(), WORKERS, "slots for other threads come from every partition");
}
