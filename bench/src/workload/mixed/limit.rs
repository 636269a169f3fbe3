//! A fixed number in place of a contestant, for goals that are not a ratio.

use std::time::Duration;

use crate::workload::{Contest, Metric, Sample, nanoseconds};

/// Returns the same value in every turn.
#[derive(Debug)]
pub(in crate::workload) struct Limit(Sample);

impl Limit {
    /// The contestant whose `metric` is `value`.
    pub(super) fn of(metric: Metric, value: f64) -> Box<dyn Contest> {
        Box::new(Self(Sample::from([(metric, value)])))
    }

    /// How late a timer may be beside workers that are stuck.
    pub(in crate::workload) fn of_lateness() -> Box<dyn Contest> {
        Self::of(Metric::LateP99, nanoseconds(LATE))
    }
}

impl Contest for Limit {
    fn turn(&mut self) -> Result<Sample, String> {
        Ok(self.0.clone())
    }
}

const LATE: Duration = Duration::from_millis(2);
