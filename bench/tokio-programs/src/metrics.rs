//! Tokio's unstable metrics: counters, and a histogram of poll times, for which each poll is timed.

use std::{hint::black_box, thread, time::Duration};

use blitz_bench::insight::{Attached, Scraper};
use tokio::runtime::{Builder, Runtime, RuntimeMetrics};

use crate::{run_tasks, two_workers};

/// Builds a runtime whose metrics a scraper reads.
pub fn build(mut builder: Builder) -> Result<(Runtime, Attached), String> {
    let runtime =
        builder.enable_metrics_poll_time_histogram().build().map_err(|error| error.to_string())?;
    let metrics = runtime.metrics();
    let scraper = Scraper::start(move || {
        read(&metrics);
    })
    .map_err(|error| error.to_string())?;
    Ok((runtime, Box::new(scraper)))
}

/// Reads what an exporter reads, and returns how many polls the histogram has.
fn read(metrics: &RuntimeMetrics) -> u64 {
    black_box((
        metrics.num_alive_tasks(),
        metrics.spawned_tasks_count(),
        metrics.remote_schedule_count(),
        metrics.budget_forced_yield_count(),
        metrics.global_queue_depth(),
    ));
    (0..metrics.num_workers()).map(|worker| read_worker(metrics, worker)).sum()
}

fn read_worker(metrics: &RuntimeMetrics, worker: usize) -> u64 {
    black_box((
        metrics.worker_poll_count(worker),
        metrics.worker_park_count(worker),
        metrics.worker_noop_count(worker),
        metrics.worker_steal_count(worker),
        metrics.worker_local_schedule_count(worker),
        metrics.worker_overflow_count(worker),
        metrics.worker_local_queue_depth(worker),
        metrics.worker_total_busy_duration(worker),
        metrics.worker_mean_poll_time(worker),
    ));
    let buckets = 0..metrics.poll_time_histogram_num_buckets();
    buckets.map(|bucket| metrics.poll_time_histogram_bucket_count(worker, bucket)).sum()
}

/// Shows that the histogram has the polls of some tasks. A worker submits its metrics when it goes
/// to sleep.
pub fn prove() -> Result<String, String> {
    let (runtime, _scraper) = build(two_workers())?;
    let tasks = run_tasks(&runtime)?;
    let metrics = runtime.metrics();
    for _ in 0..PATIENCE {
        let timed = read(&metrics);
        if timed >= tasks {
            return Ok(format!("{timed} polls of {tasks} tasks timed"));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Err(format!("only {} polls of {tasks} tasks timed", read(&metrics)))
}

/// How many milliseconds a worker may take to go to sleep.
const PATIENCE: u32 = 10_000;
