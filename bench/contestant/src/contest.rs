//! What a contestant can be asked for, and what it answers.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

/// What a turn can measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Wall time of one repetition.
    Wall,
    /// CPU time of the whole process for one repetition.
    Cpu,
    /// Median time until the job starts.
    StartP50,
    /// 99th percentile of the time until the job starts.
    StartP99,
    /// Median time until the caller has its result.
    ReturnP50,
    /// 90th percentile of the same.
    ReturnP90,
    /// 99th percentile of the time until the caller has its result.
    ReturnP99,
    /// 99.9th percentile of the same.
    ReturnP999,
    /// The longest of these times.
    ReturnMax,
    /// 99th percentile of how late clients asked: a part of their latencies.
    AskedP99,
    /// Wall time per job, of jobs done beside something else.
    PerJob,
    /// CPU time of all threads but the measuring one, per second in which nothing happens. One
    /// nanosecond stands for none at all, so that nothing divided by nothing is one.
    IdleCpu,
    /// Memory of one of many equal things.
    Memory,
    /// Median of how late something was.
    LateP50,
    /// 90th percentile of the same.
    LateP90,
    /// 99th percentile of how late something was.
    LateP99,
    /// 99.9th percentile of the same.
    LateP999,
    /// How late the latest was.
    LateMax,
    /// How often a task was polled per operation.
    Polls,
    /// How often a loop was cut in two for another worker.
    Forks,
    /// How many blocks a loop took its items in.
    Blocks,
    /// How often a loop made a state for `map_init`.
    Inits,
}

/// What a metric is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Time.
    Nanoseconds,
    /// Memory.
    Bytes,
    /// How often.
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

    /// What explains the time of a loop.
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

    /// What its values are counted in.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Self::Memory => Unit::Bytes,
            Self::Polls | Self::Forks | Self::Blocks | Self::Inits => Unit::Times,
            _ => Unit::Nanoseconds,
        }
    }
}

/// What one turn measured. If a metric is absent, the rival cannot provide it.
pub type Sample = BTreeMap<Metric, f64>;

/// A rival that is ready for its turns.
pub trait Contest {
    /// Waits until everything is set up, for contestants that are opened in the background.
    ///
    /// # Errors
    ///
    /// Returns what went wrong while setting up.
    fn settle(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Takes one turn.
    ///
    /// # Errors
    ///
    /// Returns what went wrong if a result is not the sequential twin's.
    fn turn(&mut self) -> Result<Sample, String>;
}

/// On which side of the pool's door the caller stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// On a worker: the call forks right away.
    Inside,
    /// On a thread of its own: each call has to enter the pool.
    Outside,
}

impl Caller {
    /// The word in names and titles.
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

/// A duration as the values of a [`Metric`] have it.
///
/// ```
/// # use std::time::Duration;
/// assert_eq!(blitz_contestant::nanoseconds(Duration::from_micros(2)), 2_000.0);
/// ```
#[must_use]
pub fn nanoseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}
