//! A bridge to the crate `metrics`, with the feature `metrics`.
//!
//! [`publish`] runs on the thread that calls it, and no worker waits for it.

use crate::{Histogram, PoolMetrics};
use ::metrics::{Label, counter, gauge};
use blitz_core::{MetricFamily, MetricKind, MetricLabel, MetricSample, MetricValue};
use std::borrow::Cow;
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
    for MetricFamily { name, kind, samples, .. } in metrics.families(false) {
        for MetricSample { labels, value } in samples {
            // A program may have any number of types, and each would be a label.
            if labels.iter().any(|(label, _)| *label == "type") {
                continue;
            }
            match (value, kind) {
                (MetricValue::Count(count), MetricKind::Counter) => {
                    counter!(format!("{name}_total"), to.labels(labels)).absolute(count);
                }
                (MetricValue::Count(count), _) => to.show(name, labels, count as f64),
                (MetricValue::Seconds(time), _) => to.show(name, labels, time.as_secs_f64()),
                (MetricValue::Times(times), _) => to.distribution(name, times),
            }
        }
    }
}

/// Publishes values, each with the label of a pool.
struct Pool<'a>(&'a str);

impl Pool<'_> {
    fn labels(&self, labels: Vec<MetricLabel>) -> Vec<Label> {
        let pool = Label::new("pool", self.0.to_owned());
        let labels = labels.into_iter().map(|(name, value)| match value {
            Cow::Borrowed(value) => Label::from_static_parts(name, value),
            Cow::Owned(value) => Label::new(name, value),
        });
        [pool].into_iter().chain(labels).collect()
    }

    fn show(&self, name: &'static str, labels: Vec<MetricLabel>, value: f64) {
        gauge!(name, self.labels(labels)).set(value);
    }

    fn distribution(&self, name: &'static str, times: &Histogram) {
        for (q, label) in QUANTILES {
            // The last bucket has no end, so a quantile in that bucket is `Duration::MAX`.
            let time = times.quantile(q).filter(|time| *time < Duration::MAX);
            if let Some(time) = time {
                self.show(name, vec![("quantile", label.into())], time.as_secs_f64());
            }
        }
        gauge!(format!("{name}_sum"), self.labels(Vec::new())).set(times.sum().as_secs_f64());
        counter!(format!("{name}_count"), self.labels(Vec::new())).absolute(times.count());
    }
}
