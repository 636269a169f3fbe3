//! Writes the metrics of a pool as text for Prometheus and similar tools.

#![forbid(unsafe_code)]

use super::families::{MetricFamily, MetricKind, MetricLabel, MetricSample, MetricValue};
use super::metrics::PoolMetrics;
use crate::state::Histogram;
use std::borrow::Cow;
use std::fmt::{Display, Write};

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
    ///
    /// ```
    /// # fn main() -> Result<(), blitz::BuildError> {
    /// let pool = blitz::Pool::builder().workers(2).build()?;
    /// let text = pool.metrics().exposition().pool("api").per_worker(true).to_prometheus();
    /// assert!(text.contains("pool=\"api\"") && text.contains("worker=\"1\""));
    /// # Ok(())
    /// # }
    /// ```
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
        let mut page = Page { text: String::new(), format, pool: self.pool.as_deref() };
        for family in self.metrics.families(self.per_worker) {
            page.family(&family);
        }
        if format == Format::OpenMetrics {
            page.text.push_str("# EOF\n");
        }
        page.text
    }
}

/// The text so far.
struct Page<'a> {
    text: String,
    format: Format,
    pool: Option<&'a str>,
}

impl Page<'_> {
    fn family(&mut self, family: &MetricFamily<'_>) {
        let &MetricFamily { name, help, kind, .. } = family;
        let kind = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        // In the older format the suffix is part of the name.
        let is_suffixed = family.kind == MetricKind::Counter && self.format == Format::Prometheus;
        let suffix = if is_suffixed { "_total" } else { "" };
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "# HELP {name}{suffix} {help}");
        let _ = writeln!(self.text, "# TYPE {name}{suffix} {kind}");
        let suffix = if family.kind == MetricKind::Counter { "_total" } else { "" };
        for MetricSample { labels, value } in &family.samples {
            match value {
                MetricValue::Count(count) => self.line(name, suffix, labels, count),
                MetricValue::Seconds(time) => self.line(name, suffix, labels, time.as_secs_f64()),
                MetricValue::Times(times) => self.histogram(name, times),
            }
        }
    }

    fn histogram(&mut self, name: &str, histogram: &Histogram) {
        let mut bucket = |end: Cow<'static, str>, below: u64| {
            self.line(name, "_bucket", &[("le", end)], below);
        };
        for (end, below) in histogram.octaves() {
            bucket(end.as_secs_f64().to_string().into(), below);
        }
        let count = histogram.count();
        bucket("+Inf".into(), count);
        self.line(name, "_sum", &[], histogram.sum().as_secs_f64());
        self.line(name, "_count", &[], count);
    }

    fn line(&mut self, name: &str, suffix: &str, labels: &[MetricLabel], value: impl Display) {
        let pool = self.pool.map(|pool| ("pool", pool));
        let labels = labels.iter().map(|(name, value)| (*name, &**value));
        let labels: Vec<_> = pool
            .into_iter()
            .chain(labels)
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{name}{suffix}{labels} {value}");
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
    use super::escaped;

    #[test]
    fn labels_cannot_end_early() {
        assert_eq!(escaped("a\"} 1\nb \\"), r#"a\"} 1\nb \\"#);
        assert_eq!(escaped("<script>"), "<script>");
    }
}
