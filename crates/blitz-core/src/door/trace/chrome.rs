//! A trace in the JSON format of Chrome, which the Firefox Profiler and speedscope read, too.

#![forbid(unsafe_code)]

use super::model::{Trace, TraceTrack};
use super::perfetto::SLEEPERS;
use crate::door::dump::json::{list, object, string};
use std::time::Duration;

impl Trace {
    /// Writes the trace as JSON, for tools that do not read [Perfetto's](Trace::to_perfetto)
    /// format.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build().unwrap();
    /// let json = pool.trace(std::time::Duration::from_secs(1)).to_chrome_json();
    /// assert!(json.starts_with("{\"displayTimeUnit\":\"ns\",\"traceEvents\":["));
    /// ```
    #[must_use]
    pub fn to_chrome_json(&self) -> String {
        let pid = std::process::id().to_string();
        let events = self.tracks.iter().enumerate().flat_map(|(index, track)| {
            // Tracks without a thread need numbers that no thread has.
            let tid = track.thread.unwrap_or(u32::MAX - u32::try_from(index).unwrap_or(0));
            of_track(track, &pid, &tid.to_string())
        });
        let sleepers = self.sleepers().into_iter().map(|(at, count)| {
            object([
                ("ph", string("C")),
                ("name", string(SLEEPERS)),
                ("ts", micros(at)),
                ("pid", pid.clone()),
                ("args", object([("count", count.to_string())])),
            ])
        });
        let events = events.chain(sleepers);
        object([("displayTimeUnit", string("ns")), ("traceEvents", list(events))])
    }
}

fn of_track(track: &TraceTrack, pid: &str, tid: &str) -> Vec<String> {
    let thread = || [("pid", pid.to_owned()), ("tid", tid.to_owned())];
    let event = |phase: &str, name: &str, category: &str, at: Duration| {
        let [pid, tid] = thread();
        let ts = ("ts", micros(at));
        [("ph", string(phase)), ("name", string(name)), ("cat", string(category)), ts, pid, tid]
    };
    let [own_pid, own_tid] = thread();
    let name = object([("name", string(&track.name))]);
    let meta = [("ph", string("M")), ("name", string("thread_name")), own_pid, own_tid];
    let [ph, title, pid_field, tid_field] = meta;
    let mut events = vec![object([ph, title, pid_field, tid_field, ("args", name)])];
    for slice in &track.slices {
        let category = slice.kind.name();
        let [a, b, c, d, e, f] = event("X", &slice.name, category, slice.begin);
        let dur = ("dur", micros(slice.end.saturating_sub(slice.begin)));
        let details = slice.details().into_iter().map(|(name, text)| (name, string(&text)));
        events.push(object([a, b, c, d, e, f, dur, ("args", object(details))]));
        if let Some(flow) = slice.flow {
            let [a, b, c, d, e, f] = event("f", "wake", "flow", slice.begin);
            let id = ("id", flow.to_string());
            events.push(object([a, b, c, d, e, f, id, ("bp", string("e"))]));
        }
    }
    for mark in &track.marks {
        let [a, b, c, d, e, f] = event("i", &mark.name, mark.kind.name(), mark.at);
        events.push(object([a, b, c, d, e, f, ("s", string("t"))]));
        if let Some(flow) = mark.flow {
            let [a, b, c, d, e, f] = event("s", "wake", "flow", mark.at);
            events.push(object([a, b, c, d, e, f, ("id", flow.to_string())]));
        }
    }
    events
}

/// A time in microseconds, with decimals.
fn micros(time: Duration) -> String {
    format!("{}.{:03}", time.as_micros(), time.subsec_nanos() % 1_000)
}
