//! Lanes under the model checker.

use super::{Event, Kind, Lane, SharedLane, Snapshot};
use crate::prim::{Step, canary, check, thread};
use std::sync::Arc;

/// Lanes of two slots.
const BYTES: usize = 32;
const BYTES_SHARED: usize = 48;

/// An event whose parts all contain its number.
fn event(number: u64) -> Event {
    let low = u8::try_from(number).unwrap();
    Event { ticks: number, kind: Kind(low), aux: low, id: number, arg: low.into() }
}

/// The numbers of the events; fails if one is torn.
fn numbers(snapshot: &Snapshot) -> Vec<u64> {
    let whole = |found: &Event| {
        assert_eq!(*found, event(found.ticks), "a torn event");
        found.ticks
    };
    snapshot.events.iter().map(whole).collect()
}

/// A worker records four events into a lane of two; another thread reads.
fn one_writer() {
    let lane = Arc::new(Lane::new(BYTES));
    let writer = thread::spawn({
        let lane = lane.clone();
        move || (1..=4).for_each(|number| lane.record(event(number)))
    });
    let snapshot = lane.read();
    let found = numbers(&snapshot);
    assert!(found.windows(2).all(|pair| pair[0] + 1 == pair[1]), "out of order: {found:?}");
    assert!(found.last().is_none_or(|&last| last == snapshot.recorded), "{found:?}");
    writer.join().unwrap();
    assert_eq!(numbers(&lane.read()), [4]);
}

/// Two threads record two events each into a lane of two; a third one reads.
fn two_writers() {
    let lane = Arc::new(SharedLane::new(BYTES_SHARED));
    let writer = |numbers: [u64; 2]| {
        let lane = lane.clone();
        thread::spawn(move || numbers.map(|number| lane.record(event(number))))
    };
    let writers = [writer([1, 2]), writer([3, 4])];
    let found = numbers(&lane.read());
    assert_each_once_in_order(&found);
    for writer in writers {
        writer.join().unwrap();
    }
    let at_last = lane.read();
    assert_each_once_in_order(&numbers(&at_last));
    assert_eq!(at_last.recorded, 4);
    assert!(at_last.events.len() as u64 + at_last.lost + 2 >= 4, "{at_last:?}");
}

fn assert_each_once_in_order(found: &[u64]) {
    let place = |number| found.iter().position(|&other| other == number);
    for (before, after) in [(1, 2), (3, 4)] {
        let (before, after) = (place(before), place(after));
        assert!(before.is_none() || after.is_none() || before < after, "{found:?}");
    }
    let mut sorted = found.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), found.len(), "an event twice: {found:?}");
}

#[test]
fn rec_1_a_snapshot_has_whole_events_in_order() {
    check(500, Some(4), one_writer);
}

#[test]
fn rec_3_a_shared_snapshot_has_whole_events_each_once() {
    check(500, Some(2), two_writers);
}

#[test]
fn canary_words_without_the_fence_before_them() {
    canary(&[Step::RecorderEventFence], Some(4), one_writer);
}

#[test]
fn canary_head_without_release() {
    canary(&[Step::RecorderHeadRelease], Some(4), one_writer);
}

#[test]
fn canary_copies_without_the_fence_after_them() {
    canary(&[Step::RecorderReadFence], Some(4), one_writer);
}

#[test]
fn canary_no_second_look() {
    canary(&[Step::RecorderSecondLook], Some(4), one_writer);
}

#[test]
fn canary_shared_words_without_the_fence_before_them() {
    canary(&[Step::RecorderSharedFence], Some(2), two_writers);
}

#[test]
fn canary_sequence_without_release() {
    canary(&[Step::RecorderSequenceRelease], Some(2), two_writers);
}

#[test]
fn canary_a_slot_is_taken_from_its_writer() {
    canary(&[Step::RecorderSlotTaken], Some(3), two_writers);
}
