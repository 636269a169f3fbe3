//! Records events of workers and other threads, and where their time went.

#![forbid(unsafe_code)]

use super::{Owner, Team, Worker};
use crate::base::events;
use crate::state::{
    Detail, Duty, Idleness, Label, Labels, RegionRow, StallKind, TypeRow, coarse, since_stamp,
};
use blitz_parts::recorder::{Event, Kind, Lane};
use blitz_parts::task::Runnable;
use blitz_parts::ticks;
use std::num::NonZeroU64;
use std::time::Duration;

/// Where a worker slept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slept {
    /// On its word.
    Word = 0,
    /// In the driver.
    Driver = 1,
    /// On the latch that it waits for.
    Latch = 2,
}

/// The activity of a stuck worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stall {
    /// It is in a job.
    Job = 0,
    /// It is in a poll.
    Poll = 1,
}

/// The kinds of work that a worker steals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loot {
    Job = 0,
    Tasks = 1,
}

/// A poll that is being timed.
pub(crate) struct NotedPoll<'a> {
    begin: u64,
    is_span: bool,
    /// How many polls it stands for.
    weight: u64,
    task: u64,
    name: Label,
    row: Option<&'a TypeRow>,
}

/// A region that has begun.
pub(crate) struct NotedRegion {
    name: Label,
    begin: u64,
    /// How many jobs of the worker had been stolen before.
    stolen: u64,
}

/// A job that is being timed.
pub(crate) struct NotedJob {
    begin: NonZeroU64,
    /// How many jobs it stands for.
    weight: u64,
}

impl<'a> Owner<'a> {
    /// Records an event that is rare.
    pub(crate) fn note(self, kind: Kind, aux: u8, id: u64, arg: u16) {
        if self.worker().insight.recorder.rare.is_on() {
            self.note_at(ticks::now(), kind, aux, id, arg);
        }
    }

    /// Works like [`note`](Self::note), for a caller that has read the clock already. Reading the
    /// clock costs more than the rest of a note.
    fn note_at(self, now: u64, kind: Kind, aux: u8, id: u64, arg: u16) {
        if self.worker().insight.recorder.rare.is_on() {
            self.note_unrecorded(now, 0, 0);
            let event = Event { ticks: now, kind, aux, id, arg };
            self.worker().insight.recorder.rare.record(event);
        }
    }

    /// Records how many polls and jobs have begun unrecorded since the last event. The current
    /// polls and jobs are left out.
    fn note_unrecorded(self, now: u64, current_polls: u64, current_jobs: u64) {
        let noted = &self.own().noted;
        let passed = |count: u64, before: u64| count.saturating_sub(before);
        let (polls, jobs) = (self.queues.counters.polled.get(), self.counters.executed.get());
        let new_polls = passed(polls, noted.polls.replace(polls)).saturating_sub(current_polls);
        let new_jobs = passed(jobs, noted.jobs.replace(jobs)).saturating_sub(current_jobs);
        if new_polls + new_jobs > 0 {
            let arg = u16::try_from(new_jobs).unwrap_or(u16::MAX);
            let event = Event { ticks: now, kind: Kind::BATCH, aux: 0, id: new_polls, arg };
            self.worker().insight.recorder.busy.record(event);
        }
    }

    /// Notes that a timed poll begins.
    pub(crate) fn begin_noted_poll(self, task: &Runnable) -> NotedPoll<'a> {
        let (insight, noted) = (&self.worker().insight, &self.own().noted);
        let known = noted.poll_end.get();
        let is_span = self.own().tasks.tick.detail() == Detail::Ends && known != 0;
        let begin = if is_span { known } else { ticks::now() };
        let names = &self.worker().team().labels;
        let row = noted.names.row(names, &insight.types, task.kind(), || task.type_name());
        let name = row.map_or(Labels::OTHER, |row| row.name);
        let task = task.serial().get().get();
        let polls = self.queues.counters.polled.get();
        let weight = polls.saturating_sub(noted.timed_polls.replace(polls)).max(1);
        if is_span {
            noted.polls.set(polls);
        } else if insight.recorder.busy.is_on() {
            self.note_unrecorded(begin, 1, 0);
            record(&insight.recorder.busy, begin, Kind::POLL_BEGIN, 0, task, name);
        }
        NotedPoll { begin, is_span, weight, task, name, row }
    }

    /// Notes that the poll has ended with `outcome`; returns how long it took.
    pub(crate) fn end_noted_poll(self, poll: NotedPoll<'_>, outcome: u8) -> Duration {
        let insight = &self.worker().insight;
        let now = ticks::now();
        let passed = now.saturating_sub(poll.begin);
        let kind = if poll.is_span { Kind::POLL_SPAN } else { Kind::POLL_END };
        record(&insight.recorder.busy, now, kind, outcome, poll.task, poll.name);
        self.own().noted.poll_end.set(now);
        self.note_time(now);
        let nanos = ticks::to_nanos(passed);
        let all = passed.saturating_mul(poll.weight);
        if let Some(row) = poll.row {
            row.polls.add(poll.weight);
            row.ticks.add(all);
            row.times.add(nanos, poll.weight);
        }
        insight.polls.add(nanos, poll.weight);
        insight.states.polls.add(all);
        Duration::from_nanos(nanos)
    }

    /// Notes a reading of the clock, for stamps that need only a coarse time.
    fn note_time(self, now: u64) {
        self.own().noted.coarse.set(coarse(now));
    }

    /// Notes that something other than a poll follows.
    #[inline]
    pub(crate) fn forget_poll_end(self) {
        self.own().noted.poll_end.set(0);
    }

    /// Notes that a timed job begins.
    #[cold]
    pub(crate) fn begin_noted_job(self) -> NotedJob {
        let insight = &self.worker().insight;
        let begin = ticks::now();
        if insight.recorder.busy.is_on() {
            self.note_unrecorded(begin, 0, 1);
            record(&insight.recorder.busy, begin, Kind::JOB_BEGIN, 0, 0, Label(0));
        }
        let weight = self.own().tasks.tick.job_weight();
        NotedJob { begin: NonZeroU64::new(begin).unwrap_or(NonZeroU64::MIN), weight }
    }

    /// Notes that the job has ended.
    #[cold]
    pub(crate) fn end_noted_job(self, job: NotedJob) {
        let insight = &self.worker().insight;
        let now = ticks::now();
        let passed = now.saturating_sub(job.begin.get());
        record(&insight.recorder.busy, now, Kind::JOB_END, 0, 0, Label(0));
        self.note_time(now);
        let nanos = ticks::to_nanos(passed);
        self.own().tasks.tick.end_job(Duration::from_nanos(nanos));
        insight.jobs.add(nanos, job.weight);
        insight.states.jobs.add(passed.saturating_mul(job.weight));
    }

    /// Notes that a stamped task became runnable on this worker.
    #[cold]
    pub(crate) fn note_wake(self, task: &Runnable) {
        let task = task.serial().get().get();
        record(&self.worker().insight.recorder.busy, ticks::now(), Kind::WAKE, 0, task, Label(0));
    }

    /// Notes that a stamped task is about to be polled.
    #[cold]
    pub(crate) fn note_delay(self, stamp: u32) {
        let weight = self.own().tasks.tick.stamp_mask() + 1;
        let nanos = since_stamp(stamp);
        self.worker().insight.delays.add(nanos, weight);
        self.worker().team().config.triggers.on_delay(nanos);
    }

    /// Notes that this worker has found no work and searches from now on.
    pub(crate) fn note_search(self) {
        let states = &self.worker().insight.states;
        if !states.is_idle() {
            states.begin_idle(ticks::now(), false);
        }
    }

    /// Notes that this worker no longer searches.
    pub(crate) fn note_found(self) {
        let states = &self.worker().insight.states;
        if states.is_idle() {
            states.end_idle(ticks::now(), Idleness::Search);
        }
    }

    /// Notes that this thread becomes the worker.
    pub(crate) fn note_begin(self) {
        let now = ticks::now();
        self.worker().insight.states.begin(now);
        self.note_time(now);
    }

    /// Notes that this worker is about to sleep.
    pub(crate) fn note_park(self) {
        self.forget_poll_end();
        let sleep = self.team().sleep();
        if self.own().measures_polls.get() && sleep.on_relief() == Some(self.index()) {
            // The relief worker sleeps inside a poll, and needs no processor until it wakes. It may
            // wait for the very worker that would stand aside for it.
            sleep.relief_runs_on(None);
        }
        let (states, now) = (&self.worker().insight.states, ticks::now());
        self.note_at(now, Kind::PARK, 0, 0, 0);
        if states.is_idle() {
            states.end_idle(now, Idleness::Search);
        }
        states.begin_idle(now, true);
    }

    /// Notes that this worker has woken.
    pub(crate) fn note_unpark(self, slept: Slept) {
        self.note_unpark_at(ticks::now(), slept);
    }

    fn note_unpark_at(self, now: u64, slept: Slept) {
        let insight = &self.worker().insight;
        self.note_time(now);
        let was = if slept == Slept::Driver { Idleness::Driver } else { Idleness::Park };
        let passed = insight.states.end_idle(now, was);
        if slept == Slept::Driver {
            insight.driver_waits.add(ticks::to_nanos(passed), 1);
        }
        let since_wake = now.saturating_sub(self.bed().stats().woken_at.get());
        if since_wake < passed {
            insight.wakes.add(ticks::to_nanos(since_wake), 1);
        }
        record(&insight.recorder.rare, now, Kind::UNPARK, slept as u8, 0, Label(0));
    }

    /// Notes that this worker has woken, and searches from now on.
    pub(crate) fn note_unpark_to_search(self, slept: Slept) {
        let now = ticks::now();
        self.note_unpark_at(now, slept);
        self.worker().insight.states.begin_idle(now, false);
    }

    /// The time since which this worker has been searching; now, if it was not.
    pub(crate) fn searches_since(self) -> u64 {
        self.worker().insight.states.searches_since().unwrap_or_else(ticks::now)
    }

    /// Notes that this worker stole from worker `victim`, after searching since `since`.
    pub(crate) fn note_steal(self, loot: Loot, victim: usize, since: u64) {
        let passed = ticks::now().saturating_sub(since);
        self.worker().insight.steals.add(ticks::to_nanos(passed), 1);
        self.note(Kind::STEAL, loot as u8, 0, index(victim));
    }

    /// Notes that this spare begins to work.
    pub(crate) fn note_spare_begin(self, duty: Duty) {
        self.worker().insight.states.end_idle(ticks::now(), Idleness::Park);
        self.note(Kind::SPARE_BEGIN, duty as u8, 0, 0);
    }

    /// Notes that this spare rests.
    pub(crate) fn note_spare_end(self) {
        self.note(Kind::SPARE_END, 0, 0, 0);
        self.worker().insight.states.begin_idle(ticks::now(), true);
    }

    /// Notes that a region of this name begins on this worker.
    pub(crate) fn note_region_begin(self, name: &'static str) -> NotedRegion {
        let name = self.own().noted.names.number(&self.worker().team().labels, name);
        let begin = ticks::now();
        self.note_at(begin, Kind::REGION_BEGIN, 0, 0, name.0);
        NotedRegion { name, begin, stolen: self.deque.stolen() }
    }

    /// Notes that the newest region of this worker has ended.
    pub(crate) fn note_region_end(self, region: &NotedRegion) {
        let now = ticks::now();
        let row = RegionRow::of(&self.worker().insight.regions, region.name);
        row.runs.add(1);
        row.ticks.add(now.saturating_sub(region.begin));
        row.stolen.add(self.deque.stolen().saturating_sub(region.stolen));
        self.note_at(now, Kind::REGION_END, 0, 0, 0);
    }
}

impl Team {
    /// Records an event of a thread that is not a worker.
    fn note_outside(&self, kind: Kind, aux: u8, id: u64, arg: u16) {
        self.lane.record(Event { ticks: ticks::now(), kind, aux, id, arg });
    }

    /// Notes that worker `stuck` was in the same poll or job for many rounds of the watch.
    #[cold]
    pub(crate) fn note_stall(&self, stuck: &Worker, looks: u32, kind: StallKind) {
        let polls = stuck.queues.counters.are_polling();
        let stall = if polls { Stall::Poll } else { Stall::Job };
        // Record the stall before counting it: a thread that waits for the count may then read a
        // trace.
        self.note_outside(Kind::STALL, stall as u8, looks.into(), index(stuck.index()));
        self.stalls.count(kind);
        self.config.triggers.on_stall();
        // A subscriber is user code.
        self.catch("a subscriber of tracing", || events::stalled(stuck.index(), polls, looks));
    }

    /// Notes that the watch has taken a task from the queues of worker `stuck`.
    pub(crate) fn note_rescue(&self, stuck: &Worker, task: &Runnable) {
        let task = task.serial().get().get();
        self.note_outside(Kind::RESCUE, 0, task, index(stuck.index()));
    }

    /// Notes that a blocking closure begins on thread `thread`. Its type is `name`, and its caller
    /// handed it over at `submitted`, in ticks.
    pub(crate) fn note_blocking_begin(&self, thread: u64, submitted: u64, name: &'static str) {
        let waited = ticks::now().saturating_sub(submitted);
        self.blocking_delays.add_shared(ticks::to_nanos(waited));
        if self.config.trace_memory > 0 {
            self.note_outside(Kind::BLOCKING_BEGIN, 0, thread, self.labels.number(name).0);
        }
    }

    /// Notes that a blocking closure has ended on thread `thread`.
    pub(crate) fn note_blocking_end(&self, thread: u64) {
        self.note_outside(Kind::BLOCKING_END, 0, thread, 0);
    }
}

fn record(lane: &Lane, ticks: u64, kind: Kind, aux: u8, id: u64, name: Label) {
    lane.record(Event { ticks, kind, aux, id, arg: name.0 });
}

/// The index of a worker; there are fewer than 65,536.
fn index(worker: usize) -> u16 {
    u16::try_from(worker).unwrap_or(u16::MAX)
}
