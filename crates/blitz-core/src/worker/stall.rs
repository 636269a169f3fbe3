//! Examines stuck workers, and reports them to the user.
//!
//! The watch notes which workers are stuck, and any thread may ask for them. A separate thread
//! calls the user's handler, because a handler may block.

#![forbid(unsafe_code)]

use crate::base::Id;
use crate::base::panic::say;
use crate::state::{Sample, Sight, StallKind, StallReport, StalledTask};
use crate::team::{Team, Worker};
use blitz_parts::prim::thread;
use blitz_parts::recorder::{Event, Kind};
use blitz_parts::thread as system_thread;
use blitz_parts::ticks;
use blitz_parts::tuning::STALL_COUNTS;
use std::sync::Arc;

/// How many events of the stuck worker a report has.
const EVENTS: usize = 32;

/// Returns the workers that have been seen in one poll or job for [`STALL_COUNTS`].
pub(crate) fn stalls(team: &Team) -> Vec<StallReport> {
    let report = |worker| {
        let mut sight = look(team, worker)?;
        if sight.sample.is_none() {
            // Keep a sample for the next call: there is none yet to compare with.
            sight.sample = sample(worker);
            team.stalls.keep(worker.index(), sight);
        }
        (sight.age() >= STALL_COUNTS).then(|| report(team, worker, sight)).flatten()
    };
    team.workers().filter_map(report).collect()
}

/// Returns the number of stuck workers.
pub(crate) fn stalled(team: &Team) -> usize {
    let is_stuck = |sight: Sight| sight.age() >= STALL_COUNTS;
    team.workers().filter(|worker| look(team, worker).is_some_and(is_stuck)).count()
}

/// Returns since when the worker has been in its poll or job, if it is in one.
fn look(team: &Team, worker: &Worker) -> Option<Sight> {
    let (index, progress) = (worker.index(), worker.progress());
    if !worker.is_busy() {
        team.stalls.forget(index);
        return None;
    }
    Some(team.stalls.see(index, progress))
}

/// How the worker's thread has spent its time so far, if the system reports it.
pub(super) fn sample(worker: &Worker) -> Option<Sample> {
    let shares = system_thread::shares(worker.seat.thread()?)?;
    Some(Sample { at: ticks::now(), shares })
}

/// Describes a worker that was first seen at `sight`; `None` if it has made progress since.
fn report(team: &Team, worker: &Worker, sight: Sight) -> Option<StallReport> {
    let thread = worker.seat.thread();
    let place = thread.map(system_thread::whereabouts).unwrap_or_default();
    let kind = kind_at(worker, sight, place.is_ready);
    let is_ready = matches!(kind, StallKind::Computing | StallKind::Preempted);
    let report = StallReport {
        worker: worker.index(),
        thread: thread.map(system_thread::ThreadId::to_bits),
        task: task(team, worker),
        length: sight.age(),
        kind,
        call: place.call.filter(|_| !is_ready).map(String::from),
        channel: place.channel.filter(|_| !is_ready),
        behind: worker.queues.len() + worker.deque.public_len(),
        events: events(worker),
    };
    let is_still_there = worker.is_busy() && worker.progress() == sight.progress;
    is_still_there.then_some(report)
}

/// The kind of stall of a worker that was first seen at `sight`.
pub(super) fn kind_of(worker: &Worker, sight: Sight) -> StallKind {
    let place = worker.seat.thread().map(system_thread::whereabouts).unwrap_or_default();
    kind_at(worker, sight, place.is_ready)
}

/// Works like `kind_of`, given whether the worker's thread is ready to run, if that is known.
fn kind_at(worker: &Worker, sight: Sight, is_ready: Option<bool>) -> StallKind {
    let spent = sample(worker).zip(sight.sample).map(|(now, before)| now.since(before));
    StallKind::of(spent, is_ready)
}

/// The task that the worker polls, if it polls one.
fn task(team: &Team, worker: &Worker) -> Option<StalledTask> {
    let shown = worker.queues.shown.get().filter(|_| worker.queues.counters.are_polling())?;
    let id = Id::of_shown(shown);
    Some(StalledTask {
        id,
        type_name: shown.type_name(),
        site: shown.site(),
        name: team.names.get(id),
    })
}

/// The last events of a worker, in words.
fn events(worker: &Worker) -> Vec<String> {
    let recorder = &worker.insight.recorder;
    let last = |events: Vec<Event>| {
        let skipped = events.len().saturating_sub(EVENTS);
        events.into_iter().skip(skipped)
    };
    let (busy, rare) = (recorder.busy.read().events, recorder.rare.read().events);
    let mut events: Vec<_> = last(busy).chain(last(rare)).collect();
    events.sort_by_key(|event| event.ticks);
    let now = ticks::now();
    last(events).map(|event| in_words(&event, now)).collect()
}

fn in_words(event: &Event, now: u64) -> String {
    let kept = (1 << Event::BITS) - 1;
    let ago = ticks::to_duration((now & kept).saturating_sub(event.ticks));
    let (id, arg) = (event.id, event.arg);
    let what = match event.kind {
        Kind::POLL_BEGIN => format!("poll of task {id:#x} begins"),
        Kind::POLL_END => format!("poll of task {id:#x} ends"),
        Kind::POLL_SPAN => format!("poll of task {id:#x} has begun and ended"),
        Kind::BATCH => format!("{id} polls and {arg} jobs"),
        Kind::JOB_BEGIN => "job begins".to_owned(),
        Kind::JOB_END => "job ends".to_owned(),
        Kind::WAKE => format!("task {id:#x} is woken"),
        Kind::STEAL => format!("takes work from worker {arg}"),
        Kind::PARK => "sleeps".to_owned(),
        Kind::UNPARK => "wakes".to_owned(),
        Kind::SPARE_BEGIN => "begins to serve".to_owned(),
        Kind::SPARE_END => "rests".to_owned(),
        Kind::REGION_BEGIN => "region begins".to_owned(),
        Kind::REGION_END => "region ends".to_owned(),
        Kind(other) => format!("event {other}"),
    };
    format!("{ago:.1?} ago: {what}")
}

/// Requests a report of the worker to the user. The watch calls it once per stall.
pub(super) fn submit(team: &Team, worker: usize, sight: Sight) {
    if !team.stalls.submit(worker, sight) {
        return;
    }
    let kept = team.arc();
    let builder = thread::Builder::new().name("blitz-stalls".to_owned());
    // No thread joins it: the end of the pool does not wait for a handler that blocks.
    if builder.spawn(move || serve(&kept)).is_err() {
        team.stalls.is_not_served();
    }
}

/// Makes the reports that are due, until there are none.
fn serve(team: &Arc<Team>) {
    loop {
        let due = team.stalls.take_due();
        if due.is_empty() {
            return;
        }
        for (index, sight) in due {
            let worker = team.worker(index);
            if let Some(report) = worker.and_then(|worker| report(team, worker, sight)) {
                tell(team, &report);
            }
        }
    }
}

fn tell(team: &Team, report: &StallReport) {
    if let Some(handler) = &team.config.stall_handler {
        return team.catch("the stall handler", || handler(report));
    }
    match team.stalls.may_write() {
        Some(0) => say(&report.to_string()),
        Some(others) => say(&format!("{report} (and {others} other stalls since the last line)")),
        None => {}
    }
}
