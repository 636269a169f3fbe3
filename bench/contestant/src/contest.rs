//! The metrics of a contestant, and the turns in which it measures them.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

/// A metric that a turn can measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Wall time of one operation.
    Wall,
    /// CPU time of the whole process for one operation.
    Cpu,
    /// Median time until the job starts.
    StartP50,
    /// 99th percentile of the time until the job starts.
    StartP99,
    /// Median time until the caller has its result.
    ReturnP50,
    /// 90th percentile of the time until the caller has its result.
    ReturnP90,
    /// 99th percentile of the time until the caller has its result.
    ReturnP99,
    /// 99.9th percentile of the time until the caller has its result.
    ReturnP999,
    /// The longest time until the caller has its result.
    ReturnMax,
    /// 99th percentile of how late clients sent their requests. A request's latency includes this
    /// lateness.
    AskedP99,
    /// Wall time per job, for jobs that run beside requests.
    PerJob,
    /// CPU time of all threads except the measuring one, per idle second. One nanosecond stands for
    /// zero, so that the ratio of two zeros is one.
    IdleCpu,
    /// Memory per item, of many equal items.
    Memory,
    /// Median of how late timers fire.
    LateP50,
    /// 90th percentile of how late timers fire.
    LateP90,
    /// 99th percentile of how late timers fire.
    LateP99,
    /// 99.9th percentile of how late timers fire.
    LateP999,
    /// The largest lateness of a timer.
    LateMax,
    /// How often a task was polled per operation.
    Polls,
    /// How often a loop was cut for another worker.
    Forks,
    /// How many blocks a loop had.
    Blocks,
    /// How often a loop made a state for `map_init`.
    Inits,
}

/// The unit of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Time.
    Nanoseconds,
    /// Memory.
    Bytes,
    /// A count.
    Times,
}

impl Metric {
    /// Every metric.
    pub const ALL: [Self; 22] = [
        Self::Wall,
        Self::Cpu,
        Self::StartP50,
        Self::StartP99,
        Self::ReturnP50,
        Self::ReturnP90,
        Self::ReturnP99,
        Self::ReturnP999,
        Self::ReturnMax,
        Self::AskedP99,
        Self::PerJob,
        Self::IdleCpu,
        Self::Memory,
        Self::LateP50,
        Self::LateP90,
        Self::LateP99,
        Self::LateP999,
        Self::LateMax,
        Self::Polls,
        Self::Forks,
        Self::Blocks,
        Self::Inits,
    ];

    /// Counts that explain the time of a loop.
    pub const COUNTS: [Self; 3] = [Self::Forks, Self::Blocks, Self::Inits];

    /// The distribution of return times: metrics with their percentiles.
    pub const RETURNS: [(Self, f64); 5] = [
        (Self::ReturnP50, 50.0),
        (Self::ReturnP90, 90.0),
        (Self::ReturnP99, 99.0),
        (Self::ReturnP999, 99.9),
        (Self::ReturnMax, 100.0),
    ];

    /// The distribution of lateness: metrics with their percentiles.
    pub const LATES: [(Self, f64); 5] = [
        (Self::LateP50, 50.0),
        (Self::LateP90, 90.0),
        (Self::LateP99, 99.0),
        (Self::LateP999, 99.9),
        (Self::LateMax, 100.0),
    ];

    /// The unit of its values.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Self::Memory => Unit::Bytes,
            Self::Polls | Self::Forks | Self::Blocks | Self::Inits => Unit::Times,
            _ => Unit::Nanoseconds,
        }
    }
}

/// The measurements of one turn. A metric that the rival cannot provide is absent.
pub type Sample = BTreeMap<Metric, f64>;

/// A rival that is ready for its turns.
pub trait Contest {
    /// Waits until everything is set up, for contestants that are opened in the background.
    ///
    /// # Errors
    ///
    /// Returns a message if the setup fails.
    fn settle(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Takes one turn.
    ///
    /// # Errors
    ///
    /// Returns a message if a result is wrong, or if the turn cannot be measured.
    fn turn(&mut self) -> Result<Sample, String>;
}

/// Whether the caller is inside or outside the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// On a worker: the call forks right away.
    Inside,
    /// On a thread of its own: each call has to enter the pool.
    Outside,
}

impl Caller {
    /// The word for names and titles.
    ///
    /// ```
    /// assert_eq!(blitz_contestant::Caller::Inside.name(), "inside");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Inside => "inside",
            Self::Outside => "outside",
        }
    }
}

/// Converts a duration to the value of a [`Metric`].
///
/// ```
/// # use std::time::Duration;
/// assert_eq!(blitz_contestant::nanoseconds(Duration::from_micros(2)), 2_000.0);
/// ```
#[must_use]
pub fn nanoseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}
