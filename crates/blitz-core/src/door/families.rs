//! The metrics of a pool as families with names and labels, from which each format is written.

#![forbid(unsafe_code)]

use super::metrics::{PoolMetrics, WorkerMetrics};
use super::type_metrics::TypeMetrics;
use crate::state::{Histogram, StallKind, StateTimes};
use std::borrow::Cow;
use std::time::Duration;

/// How many types of tasks get their own samples. The others are counted together.
const TYPES_SHOWN: usize = 50;
/// The name under which the other types are counted, here and in [`TypeMetrics`].
const OTHER: &str = "other";

/// A family of metrics: samples with one name.
#[derive(Clone, Debug)]
pub struct MetricFamily<'a> {
    /// The name, without the suffix that counters have in some formats.
    pub name: &'static str,
    /// What the samples count.
    pub help: &'static str,
    /// What the samples are.
    pub kind: MetricKind,
    /// The samples, which differ in their labels.
    pub samples: Vec<MetricSample<'a>>,
}

/// What the samples of a family are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// They never get less.
    Counter,
    /// They may get less.
    Gauge,
    /// They are histograms.
    Histogram,
}

/// A label's name and value.
pub type MetricLabel = (&'static str, Cow<'static, str>);

/// A value with its labels.
#[derive(Clone, Debug)]
pub struct MetricSample<'a> {
    /// The labels, without that of the pool.
    pub labels: Vec<MetricLabel>,
    /// The value.
    pub value: MetricValue<'a>,
}

/// The value of a sample.
#[derive(Clone, Copy, Debug)]
pub enum MetricValue<'a> {
    /// A whole number.
    Count(u64),
    /// A time, which formats write in seconds.
    Seconds(Duration),
    /// Times in buckets.
    Times(&'a Histogram),
}

impl From<u64> for MetricValue<'_> {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<usize> for MetricValue<'_> {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<Duration> for MetricValue<'_> {
    fn from(time: Duration) -> Self {
        Self::Seconds(time)
    }
}

impl PoolMetrics {
    /// Returns all metrics. With `per_worker` those of workers have a label; else they are summed.
    ///
    /// This is the only place where names and labels are written down. Texts and bridges differ
    /// only in their formats.
    #[doc(hidden)]
    #[must_use]
    pub fn families(&self, per_worker: bool) -> Vec<MetricFamily<'_>> {
        let mut families = Families(Vec::new());
        families.workers(self, per_worker);
        families.tasks(self);
        families.types(&self.types);
        families.regions(self);
        families.histograms(self);
        families.rest(self);
        families.0
    }

    /// Each worker with its label, or the sum of all without a label.
    fn by_worker(&self, per_worker: bool) -> Vec<(Vec<MetricLabel>, WorkerMetrics)> {
        if !per_worker {
            return vec![(Vec::new(), self.total())];
        }
        let label = |index: usize| vec![("worker", index.to_string().into())];
        let workers = self.workers.iter().enumerate();
        workers.map(|(index, worker)| (label(index), *worker)).collect()
    }
}

/// The families so far.
struct Families<'a>(Vec<MetricFamily<'a>>);

impl<'a> Families<'a> {
    /// Begins a family.
    fn family(&mut self, kind: MetricKind, name: &'static str, help: &'static str) {
        self.0.push(MetricFamily { name, help, kind, samples: Vec::new() });
    }

    fn counter(&mut self, name: &'static str, help: &'static str) {
        self.family(MetricKind::Counter, name, help);
    }

    fn gauge(&mut self, name: &'static str, help: &'static str) {
        self.family(MetricKind::Gauge, name, help);
    }

    /// Adds a sample to the family that was begun last.
    fn add(&mut self, labels: Vec<MetricLabel>, value: impl Into<MetricValue<'a>>) {
        let family = self.0.last_mut().expect("a family was begun");
        family.samples.push(MetricSample { labels, value: value.into() });
    }

    /// Adds samples that differ in the value of one label.
    fn add_by<V: Into<MetricValue<'a>>>(
        &mut self,
        name: &'static str,
        values: impl IntoIterator<Item = (&'static str, V)>,
    ) {
        for (label, value) in values {
            self.add(vec![(name, label.into())], value);
        }
    }

    fn workers(&mut self, metrics: &PoolMetrics, per_worker: bool) {
        self.gauge("blitz_workers", "Workers, spares included.");
        self.add(Vec::new(), metrics.workers.len());
        let workers = metrics.by_worker(per_worker);
        self.counter("blitz_worker_state_seconds", "Time of the workers by activity.");
        for (labels, worker) in &workers {
            for (state, time) in states(&worker.time) {
                self.add(with(labels, [("state", state)]), time);
            }
        }
        let help = "Time in which worker threads were runnable but had no core.";
        self.counter("blitz_run_delay_seconds", help);
        for (labels, worker) in &workers {
            self.add(labels.clone(), worker.run_delay);
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
            self.counter(name, help);
            for (labels, worker) in &workers {
                self.add(labels.clone(), read(worker));
            }
        }
        self.counter("blitz_steals", "Attempts to take work from other workers.");
        for (labels, worker) in &workers {
            let (tried, won) = (worker.leapfrogs_tried, worker.leapfrogs);
            let searches = worker.steals_tried.saturating_sub(tried);
            let found = worker.steals_succeeded.saturating_sub(won);
            for (kind, tried, won) in [("search", searches, found), ("leapfrog", tried, won)] {
                for (result, count) in [("success", won), ("failure", tried.saturating_sub(won))] {
                    self.add(with(labels, [("kind", kind), ("result", result)]), count);
                }
            }
        }
    }

    fn tasks(&mut self, metrics: &PoolMetrics) {
        let tasks = &metrics.tasks;
        self.counter("blitz_tasks_spawned", "Tasks spawned.");
        self.add(Vec::new(), tasks.spawned);
        self.counter("blitz_tasks_ended", "Tasks that have ended.");
        self.add_by("outcome", [("completed", tasks.completed), ("cancelled", tasks.cancelled)]);
        self.counter("blitz_polls", "Polls of tasks.");
        self.add(Vec::new(), tasks.polled);
        self.counter("blitz_tasks_stolen", "Tasks taken from other workers.");
        self.add(Vec::new(), tasks.stolen);
        self.gauge("blitz_tasks", "Tasks that have not ended, by state.");
        let counts =
            [("waiting", tasks.idle), ("queued", tasks.queued()), ("running", tasks.running)];
        self.add_by("state", counts);
        self.gauge("blitz_queue_depth", "Waiting tasks and jobs by queue.");
        let queues = [
            ("shared", tasks.queue_depth),
            ("workers", tasks.worker_queue_depths.iter().sum()),
            ("jobs", metrics.total().queued),
            ("blocking", tasks.blocking_queue_depth),
        ];
        self.add_by("queue", queues);
        self.gauge("blitz_blocking_threads", "Threads for closures that may block.");
        let busy = tasks.blocking_threads.saturating_sub(tasks.idle_blocking_threads);
        self.add_by("state", [("busy", busy), ("idle", tasks.idle_blocking_threads)]);
    }

    fn types(&mut self, types: &[TypeMetrics]) {
        let rows = type_rows(types);
        self.counter("blitz_type_polls", "Polls by type of task, estimated.");
        self.add_by("type", rows.iter().map(|(name, polls, _)| (*name, *polls)));
        self.counter("blitz_type_busy_seconds", "Time in polls by type of task, estimated.");
        self.add_by("type", rows.iter().map(|(name, _, busy)| (*name, *busy)));
    }

    fn regions(&mut self, metrics: &PoolMetrics) {
        let rows = || metrics.regions.iter();
        self.counter("blitz_region_runs", "Regions that have ended, by name.");
        self.add_by("region", rows().map(|row| (row.name, row.runs)));
        self.counter("blitz_region_seconds", "Time from start to end of regions, by name.");
        self.add_by("region", rows().map(|row| (row.name, row.wall)));
        let help = "Jobs stolen from workers while they ran a region, by its name.";
        self.counter("blitz_region_stolen_jobs", help);
        self.add_by("region", rows().map(|row| (row.name, row.stolen)));
    }

    fn histograms(&mut self, metrics: &'a PoolMetrics) {
        let tasks = &metrics.tasks;
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
            self.family(MetricKind::Histogram, name, help);
            self.add(Vec::new(), MetricValue::Times(histogram));
        }
    }

    fn rest(&mut self, metrics: &PoolMetrics) {
        self.counter("blitz_stalls", "Polls and jobs that took too long.");
        self.add_by("kind", StallKind::ALL.map(|kind| (kind.name(), metrics.stalls_of(kind))));
        let help = "Workers that are stuck in a poll or job at this moment.";
        self.gauge("blitz_stalled_workers", help);
        self.add(Vec::new(), metrics.stalled_workers);
        self.counter("blitz_panics_reported", "Panics of detached work.");
        self.add(Vec::new(), metrics.panics_reported);
        self.gauge("blitz_spares", "Threads beyond the workers, by state.");
        let resting = metrics.spares.saturating_sub(metrics.spares_in_service);
        self.add_by("state", [("working", metrics.spares_in_service), ("resting", resting)]);
        let trace = &metrics.trace;
        self.counter("blitz_trace_events", "Events recorded.");
        let lanes = [("busy", trace.busy), ("rare", trace.rare), ("outside", trace.outside)];
        self.add_by("lane", lanes);
        self.counter("blitz_trace_lost", "Events that could not be recorded.");
        self.add(Vec::new(), trace.lost);
    }
}

/// `labels` and some more.
fn with<const N: usize>(
    labels: &[MetricLabel],
    more: [(&'static str, &'static str); N],
) -> Vec<MetricLabel> {
    let more = more.map(|(name, value)| (name, Cow::Borrowed(value)));
    labels.iter().cloned().chain(more).collect()
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

#[cfg(test)]
mod tests {
    use super::{TYPES_SHOWN, type_rows};
    use crate::door::type_metrics::TypeMetrics;
    use std::time::Duration;

    #[test]
    fn types_without_a_number_and_types_that_are_not_shown_are_one_row() {
        let busy = Duration::from_secs(1);
        let mut types = vec![TypeMetrics { name: "a", polls: 1, busy, p99: busy }; TYPES_SHOWN + 2];
        types[3].name = "other";
        let rows = type_rows(&types);
        let others: Vec<_> = rows.iter().filter(|row| row.0 == "other").collect();
        assert_eq!(others, [&("other", 3, 3 * busy)], "one shown row and two other rows");
        assert_eq!((rows.len(), rows.iter().map(|row| row.1).sum::<u64>()), (TYPES_SHOWN, 52));
        types.truncate(3);
        assert_eq!(type_rows(&types).len(), 3, "no row if there are no other types");
    }
}
