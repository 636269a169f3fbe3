//! Turns the events of one thread into slices and marks.

#![forbid(unsafe_code)]

use super::clock::Clock;
use super::model::{MarkKind, SliceKind, TraceMark, TraceSlice, TraceTrack};
use crate::state::{Label, Labels};
use blitz_parts::recorder::{Event, Kind};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::time::Duration;

/// The names that events refer to.
pub(super) struct Spelled(pub(super) Vec<&'static str>);

impl Spelled {
    fn name(&self, number: u16) -> &'static str {
        match self.0.get(usize::from(number)) {
            Some(name) if Label(number) != Labels::OTHER => name,
            _ => "other",
        }
    }
}

/// The events of one thread, so far.
pub(super) struct Timeline<'a> {
    clock: &'a Clock,
    names: &'a Spelled,
    /// Slices that have begun and not ended, the innermost last.
    open: Vec<Open>,
    slices: Vec<TraceSlice>,
    marks: Vec<TraceMark>,
    /// The time of the last event, ignoring wakes.
    last: Duration,
    /// When the last poll ended.
    poll_end: Duration,
}

struct Open {
    kind: SliceKind,
    name: Cow<'static, str>,
    begin: Duration,
    task: u64,
}

impl<'a> Timeline<'a> {
    pub(super) fn new(clock: &'a Clock, names: &'a Spelled) -> Timeline<'a> {
        let begin = clock.begin();
        let (open, slices, marks) = (Vec::new(), Vec::new(), Vec::new());
        Timeline { clock, names, open, slices, marks, last: begin, poll_end: begin }
    }

    /// Adds the next event. Events before the start of the trace show which slices were open then.
    pub(super) fn add(&mut self, event: &Event) {
        let begin = self.clock.begin();
        let at = self.clock.time(event.ticks);
        let known = at.is_some();
        let at = at.unwrap_or(begin);
        let name = || Cow::Borrowed(self.names.name(event.arg));
        match event.kind {
            Kind::POLL_BEGIN => self.begin(SliceKind::Poll, name(), at, event.id),
            Kind::POLL_END => {
                self.end(SliceKind::Poll, name(), at, event.id);
                self.poll_end = at;
            }
            Kind::POLL_SPAN => {
                self.push(SliceKind::Poll, name(), self.poll_end, at, event.id);
                self.poll_end = at;
            }
            Kind::BATCH => {
                self.push(SliceKind::Batch, batch(event.id, event.arg).into(), self.last, at, 0);
            }
            Kind::JOB_BEGIN => self.begin(SliceKind::Job, "job".into(), at, 0),
            Kind::JOB_END => self.end(SliceKind::Job, "job".into(), at, 0),
            Kind::REGION_BEGIN => self.begin(SliceKind::Region, name(), at, 0),
            Kind::REGION_END => self.end(SliceKind::Region, "region".into(), at, 0),
            Kind::PARK => self.begin(SliceKind::Park, "park".into(), at, 0),
            Kind::UNPARK => {
                let place = slept(event.aux);
                self.rename(SliceKind::Park, place);
                self.end(SliceKind::Park, place.into(), at, 0);
            }
            Kind::SPARE_BEGIN => self.begin(SliceKind::Spare, duty(event.aux).into(), at, 0),
            Kind::SPARE_END => self.end(SliceKind::Spare, "spare".into(), at, 0),
            Kind::BLOCKING_BEGIN => self.begin(SliceKind::Blocking, name(), at, 0),
            Kind::BLOCKING_END => self.end(SliceKind::Blocking, "blocking".into(), at, 0),
            // Marks before the start of the trace are left out.
            _ if !known => return,
            Kind::WAKE => return self.mark(MarkKind::Wake, "wake".into(), at, event.id),
            Kind::STEAL => {
                let what = if event.aux == 0 { "a job" } else { "tasks" };
                let name = format!("steal {what} from worker {}", event.arg);
                self.mark(MarkKind::Steal, name.into(), at, 0);
            }
            Kind::STALL => {
                let what = if event.aux == 0 { "a job" } else { "a poll" };
                let name = format!("worker {} is stuck in {what}", event.arg);
                self.mark(MarkKind::Stall, name.into(), at, 0);
            }
            Kind::RESCUE => {
                let name = format!("rescue a task of worker {}", event.arg);
                self.mark(MarkKind::Rescue, name.into(), at, event.id);
            }
            _ => return,
        }
        self.last = at;
    }

    fn begin(&mut self, kind: SliceKind, name: Cow<'static, str>, begin: Duration, task: u64) {
        self.open.push(Open { kind, name, begin, task });
    }

    /// Ends the innermost slice of this kind. Slices inside it have ended, too, but their ends were
    /// lost. If no slice of this kind is open, its start was lost: the slice begins with the trace.
    fn end(&mut self, kind: SliceKind, name: Cow<'static, str>, end: Duration, task: u64) {
        let Some(place) = self.open.iter().rposition(|open| open.kind == kind) else {
            return self.push(kind, name, self.clock.begin(), end, task);
        };
        while self.open.len() > place {
            if let Some(open) = self.open.pop() {
                self.push(open.kind, open.name, open.begin, end, open.task);
            }
        }
    }

    /// Renames the innermost open slice, if it is of this kind.
    fn rename(&mut self, kind: SliceKind, name: &'static str) {
        if let Some(open) = self.open.last_mut().filter(|open| open.kind == kind) {
            open.name = name.into();
        }
    }

    /// Adds a slice that has ended, unless it ended before the trace.
    fn push(
        &mut self,
        kind: SliceKind,
        name: Cow<'static, str>,
        begin: Duration,
        end: Duration,
        task: u64,
    ) {
        if end > self.clock.begin() {
            let slice =
                TraceSlice { kind, name, begin, end, is_open: false, site: None, task, flow: None };
            self.slices.push(slice);
        }
    }

    fn mark(&mut self, kind: MarkKind, name: Cow<'static, str>, at: Duration, task: u64) {
        self.marks.push(TraceMark { kind, name, at, task, flow: None });
    }

    /// Returns the track. Each open slice gets the end of the trace as its end.
    pub(super) fn finish(mut self, name: String, thread: Option<u32>) -> TraceTrack {
        let end = self.clock.end();
        for Open { kind, name, begin, task } in self.open.drain(..).rev() {
            let slice =
                TraceSlice { kind, name, begin, end, is_open: true, site: None, task, flow: None };
            self.slices.push(slice);
        }
        // If two slices begin at one time, the outer one ends later, or was added last.
        self.slices.reverse();
        self.slices.sort_by_key(|slice| (slice.begin, Reverse(slice.end)));
        TraceTrack { name, thread, slices: self.slices, marks: self.marks }
    }
}

fn batch(polls: u64, jobs: u16) -> String {
    match (polls, jobs) {
        (polls, 0) => format!("{polls} polls"),
        (0, jobs) => format!("{jobs} jobs"),
        (polls, jobs) => format!("{polls} polls, {jobs} jobs"),
    }
}

fn slept(place: u8) -> &'static str {
    match place {
        1 => "driver",
        2 => "wait",
        _ => "park",
    }
}

fn duty(duty: u8) -> &'static str {
    if duty == 0 { "spare" } else { "relief" }
}

#[cfg(test)]
mod tests {
    use super::{Spelled, Timeline};
    use crate::door::trace::clock::Clock;
    use blitz_parts::recorder::{Event, Kind};
    use blitz_parts::ticks;
    use std::time::Duration;

    #[test]
    fn open_slices_from_before_the_trace_are_listed_from_the_outermost_inwards() {
        let before = ticks::now().wrapping_sub(1 << 40);
        let (clock, names) =
            (Clock::now(Duration::from_micros(1)), Spelled(vec!["other", "inner"]));
        let mut timeline = Timeline::new(&clock, &names);
        for (kind, arg) in [(Kind::POLL_BEGIN, 0), (Kind::REGION_BEGIN, 1)] {
            timeline.add(&Event { ticks: before, kind, aux: 0, id: 7, arg });
        }
        let slices = timeline.finish("worker 0".to_owned(), None).slices;
        assert!(slices.iter().all(|slice| slice.is_open && slice.begin == clock.begin()));
        let kinds: Vec<_> = slices.iter().map(|slice| slice.kind.name()).collect();
        assert_eq!(kinds, ["poll", "region"]);
    }
}
