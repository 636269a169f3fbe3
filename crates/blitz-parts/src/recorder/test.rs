//! Lanes on one thread and on several.

use super::{Event, Kind, Lane, Recorder, SharedLane};
use crate::prim::{AtomicBool, Relaxed};
use std::sync::Arc;

/// An event whose parts all contain its number.
fn event(number: u64) -> Event {
    let [low, high, ..] = number.to_le_bytes();
    let id = number.wrapping_mul(0x9E37) & ((1 << Event::BITS) - 1);
    Event { ticks: number, kind: Kind(low), aux: high, id, arg: u16::from_le_bytes([low, high]) }
}

fn assert_whole(events: &[Event]) {
    events.iter().for_each(|found| assert_eq!(*found, event(found.ticks)));
}

#[test]
fn an_event_keeps_48_bits_of_time_and_id() {
    let all = u64::MAX >> 16;
    let whole = Event { ticks: all, kind: Kind(255), aux: 255, id: all, arg: u16::MAX };
    assert_eq!(Event::unpack(whole.pack()), whole);
    let cut = Event { ticks: u64::MAX, id: u64::MAX, ..whole };
    assert_eq!(Event::unpack(cut.pack()), whole);
    let mixed = Event { ticks: 1, kind: Kind(2), aux: 3, id: 4, arg: 5 };
    assert_eq!(Event::unpack(mixed.pack()), mixed);
}

#[test]
fn rec_1_the_newest_events_stay_in_order() {
    let lane = Lane::new(16 * 8 + 15);
    for last in 1..100 {
        lane.record(event(last));
        let read = lane.read();
        assert_whole(&read.events);
        let numbers: Vec<_> = read.events.iter().map(|event| event.ticks).collect();
        // The slot of the next event counts as being written, so a full lane shows one event less.
        let first = last.saturating_sub(7).max(1) + u64::from(last >= 8);
        assert_eq!(numbers, (first..=last).collect::<Vec<_>>());
        assert_eq!(read.recorded, last);
    }
}

#[test]
fn rec_1_a_storm_of_snapshots_tears_no_event() {
    const EVENTS: u64 = 300_000;
    let (lane, done) = (Lane::new(16 * 64), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Relaxed) {
                    let events = lane.read().events;
                    assert_whole(&events);
                    assert!(events.windows(2).all(|pair| pair[0].ticks + 1 == pair[1].ticks));
                }
            });
        }
        (1..=EVENTS).for_each(|number| lane.record(event(number)));
        done.store(true, Relaxed);
    });
    assert_eq!(lane.read().recorded, EVENTS);
}

#[test]
fn rec_2_a_writer_goes_on_beside_a_snapshot() {
    let lane = Arc::new(SharedLane::new(24 * 4));
    (1..=4).for_each(|number| lane.record(event(number)));
    // Later the writer overwrites the slots from which this snapshot was copied.
    let read = lane.read();
    (5..=100).for_each(|number| lane.record(event(number)));
    assert_eq!(read.events.len(), 4);
    assert_eq!(lane.read().events.len(), 4);
    assert_eq!(lane.read().lost, 0);
}

#[test]
fn rec_3_many_writers_tear_no_event_and_keep_their_order() {
    const EVENTS: u64 = 50_000;
    let lane = SharedLane::new(24 * 64);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let lane = &lane;
                scope.spawn(move || {
                    (0..EVENTS).for_each(|number| lane.record(event(number * 3 + writer)));
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Relaxed) {
                let events = lane.read().events;
                assert_whole(&events);
                for writer in 0..3 {
                    let own = events.iter().filter(|event| event.ticks % 3 == writer);
                    assert!(own.is_sorted_by_key(|event| event.ticks));
                }
            }
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Relaxed);
    });
    let read = lane.read();
    assert_eq!(read.recorded, 3 * EVENTS);
}

#[test]
fn rec_4_missing_events_are_counted() {
    let lane = Lane::new(16 * 4);
    (0..10).for_each(|number| lane.record(event(number)));
    let read = lane.read();
    assert_eq!((read.recorded, read.events.len(), read.lost), (10, 3, 0));
}

#[test]
fn rec_5_memory_comes_with_the_first_event() {
    let recorder = Recorder::new(320 << 10);
    assert!(format!("{recorder:?}").contains("0x0"), "{recorder:?}");
    let off = Recorder::new(0);
    assert!(!off.busy.is_on() && recorder.busy.is_on());
    off.rare.record(event(1));
    assert_eq!(off.rare.read().recorded, 0);
    assert!(format!("{:?}", off.rare).contains("0x0"));
}
