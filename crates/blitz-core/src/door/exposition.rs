//! Writes the metrics of a pool as text for Prometheus and similar tools.

#![forbid(unsafe_code)]

use super::metrics::{PoolMetrics, WorkerMetrics};
use super::type_metrics::TypeMetrics;
use crate::state::{Histogram, StallKind, StateTimes};
use std::fmt::{Display, Write};
use std::time::Duration;

/// How many types of tasks get their own lines. The others are counted together.
const TYPES_SHOWN: usize = 50;
/// The name under which the other types are counted, here and in [`TypeMetrics`].
const OTHER: &str = "other";

/// [`PoolMetrics`] as text: see [`PoolMetrics::exposition`].
///
/// ```
/// let pool = blitz::Pool::builder().workers(2).build().unwrap();
/// let text = pool.metrics().exposition().pool("api").to_prometheus();
/// assert!(text.contains("\nblitz_workers{pool=\"api\"} 2\n"));
/// ```
#[derive(Clone, Debug)]
#[must_use = "it does nothing until it is converted to text"]
pub struct Exposition<'a> {
    metrics: &'a PoolMetrics,
    pool: Option<String>,
    per_worker: bool,
}

/// A text format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// Text format 0.0.4 of Prometheus.
    Prometheus,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

/// The kind of a family of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Counter,
    Gauge,
    Histogram,
}

impl PoolMetrics {
    /// Writes the metrics in the text format 0.0.4 of Prometheus.
    ///
    /// Its content type is `text/plain; version=0.0.4`.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build().unwrap();
    /// pool.join(|| (), || ());
    /// let text = pool.metrics().to_prometheus();
    /// assert!(text.contains("# TYPE blitz_jobs_total counter\n"));
    /// ```
    #[must_use]
    pub fn to_prometheus(&self) -> String {
        self.exposition().to_prometheus()
    }

    /// Writes the metrics in the text format of OpenMetrics 1.0.
    ///
    /// Its content type is `application/openmetrics-text; version=1.0.0; charset=utf-8`.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build().unwrap();
    /// assert!(pool.metrics().to_open_metrics().ends_with("# EOF\n"));
    /// ```
    #[must_use]
    pub fn to_open_metrics(&self) -> String {
        self.exposition().to_open_metrics()
    }

    /// Returns the metrics as text with options: a label for the pool, lines for each worker.
    pub fn exposition(&self) -> Exposition<'_> {
        Exposition { metrics: self, pool: None, per_worker: false }
    }
}

impl Exposition<'_> {
    /// Adds the label `pool` with this value to each line.
    pub fn pool(mut self, name: impl Into<String>) -> Self {
        self.pool = Some(name.into());
        self
    }

    /// Writes lines for each worker, with the label `worker`, instead of their sum.
    pub fn per_worker(mut self, yes: bool) -> Self {
        self.per_worker = yes;
        self
    }

    /// Writes the format of [`PoolMetrics::to_prometheus`].
    #[must_use]
    pub fn to_prometheus(&self) -> String {
        self.write(Format::Prometheus)
    }

    /// Writes the format of [`PoolMetrics::to_open_metrics`].
    #[must_use]
    pub fn to_open_metrics(&self) -> String {
        self.write(Format::OpenMetrics)
    }

    fn write(&self, format: Format) -> String {
        let mut page = Page { text: String::new(), format, pool: self.pool.as_deref(), name: "" };
        self.workers(&mut page);
        self.tasks(&mut page);
        self.types(&mut page);
        self.histograms(&mut page);
        self.rest(&mut page);
        if format == Format::OpenMetrics {
            page.text.push_str("# EOF\n");
        }
        page.text
    }

    /// Each worker with its label, or the sum of all without a label.
    fn by_worker(&self) -> Vec<(Option<String>, WorkerMetrics)> {
        if !self.per_worker {
            return vec![(None, self.metrics.total())];
        }
        let workers = self.metrics.workers.iter().enumerate();
        workers.map(|(index, worker)| (Some(index.to_string()), *worker)).collect()
    }

    fn workers(&self, page: &mut Page<'_>) {
        page.family(Family::Gauge, "blitz_workers", "Workers, spares included.");
        page.line("", &[], self.metrics.workers.len());
        let workers = self.by_worker();
        let label = |worker: &'_ Option<String>| {
            worker.as_ref().map(|index| ("worker", index.clone())).into_iter().collect::<Vec<_>>()
        };
        page.family(
            Family::Counter,
            "blitz_worker_state_seconds",
            "Time of the workers by activity.",
        );
        for (worker, metrics) in &workers {
            for (state, time) in states(&metrics.time) {
                let mut labels = label(worker);
                labels.push(("state", state.to_owned()));
                page.counter(&labels, time.as_secs_f64());
            }
        }
        page.family(
            Family::Counter,
            "blitz_run_delay_seconds",
            "Time in which worker threads were runnable but had no core.",
        );
        for (worker, metrics) in &workers {
            page.counter(&label(worker), metrics.run_delay.as_secs_f64());
        }
        type Reading = fn(&WorkerMetrics) -> u64;
        let families: [(&str, &str, Reading); 3] = [
            ("blitz_jobs", "Jobs run.", |worker| worker.jobs),
            ("blitz_parks", "Times that workers slept.", |worker| worker.parks),
            ("blitz_wakes", "Times that other threads woke workers.", |worker| {
                worker.wakes_received
            }),
        ];
        for (name, help, read) in families {
            page.family(Family::Counter, name, help);
            for (worker, metrics) in &workers {
                page.counter(&label(worker), read(metrics));
            }
        }
        page.family(Family::Counter, "blitz_steals", "Attempts to steal from other workers.");
        for (worker, metrics) in &workers {
            let failed = metrics.steals_tried.saturating_sub(metrics.steals_succeeded);
            for (result, count) in [("success", metrics.steals_succeeded), ("failure", failed)] {
                let mut labels = label(worker);
                labels.push(("result", result.to_owned()));
                page.counter(&labels, count);
            }
        }
    }

    fn tasks(&self, page: &mut Page<'_>) {
        let tasks = &self.metrics.tasks;
        page.family(Family::Counter, "blitz_tasks_spawned", "Tasks spawned.");
        page.counter(&[], tasks.spawned);
        page.family(Family::Counter, "blitz_tasks_ended", "Tasks that have ended.");
        for (outcome, count) in [("completed", tasks.completed), ("cancelled", tasks.cancelled)] {
            page.counter(&[("outcome", outcome.to_owned())], count);
        }
        page.family(Family::Counter, "blitz_polls", "Polls of tasks.");
        page.counter(&[], tasks.polled);
        page.family(Family::Counter, "blitz_tasks_stolen", "Tasks taken from other workers.");
        page.counter(&[], tasks.stolen);
        page.family(Family::Gauge, "blitz_tasks", "Tasks that have not ended, by state.");
        let counts =
            [("waiting", tasks.idle), ("queued", tasks.queued()), ("running", tasks.running)];
        for (state, count) in counts {
            page.line("", &[("state", state.to_owned())], count);
        }
        page.family(Family::Gauge, "blitz_queue_depth", "Waiting tasks and jobs by queue.");
        let queues = [
            ("shared", tasks.queue_depth),
            ("workers", tasks.worker_queue_depths.iter().sum()),
            ("jobs", self.metrics.total().queued),
            ("blocking", tasks.blocking_queue_depth),
        ];
        for (queue, depth) in queues {
            page.line("", &[("queue", queue.to_owned())], depth);
        }
        let help = "Threads for closures that may block.";
        page.family(Family::Gauge, "blitz_blocking_threads", help);
        let busy = tasks.blocking_threads.saturating_sub(tasks.idle_blocking_threads);
        for (state, count) in [("busy", busy), ("idle", tasks.idle_blocking_threads)] {
            page.line("", &[("state", state.to_owned())], count);
        }
    }

    fn types(&self, page: &mut Page<'_>) {
        let rows = type_rows(&self.metrics.types);
        page.family(Family::Counter, "blitz_type_polls", "Polls by type of task, estimated.");
        for (name, polls, _) in &rows {
            page.counter(&[("type", (*name).to_owned())], polls);
        }
        let help = "Time in polls by type of task, estimated.";
        page.family(Family::Counter, "blitz_type_busy_seconds", help);
        for (name, _, busy) in &rows {
            page.counter(&[("type", (*name).to_owned())], busy.as_secs_f64());
        }
    }

    fn histograms(&self, page: &mut Page<'_>) {
        let (metrics, tasks) = (self.metrics, &self.metrics.tasks);
        let families = [
            ("blitz_poll_duration_seconds", "How long polls took.", &tasks.poll_times),
            (
                "blitz_schedule_delay_seconds",
                "How long runnable tasks waited for their poll.",
                &tasks.schedule_latencies,
            ),
            ("blitz_job_duration_seconds", "How long jobs took.", &metrics.job_times),
            (
                "blitz_wake_latency_seconds",
                "How long woken workers took to run.",
                &metrics.wake_latencies,
            ),
            (
                "blitz_steal_latency_seconds",
                "How long workers searched before they stole work.",
                &metrics.steal_latencies,
            ),
            (
                "blitz_driver_wait_seconds",
                "How long workers slept in the driver.",
                &metrics.driver_waits,
            ),
            ("blitz_timer_lateness_seconds", "How late timers fired.", &metrics.timer_lateness),
            (
                "blitz_blocking_delay_seconds",
                "How long closures waited for a thread.",
                &metrics.blocking_delays,
            ),
        ];
        for (name, help, histogram) in families {
            page.family(Family::Histogram, name, help);
            page.histogram(histogram);
        }
    }

    fn rest(&self, page: &mut Page<'_>) {
        let metrics = self.metrics;
        page.family(Family::Counter, "blitz_stalls", "Polls and jobs that took too long.");
        for kind in StallKind::ALL {
            page.counter(&[("kind", kind.name().to_owned())], metrics.stalls_of(kind));
        }
        let help = "Workers that are stuck in a poll or job at this moment.";
        page.family(Family::Gauge, "blitz_stalled_workers", help);
        page.line("", &[], metrics.stalled_workers);
        page.family(Family::Counter, "blitz_panics_reported", "Panics of detached work.");
        page.counter(&[], metrics.panics_reported);
        page.family(Family::Gauge, "blitz_spares", "Threads beyond the workers, by state.");
        let resting = metrics.spares.saturating_sub(metrics.spares_in_service);
        for (state, count) in [("working", metrics.spares_in_service), ("resting", resting)] {
            page.line("", &[("state", state.to_owned())], count);
        }
        page.family(Family::Counter, "blitz_trace_events", "Events recorded.");
        let trace = &metrics.trace;
        for (lane, count) in
            [("busy", trace.busy), ("rare", trace.rare), ("outside", trace.outside)]
        {
            page.counter(&[("lane", lane.to_owned())], count);
        }
        page.family(Family::Counter, "blitz_trace_lost", "Events that could not be recorded.");
        page.counter(&[], trace.lost);
    }
}

/// The name, polls and time of each type that is shown. The other types are one row.
fn type_rows(types: &[TypeMetrics]) -> Vec<(&'static str, u64, Duration)> {
    let (shown, others) = types.split_at(types.len().min(TYPES_SHOWN));
    let mut rows: Vec<_> = shown.iter().map(|row| (row.name, row.polls, row.busy)).collect();
    if !others.is_empty() {
        let polls = others.iter().map(|row| row.polls).sum();
        let busy = others.iter().map(|row| row.busy).sum();
        // If a pool has more types than there are numbers, the types without a number are already
        // a row of this name.
        match rows.iter_mut().find(|row| row.0 == OTHER) {
            Some(row) => *row = (OTHER, row.1 + polls, row.2 + busy),
            None => rows.push((OTHER, polls, busy)),
        }
    }
    rows
}

fn states(times: &StateTimes) -> [(&'static str, Duration); 5] {
    let StateTimes { poll, job, search, driver, park } = *times;
    [("poll", poll), ("job", job), ("search", search), ("driver", driver), ("park", park)]
}

/// The text so far.
struct Page<'a> {
    text: String,
    format: Format,
    pool: Option<&'a str>,
    /// The name of the family that is being written.
    name: &'static str,
}

type Label = (&'static str, String);

impl Page<'_> {
    /// Begins a family. `name` is without the suffix that counters have.
    fn family(&mut self, family: Family, name: &'static str, help: &str) {
        let kind = match family {
            Family::Counter => "counter",
            Family::Gauge => "gauge",
            Family::Histogram => "histogram",
        };
        // In the older format the suffix is part of the name.
        let is_suffixed = family == Family::Counter && self.format == Format::Prometheus;
        let suffix = if is_suffixed { "_total" } else { "" };
        self.name = name;
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "# HELP {name}{suffix} {help}");
        let _ = writeln!(self.text, "# TYPE {name}{suffix} {kind}");
    }

    fn counter(&mut self, labels: &[Label], value: impl Display) {
        self.line("_total", labels, value);
    }

    fn histogram(&mut self, histogram: &Histogram) {
        for (end, below) in histogram.octaves() {
            self.line("_bucket", &[("le", end.as_secs_f64().to_string())], below);
        }
        let count = histogram.count();
        self.line("_bucket", &[("le", "+Inf".to_owned())], count);
        self.line("_sum", &[], histogram.sum().as_secs_f64());
        self.line("_count", &[], count);
    }

    fn line(&mut self, suffix: &str, labels: &[Label], value: impl Display) {
        let pool = self.pool.map(|pool| ("pool", pool));
        let labels = labels.iter().map(|(name, value)| (*name, value.as_str()));
        let labels: Vec<_> = pool
            .into_iter()
            .chain(labels)
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{}{suffix}{labels} {value}", self.name);
    }
}

/// The value of a label, escaped.
fn escaped(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for character in value.chars() {
        match character {
            '\\' => escaped.push_str("\\\\"),
            '"' => escaped.push_str("\\\""),
            '\n' => escaped.push_str("\\n"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{TYPES_SHOWN, escaped, type_rows};
    use crate::door::type_metrics::TypeMetrics;
    use std::time::Duration;

    #[test]
    fn types_without_a_number_and_types_that_are_not_shown_are_one_row() {
        let busy = Duration::from_secs(1);
        let mut types = vec![TypeMetrics { name: "a", polls: 1, busy }; TYPES_SHOWN + 2];
        types[3].name = "other";
        let rows = type_rows(&types);
        let others: Vec<_> = rows.iter().filter(|row| row.0 == "other").collect();
        assert_eq!(others, [&("other", 3, 3 * busy)], "one shown row and two other rows");
        assert_eq!((rows.len(), rows.iter().map(|row| row.1).sum::<u64>()), (TYPES_SHOWN, 52));
        types.truncate(3);
        assert_eq!(type_rows(&types).len(), 3, "no row if there are no other types");
    }

    #[test]
    fn labels_cannot_end_early() {
        assert_eq!(escaped("a\"} 1\nb \\"), r#"a\"} 1\nb \\"#);
        assert_eq!(escaped("<script>"), "<script>");
    }
}
