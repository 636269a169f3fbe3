//! Counters and times of a pool.

#![forbid(unsafe_code)]

use crate::door::dump::json::{inner, list, object, string};
use crate::door::metrics::PoolMetrics;
use crate::door::region_metrics::RegionMetrics;
use crate::state::{Histogram, StateTimes};
use crate::team::Team;
use blitz_parts::ticks;
use std::time::Duration;

pub(super) fn fields(team: &Team) -> String {
    let metrics = PoolMetrics::of(team);
    let (total, tasks) = (metrics.total(), &metrics.tasks);
    let at_workers = tasks.worker_queue_depths.iter().sum::<u64>();
    inner([
        ("now_ns", now()),
        ("scheduler", string(team.tasks.scheduler().name())),
        ("workers", team.num_workers().to_string()),
        ("states", states(&total.time)),
        (
            "tasks",
            object([
                ("alive", big(tasks.alive())),
                ("runnable", big(tasks.queued())),
                ("running", big(tasks.running)),
                ("waiting", big(tasks.idle)),
                ("spawned", big(tasks.spawned)),
                ("completed", big(tasks.completed)),
                ("cancelled", big(tasks.cancelled)),
                ("polls", big(tasks.polled)),
                ("stolen", big(tasks.stolen)),
                ("rescued", big(tasks.rescued)),
            ]),
        ),
        (
            "queues",
            object([
                ("shared", big(tasks.queue_depth)),
                ("workers", big(at_workers)),
                ("jobs", big(total.queued)),
                ("blocking", big(tasks.blocking_queue_depth)),
            ]),
        ),
        (
            "hist",
            object([
                ("poll", histogram(&tasks.poll_times)),
                ("delay", histogram(&tasks.schedule_latencies)),
                ("wake", histogram(&metrics.wake_latencies)),
                ("steal", histogram(&metrics.steal_latencies)),
                ("timer", histogram(&metrics.timer_lateness)),
                ("job", histogram(&metrics.job_times)),
                ("driver", histogram(&metrics.driver_waits)),
                ("blocking", histogram(&metrics.blocking_delays)),
            ]),
        ),
        ("regions", list(metrics.regions.iter().map(region))),
        ("jobs", big(total.jobs)),
        ("steals", big(total.steals_succeeded)),
        ("parks", big(total.parks)),
        ("spares", big(metrics.spares as u64)),
        ("spares_in_service", big(metrics.spares_in_service as u64)),
        ("spares_refused", big(metrics.spares_refused)),
        ("blocking_threads", big(tasks.blocking_threads)),
        ("panics", big(metrics.panics_reported)),
        ("stalls", big(metrics.stalls)),
        ("lost", big(metrics.trace.lost)),
    ])
}

/// The time stamp of readings: nanoseconds since a fixed moment of the process.
pub(super) fn now() -> String {
    nanos(ticks::refine().since_start)
}

/// A 64-bit number as text: JavaScript's numbers cannot hold it.
pub(super) fn big(number: u64) -> String {
    format!("\"{number}\"")
}

pub(super) fn nanos(time: Duration) -> String {
    big(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

pub(super) fn states(time: &StateTimes) -> String {
    object([
        ("poll", nanos(time.poll)),
        ("job", nanos(time.job)),
        ("search", nanos(time.search)),
        ("driver", nanos(time.driver)),
        ("park", nanos(time.park)),
    ])
}

fn region(row: &RegionMetrics) -> String {
    object([
        ("name", string(row.name)),
        ("runs", big(row.runs)),
        ("wall_ns", nanos(row.wall)),
        ("stolen", big(row.stolen)),
    ])
}

fn histogram(times: &Histogram) -> String {
    let quantile = |q: f64| nanos(times.quantile(q).unwrap_or_default());
    // Send buckets, so that the page can subtract two readings and show recent times.
    let full = times.buckets().filter(|(_, count)| *count > 0);
    let buckets = full.map(|(end, count)| list([nanos(end), big(count)]));
    object([
        ("count", big(times.count())),
        ("sum", nanos(times.sum())),
        ("p50", quantile(0.5)),
        ("p99", quantile(0.99)),
        ("p999", quantile(0.999)),
        ("max", quantile(1.0)),
        ("buckets", list(buckets)),
    ])
}
