//! The file formats of traces.

use super::ALL;
use super::common::watched;
use blitz::{Pool, Runtime, Trace, region};
use std::collections::HashMap;

/// Runs a program with events of each kind; returns its trace.
fn sample(runtime: &Runtime) -> Trace {
    runtime.install(|| region("outer \"quoted\"\n", || region("inner", || ())));
    runtime.spawn_blocking(|| ()).join().unwrap();
    runtime
        .spawn(async {
            for _ in 0..50 {
                let tasks: Vec<_> = (0..50).map(|i| blitz::spawn(async move { i })).collect();
                for task in tasks {
                    task.await.unwrap();
                }
            }
        })
        .join()
        .unwrap();
    runtime.trace(ALL)
}

/// A field of a message in the wire format of protocol buffers.
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for place in 0.. {
        let (&byte, rest) = bytes.split_first().expect("a varint ends");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            break;
        }
    }
    value
}

/// Returns the fields of a message, in order.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Value<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let value = match tag & 7 {
            0 => Value::Number(varint(&mut bytes)),
            1 => {
                let (number, rest) = bytes.split_at(8);
                bytes = rest;
                Value::Number(u64::from_le_bytes(number.try_into().unwrap()))
            }
            2 => {
                let len = usize::try_from(varint(&mut bytes)).unwrap();
                let (value, rest) = bytes.split_at(len);
                bytes = rest;
                Value::Bytes(value)
            }
            other => panic!("wire type {other}"),
        };
        fields.push((tag >> 3, value));
    }
    fields
}

fn number(message: &[u8], field: u64) -> Option<u64> {
    fields(message).into_iter().find_map(|(number, value)| match value {
        Value::Number(value) if number == field => Some(value),
        _ => None,
    })
}

fn bytes(message: &[u8], field: u64) -> Option<&[u8]> {
    fields(message).into_iter().find_map(|(number, value)| match value {
        Value::Bytes(value) if number == field => Some(value),
        _ => None,
    })
}

fn text(message: &[u8], field: u64) -> Option<String> {
    bytes(message, field).map(|text| String::from_utf8(text.to_vec()).unwrap())
}

/// The contents of a Perfetto file.
#[derive(Default)]
struct Decoded {
    /// Names by track.
    tracks: HashMap<u64, String>,
    /// Track, time, type, name.
    events: Vec<(u64, u64, u64, Option<String>)>,
    flows_begun: Vec<u64>,
    flows_ended: Vec<u64>,
    /// Track, time, value.
    counters: Vec<(u64, u64, u64)>,
}

fn decode(file: &[u8]) -> Decoded {
    let mut decoded = Decoded::default();
    let mut names = HashMap::new();
    let mut packets = 0;
    for (field, packet) in fields(file) {
        let (1, Value::Bytes(packet)) = (field, packet) else { panic!("no packet: {field}") };
        packets += 1;
        assert_eq!(number(packet, 10), Some(1), "the sequence of each packet");
        if let Some(track) = bytes(packet, 60) {
            let thread = bytes(track, 4).map(|thread| {
                assert_eq!(number(thread, 1), Some(std::process::id().into()));
                assert!(number(thread, 2).is_some());
                text(thread, 5).unwrap()
            });
            let process = bytes(track, 3).map(|_| "process".to_owned());
            let name = thread.or(process).or_else(|| text(track, 2)).unwrap();
            assert!(decoded.tracks.insert(number(track, 1).unwrap(), name).is_none());
        }
        if let Some(interned) = bytes(packet, 12) {
            for (kind, entry) in fields(interned) {
                let Value::Bytes(entry) = entry else { panic!("no entry") };
                let key = (kind, number(entry, 1).unwrap());
                assert!(names.insert(key, text(entry, 2).unwrap()).is_none());
            }
        }
        let Some(event) = bytes(packet, 11) else { continue };
        let flags = number(packet, 13).unwrap();
        assert_eq!(flags, if decoded.events.is_empty() { 3 } else { 2 });
        let kind = number(event, 9).unwrap();
        let name = number(event, 10).map(|name| names[&(2, name)].clone());
        if let Some(category) = number(event, 3) {
            assert!(names.contains_key(&(1, category)));
        }
        decoded.flows_begun.extend(number(event, 47));
        decoded.flows_ended.extend(number(event, 48));
        let (track, at) = (number(event, 11).unwrap(), number(packet, 8).unwrap());
        assert!(decoded.tracks.contains_key(&track), "a track is described before its events");
        decoded.counters.extend(number(event, 30).map(|value| (track, at, value)));
        decoded.events.push((track, at, kind, name));
    }
    assert!(packets > 2);
    decoded
}

#[test]
fn perfetto_finds_slices_that_nest_and_flows_that_end() {
    watched("perfetto_finds_slices_that_nest_and_flows_that_end", |watch| {
        let trace = sample(&watch.workers(2));
        let decoded = decode(&trace.to_perfetto());
        let found: Vec<_> = decoded.tracks.values().map(String::as_str).collect();
        for name in ["process", "worker 0", "worker 1", "blocking 1"] {
            assert!(found.contains(&name), "{name} in {found:?}");
        }
        let all: usize = trace.tracks.iter().map(|track| track.slices.len()).sum();
        let count = |kind| decoded.events.iter().filter(|event| event.2 == kind).count();
        assert_eq!((count(1), count(2)), (all, all));
        let mut nests = 0;
        for &track in decoded.tracks.keys() {
            let mut open = Vec::new();
            let mut last = 0;
            for (_, at, kind, name) in decoded.events.iter().filter(|event| event.0 == track) {
                match kind {
                    1 => open.push(name.clone().unwrap()),
                    2 => drop(open.pop().expect("an end has a beginning")),
                    _ => continue,
                }
                assert!(*at >= last, "time goes on");
                last = *at;
                if name.as_deref() == Some("inner") {
                    let outer = &open[open.len() - 2];
                    assert_eq!(outer, "outer \"quoted\"\n");
                    nests += 1;
                }
            }
            assert!(open.is_empty(), "{open:?}");
        }
        assert_eq!(nests, 1);
        let (mut begun, mut ended) = (decoded.flows_begun, decoded.flows_ended);
        begun.sort_unstable();
        ended.sort_unstable();
        assert!(!begun.is_empty() && begun == ended, "{begun:?} {ended:?}");
    });
}

/// The trace has the beginning and the end of each sleep, so the test can count the sleepers.
#[test]
fn both_formats_count_the_workers_that_sleep() {
    watched("both_formats_count_the_workers_that_sleep", |watch| {
        let runtime = watch.workers(2);
        super::common::wait_for(|| runtime.metrics().total().parks > 0);
        let trace = sample(&runtime);
        let decoded = decode(&trace.to_perfetto());
        let of = |(track, at, value): &(u64, u64, u64)| {
            assert_eq!(decoded.tracks[track], "workers asleep");
            (*at, *value)
        };
        let found: Vec<_> = decoded.counters.iter().map(of).collect();
        let parks = trace.tracks.iter().flat_map(|track| &track.slices);
        let parks: Vec<_> = parks.filter(|slice| slice.kind == blitz::SliceKind::Park).collect();
        assert!(!parks.is_empty());
        assert!(found.is_sorted_by(|a, b| a.0 < b.0), "one value for each moment: {found:?}");
        for &(at, value) in &found {
            let holds = |slice: &&&blitz::TraceSlice| {
                let (begin, end) = (slice.begin.as_nanos(), slice.end.as_nanos());
                begin <= at.into() && (slice.is_open || u128::from(at) < end)
            };
            assert_eq!(parks.iter().filter(holds).count() as u64, value, "at {at}: {found:?}");
        }
        let json: serde_json::Value = serde_json::from_str(&trace.to_chrome_json()).unwrap();
        let events = json["traceEvents"].as_array().unwrap().iter();
        let counts = events.filter(|event| event["ph"] == "C");
        let counts: Vec<_> = counts.map(|event| event["args"]["count"].as_u64().unwrap()).collect();
        assert_eq!(counts, found.iter().map(|(_, value)| *value).collect::<Vec<_>>());
    });
}

#[test]
fn chrome_json_has_the_same_slices() {
    watched("chrome_json_has_the_same_slices", |watch| {
        let trace = sample(&watch.workers(2));
        let json: serde_json::Value = serde_json::from_str(&trace.to_chrome_json()).unwrap();
        let events = json["traceEvents"].as_array().unwrap();
        let of = |phase: &str| -> Vec<_> { events.iter().filter(|e| e["ph"] == phase).collect() };
        let all: usize = trace.tracks.iter().map(|track| track.slices.len()).sum();
        assert_eq!(of("X").len(), all);
        assert!(of("X").iter().all(|e| e["ts"].is_number() && e["dur"].is_number()));
        assert!(of("X").iter().any(|event| event["name"] == "outer \"quoted\"\n"), "{events:?}");
        assert_eq!(of("M").len(), trace.tracks.len());
        assert_eq!(of("M")[0]["args"]["name"], "worker 0");
        assert_eq!(of("s").len(), of("f").len());
        assert!(events.iter().all(|event| event["pid"] == std::process::id()));
    });
}

#[test]
fn an_empty_trace_can_be_written() {
    let pool = Pool::builder().workers(1).trace_memory(0).build().unwrap();
    let trace = pool.trace(ALL);
    assert!(decode(&trace.to_perfetto()).events.is_empty());
    let json: serde_json::Value = serde_json::from_str(&trace.to_chrome_json()).unwrap();
    assert_eq!(json["traceEvents"].as_array().unwrap().len(), 1);
}
