//! Each worker of a pool.

#![forbid(unsafe_code)]

use super::super::schedstat::run_and_delay;
use super::summary::{big, nanos, now, states};
use super::system::throttled;
use crate::door::dump::json::{inner, list, null, object, string};
use crate::door::metrics::WorkerMetrics;
use crate::team::{Team, Worker};

pub(super) fn fields(team: &Team) -> String {
    let built = team.num_workers();
    inner([
        ("now_ns", now()),
        ("throttled_ns", throttled().map_or_else(null, nanos)),
        ("workers", list(team.workers().map(|worker| of(worker, built)))),
    ])
}

fn of(worker: &Worker, built: usize) -> String {
    let metrics = WorkerMetrics::of(worker);
    let thread = worker.seat.thread().map(|thread| thread.to_bits());
    let times = thread.and_then(run_and_delay);
    object([
        ("index", worker.index().to_string()),
        ("spare", (worker.index() >= built).to_string()),
        ("tid", thread.map_or_else(null, |thread| thread.to_string())),
        ("state", string(state(worker))),
        ("states", states(&metrics.time)),
        ("run_ns", times.map_or_else(null, |(run, _)| nanos(run))),
        ("run_delay_ns", times.map_or_else(null, |(_, delay)| nanos(delay))),
        ("tasks", big(worker.queues.len() as u64)),
        ("queued_jobs", big(metrics.queued)),
        ("jobs", big(metrics.jobs)),
        ("steals", big(metrics.steals_succeeded)),
        ("steals_tried", big(metrics.steals_tried)),
        ("parks", big(metrics.parks)),
        ("wakes", big(metrics.wakes_received)),
    ])
}

/// The worker's current state.
fn state(worker: &Worker) -> &'static str {
    let bed = worker.bed();
    match (bed.serves(), worker.insight.states.is_idle()) {
        (false, _) => "rest",
        (true, false) => "busy",
        (true, true) if bed.core().state_name() != "SLEEPING" => "search",
        (true, true) if bed.is_in_driver() => "driver",
        (true, true) => "park",
    }
}
