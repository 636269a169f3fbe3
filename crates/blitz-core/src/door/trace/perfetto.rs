//! A trace as Perfetto reads it: TrackEvent protobuf.

#![forbid(unsafe_code)]

use super::model::{Trace, TraceSlice, TraceTrack};
use super::protobuf::Message;
use std::collections::HashMap;
use std::time::Duration;

/// Numbers of fields in Perfetto's messages, by message.
mod field {
    pub(super) mod trace {
        pub(in super::super) const PACKET: u32 = 1;
    }
    pub(super) mod packet {
        pub(in super::super) const CLOCK_SNAPSHOT: u32 = 6;
        pub(in super::super) const TIMESTAMP: u32 = 8;
        pub(in super::super) const SEQUENCE: u32 = 10;
        pub(in super::super) const TRACK_EVENT: u32 = 11;
        pub(in super::super) const INTERNED: u32 = 12;
        pub(in super::super) const SEQUENCE_FLAGS: u32 = 13;
        pub(in super::super) const TRACK_DESCRIPTOR: u32 = 60;
    }
    pub(super) mod clocks {
        pub(in super::super) const CLOCK: u32 = 1;
        pub(in super::super) const ID: u32 = 1;
        pub(in super::super) const TIMESTAMP: u32 = 2;
    }
    pub(super) mod track {
        pub(in super::super) const UUID: u32 = 1;
        pub(in super::super) const NAME: u32 = 2;
        pub(in super::super) const PROCESS: u32 = 3;
        pub(in super::super) const THREAD: u32 = 4;
        pub(in super::super) const PARENT: u32 = 5;
        pub(in super::super) const COUNTER: u32 = 8;
    }
    pub(super) mod process {
        pub(in super::super) const PID: u32 = 1;
        pub(in super::super) const NAME: u32 = 6;
    }
    pub(super) mod thread {
        pub(in super::super) const PID: u32 = 1;
        pub(in super::super) const TID: u32 = 2;
        pub(in super::super) const NAME: u32 = 5;
    }
    pub(super) mod event {
        pub(in super::super) const CATEGORY: u32 = 3;
        pub(in super::super) const DETAIL: u32 = 4;
        pub(in super::super) const TYPE: u32 = 9;
        pub(in super::super) const NAME: u32 = 10;
        pub(in super::super) const TRACK: u32 = 11;
        pub(in super::super) const VALUE: u32 = 30;
        pub(in super::super) const FLOW: u32 = 47;
        pub(in super::super) const FLOW_END: u32 = 48;
    }
    pub(super) mod detail {
        pub(in super::super) const TEXT: u32 = 6;
        pub(in super::super) const NAME: u32 = 10;
    }
    pub(super) mod interned {
        pub(in super::super) const CATEGORY: u32 = 1;
        pub(in super::super) const NAME: u32 = 2;
        pub(in super::super) const NUMBER: u32 = 1;
        pub(in super::super) const TEXT: u32 = 2;
    }
}
use field::{clocks, detail, event, interned, packet, process, thread, trace, track};

/// Types of track events.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

/// All packets belong to one sequence.
const SEQUENCE: u64 = 1;
const STATE_CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;

/// The default clock of times, and the wall clock.
const BOOT_TIME: u64 = 6;
const REAL_TIME: u64 = 1;

/// The number of the process's track. The tracks of threads have the numbers after it.
const PROCESS: u64 = 1;

impl Trace {
    /// Writes the trace in Perfetto's format, for <https://ui.perfetto.dev>.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build().unwrap();
    /// pool.join(|| (), || ());
    /// let bytes = pool.trace(std::time::Duration::from_secs(1)).to_perfetto();
    /// assert_eq!(bytes[0], 10);
    /// ```
    #[must_use]
    pub fn to_perfetto(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.clocks(self.end, self.wall);
        let pid = u64::from(std::process::id());
        let own = Message::default().number(process::PID, pid).text(process::NAME, "blitz");
        let all = Message::default().number(track::UUID, PROCESS).message(track::PROCESS, &own);
        writer.packet(Message::default().message(packet::TRACK_DESCRIPTOR, &all));
        for (index, track) in self.tracks.iter().enumerate() {
            writer.track(PROCESS + 1 + index as u64, pid, track);
        }
        let uuid = PROCESS + 1 + self.tracks.len() as u64;
        let sleepers = self.sleepers();
        if !sleepers.is_empty() {
            writer.counter(uuid, SLEEPERS, &sleepers);
        }
        writer.trace.into_bytes()
    }
}

/// The name of the counter of workers that sleep.
pub(super) const SLEEPERS: &str = "workers asleep";

/// The content of an event.
struct What<'a> {
    category: &'static str,
    name: &'a str,
    details: &'a [(&'static str, String)],
}

/// The packets so far.
#[derive(Default)]
struct Writer {
    trace: Message,
    names: HashMap<String, u64>,
    categories: HashMap<&'static str, u64>,
    /// Whether a packet has reset the interned data.
    begun: bool,
}

impl Writer {
    fn packet(&mut self, packet: Message) {
        let packet = packet.number(packet::SEQUENCE, SEQUENCE);
        self.trace = std::mem::take(&mut self.trace).message(trace::PACKET, &packet);
    }

    /// Writes that the wall clock showed `wall` at `end`, when the trace was taken.
    fn clocks(&mut self, end: Duration, wall: Duration) {
        let clock = |id, time| {
            Message::default().number(clocks::ID, id).number(clocks::TIMESTAMP, nanos(time))
        };
        let snapshot = Message::default()
            .message(clocks::CLOCK, &clock(BOOT_TIME, end))
            .message(clocks::CLOCK, &clock(REAL_TIME, wall));
        self.packet(Message::default().message(packet::CLOCK_SNAPSHOT, &snapshot));
    }

    fn track(&mut self, uuid: u64, pid: u64, found: &TraceTrack) {
        let descriptor = Message::default().number(track::UUID, uuid);
        let descriptor = match found.thread {
            Some(tid) => {
                let own = Message::default().number(thread::PID, pid);
                let own = own.number(thread::TID, tid.into()).text(thread::NAME, &found.name);
                descriptor.message(track::THREAD, &own)
            }
            None => descriptor.number(track::PARENT, PROCESS).text(track::NAME, &found.name),
        };
        self.packet(Message::default().message(packet::TRACK_DESCRIPTOR, &descriptor));
        let mut open: Vec<&TraceSlice> = Vec::new();
        for slice in &found.slices {
            self.end_until(uuid, &mut open, slice.begin);
            let flow = slice.flow.map(|flow| (event::FLOW_END, flow));
            let (category, name) = (slice.kind.name(), &slice.name);
            let what = What { category, name, details: &slice.details() };
            self.event(uuid, slice.begin, SLICE_BEGIN, Some(what), flow);
            open.push(slice);
        }
        self.end_until(uuid, &mut open, Duration::MAX);
        for mark in &found.marks {
            let flow = mark.flow.map(|flow| (event::FLOW, flow));
            let what = What { category: mark.kind.name(), name: &mark.name, details: &[] };
            self.event(uuid, mark.at, INSTANT, Some(what), flow);
        }
    }

    /// Writes a track with a number that changes.
    fn counter(&mut self, uuid: u64, name: &str, values: &[(Duration, u64)]) {
        let descriptor = Message::default()
            .number(track::UUID, uuid)
            .number(track::PARENT, PROCESS)
            .text(track::NAME, name)
            .message(track::COUNTER, &Message::default());
        self.packet(Message::default().message(packet::TRACK_DESCRIPTOR, &descriptor));
        for &(at, value) in values {
            let event = Message::default().number(event::TYPE, COUNTER).number(event::TRACK, uuid);
            let event = event.number(event::VALUE, value);
            let packet = Message::default()
                .number(packet::TIMESTAMP, nanos(at))
                .number(packet::SEQUENCE_FLAGS, self.flags())
                .message(packet::TRACK_EVENT, &event);
            self.packet(packet);
        }
    }

    /// Ends the open slices whose end is at `now` or earlier, the innermost first.
    fn end_until(&mut self, uuid: u64, open: &mut Vec<&TraceSlice>, now: Duration) {
        while let Some(end) = open.last().map(|slice| slice.end).filter(|end| *end <= now) {
            open.pop();
            self.event(uuid, end, SLICE_END, None, None);
        }
    }

    /// The flags of the next packet with an event. The first one resets the interned data.
    fn flags(&mut self) -> u64 {
        match std::mem::replace(&mut self.begun, true) {
            true => NEEDS_STATE,
            false => STATE_CLEARED | NEEDS_STATE,
        }
    }

    fn event(
        &mut self,
        uuid: u64,
        at: Duration,
        kind: u64,
        what: Option<What<'_>>,
        flow: Option<(u32, u64)>,
    ) {
        let mut event = Message::default().number(event::TYPE, kind).number(event::TRACK, uuid);
        let mut new = Message::default();
        if let Some(What { category, name, details }) = what {
            for (name, text) in details {
                let detail = Message::default().text(detail::NAME, name).text(detail::TEXT, text);
                event = event.message(event::DETAIL, &detail);
            }
            let (number, is_new) = number(&mut self.categories, category);
            event = event.number(event::CATEGORY, number);
            if is_new {
                new = new.message(interned::CATEGORY, &entry(number, category));
            }
            let (number, is_new) = number_of_name(&mut self.names, name);
            event = event.number(event::NAME, number);
            if is_new {
                new = new.message(interned::NAME, &entry(number, name));
            }
        }
        if let Some((field, flow)) = flow {
            event = event.fixed64(field, flow);
        }
        let packet = Message::default()
            .number(packet::TIMESTAMP, nanos(at))
            .number(packet::SEQUENCE_FLAGS, self.flags())
            .message(packet::INTERNED, &new)
            .message(packet::TRACK_EVENT, &event);
        self.packet(packet);
    }
}

/// The number of a category, and whether it is new.
fn number(known: &mut HashMap<&'static str, u64>, text: &'static str) -> (u64, bool) {
    let next = known.len() as u64 + 1;
    let number = *known.entry(text).or_insert(next);
    (number, number == next)
}

/// The number of a name, and whether it is new.
fn number_of_name(known: &mut HashMap<String, u64>, text: &str) -> (u64, bool) {
    if let Some(&number) = known.get(text) {
        return (number, false);
    }
    let next = known.len() as u64 + 1;
    known.insert(text.to_owned(), next);
    (next, true)
}

fn entry(number: u64, text: &str) -> Message {
    Message::default().number(interned::NUMBER, number).text(interned::TEXT, text)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
