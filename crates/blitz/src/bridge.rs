//! A bridge to the crate `metrics`, with the feature `metrics`.
//!
//! [`publish`] runs on the thread that calls it, and no worker waits for it.

use crate::{Histogram, PoolMetrics, StateTimes};
use ::metrics::{Label, counter, gauge};
use std::time::Duration;

/// The quantiles of a histogram that are published.
const QUANTILES: [(f64, &str); 4] = [(0.5, "0.5"), (0.9, "0.9"), (0.99, "0.99"), (0.999, "0.999")];

/// Publishes a reading of a pool to the current recorder of the crate `metrics`.
///
/// Call it from time to time, for example from a task with an interval. `pool` becomes a label of
/// each value. Names are those of [`PoolMetrics::to_prometheus`], except that seconds are gauges
/// without `_total`: counters of the crate `metrics` are whole numbers. That crate cannot import
/// finished histograms, so the bridge publishes the quantiles, the sum and the count of each
/// histogram. The bridge publishes no values of single workers or types of tasks.
///
/// ```
/// let pool = blitz::Pool::builder().workers(2).build()?;
/// blitz::bridge::publish(&pool.metrics(), "api");
/// # Ok::<(), blitz::BuildError>(())
/// ```
///
/// A task that publishes once per second, as long as the pool runs:
///
/// ```no_run
/// # let pool = blitz::Pool::new()?;
/// let handle = pool.handle();
/// pool.spawn(async move {
///     let mut ticks = blitz::time::interval(std::time::Duration::from_secs(1));
///     loop {
///         ticks.tick().await;
///         blitz::bridge::publish(&handle.metrics(), "api");
///     }
/// });
/// # Ok::<(), blitz::BuildError>(())
/// ```
pub fn publish(metrics: &PoolMetrics, pool: &str) {
    let to = Pool(pool);
    workers(&to, metrics);
    tasks(&to, metrics);
    histograms(&to, metrics);
    use crate::StallKind::{Blocked, Computing, Preempted, Unknown};
    for kind in [Computing, Preempted, Blocked, Unknown] {
        to.count("blitz_stalls_total", [("kind", kind.name())], metrics.stalls_of(kind));
    }
    to.show("blitz_stalled_workers", [], metrics.stalled_workers as f64);
    to.count("blitz_panics_reported_total", [], metrics.panics_reported);
    to.show("blitz_spares", [("state", "started")], metrics.spares as f64);
    to.show("blitz_spares", [("state", "working")], metrics.spares_in_service as f64);
    let trace = &metrics.trace;
    for (lane, count) in [("busy", trace.busy), ("rare", trace.rare), ("outside", trace.outside)] {
        to.count("blitz_trace_events_total", [("lane", lane)], count);
    }
    to.count("blitz_trace_lost_total", [], trace.lost);
}

fn workers(to: &Pool<'_>, metrics: &PoolMetrics) {
    let all = metrics.total();
    to.show("blitz_workers", [], metrics.workers.len() as f64);
    let StateTimes { poll, job, search, driver, park, .. } = all.time;
    let states =
        [("poll", poll), ("job", job), ("search", search), ("driver", driver), ("park", park)];
    for (state, time) in states {
        to.show("blitz_worker_state_seconds", [("state", state)], time.as_secs_f64());
    }
    to.show("blitz_run_delay_seconds", [], all.run_delay.as_secs_f64());
    to.count("blitz_jobs_total", [], all.jobs);
    to.count("blitz_parks_total", [], all.parks);
    to.count("blitz_wakes_total", [], all.wakes_received);
    let failed = all.steals_tried.saturating_sub(all.steals_succeeded);
    to.count("blitz_steals_total", [("result", "success")], all.steals_succeeded);
    to.count("blitz_steals_total", [("result", "failure")], failed);
    to.show("blitz_queue_depth", [("queue", "jobs")], all.queued as f64);
}

fn tasks(to: &Pool<'_>, metrics: &PoolMetrics) {
    let tasks = &metrics.tasks;
    to.count("blitz_tasks_spawned_total", [], tasks.spawned);
    to.count("blitz_tasks_ended_total", [("outcome", "completed")], tasks.completed);
    to.count("blitz_tasks_ended_total", [("outcome", "cancelled")], tasks.cancelled);
    to.count("blitz_tasks_stolen_total", [], tasks.stolen);
    to.count("blitz_polls_total", [], tasks.polled);
    to.show("blitz_tasks", [("state", "waiting")], tasks.idle as f64);
    to.show("blitz_tasks", [("state", "running")], tasks.running as f64);
    let in_workers: u64 = tasks.worker_queue_depths.iter().sum();
    to.show("blitz_tasks", [("state", "queued")], (tasks.queue_depth + in_workers) as f64);
    to.show("blitz_queue_depth", [("queue", "shared")], tasks.queue_depth as f64);
    to.show("blitz_queue_depth", [("queue", "workers")], in_workers as f64);
    to.show("blitz_queue_depth", [("queue", "blocking")], tasks.blocking_queue_depth as f64);
    let idle = tasks.idle_blocking_threads;
    let busy = tasks.blocking_threads.saturating_sub(idle);
    to.show("blitz_blocking_threads", [("state", "busy")], busy as f64);
    to.show("blitz_blocking_threads", [("state", "idle")], idle as f64);
}

fn histograms(to: &Pool<'_>, metrics: &PoolMetrics) {
    let tasks = &metrics.tasks;
    to.distribution("blitz_poll_duration_seconds", &tasks.poll_times);
    to.distribution("blitz_schedule_delay_seconds", &tasks.schedule_latencies);
    to.distribution("blitz_job_duration_seconds", &metrics.job_times);
    to.distribution("blitz_wake_latency_seconds", &metrics.wake_latencies);
    to.distribution("blitz_steal_latency_seconds", &metrics.steal_latencies);
    to.distribution("blitz_driver_wait_seconds", &metrics.driver_waits);
    to.distribution("blitz_timer_lateness_seconds", &metrics.timer_lateness);
    to.distribution("blitz_blocking_delay_seconds", &metrics.blocking_delays);
}

/// Publishes values, each with the label of a pool.
struct Pool<'a>(&'a str);

type Labels<const N: usize> = [(&'static str, &'static str); N];

impl Pool<'_> {
    fn labels<const N: usize>(&self, labels: Labels<N>) -> Vec<Label> {
        let pool = Label::new("pool", self.0.to_owned());
        [pool].into_iter().chain(labels.map(|(name, value)| Label::new(name, value))).collect()
    }

    fn count<const N: usize>(&self, name: &'static str, labels: Labels<N>, value: u64) {
        counter!(name, self.labels(labels)).absolute(value);
    }

    fn show<const N: usize>(&self, name: &'static str, labels: Labels<N>, value: f64) {
        gauge!(name, self.labels(labels)).set(value);
    }

    fn distribution(&self, name: &'static str, times: &Histogram) {
        for (q, label) in QUANTILES {
            // The last bucket has no end, so a quantile in that bucket is `Duration::MAX`.
            let time = times.quantile(q).filter(|time| *time < Duration::MAX);
            if let Some(time) = time {
                self.show(name, [("quantile", label)], time.as_secs_f64());
            }
        }
        gauge!(format!("{name}_sum"), self.labels([])).set(times.sum().as_secs_f64());
        counter!(format!("{name}_count"), self.labels([])).absolute(times.count());
    }
}
