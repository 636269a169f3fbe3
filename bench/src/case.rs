//! A case: a workload, its contestants, and the comparisons with their goals.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    rival::RivalKind,
    workload::{Metric, Sample, Unit, Workload},
};

/// One line of the catalogue.
#[derive(Debug, Clone)]
pub struct Case {
    /// `group/workload/variant`, unique; `--only` selects cases by this name.
    pub name: String,
    /// One sentence for a reader of the report.
    pub title: String,
    /// The workload.
    pub workload: Workload,
    /// The contestants.
    pub contestants: Vec<Contestant>,
    /// The comparisons.
    pub views: Vec<View>,
    /// Whether a quick run includes the case even if `--only` does not name it.
    pub quick: bool,
}

impl Case {
    /// The part of the name before the first slash.
    #[must_use]
    pub fn group(&self) -> &str {
        self.name.split('/').next().unwrap_or(&self.name)
    }

    /// The same workload with two builds of Blitz beside each other instead of rivals.
    ///
    /// For each measure, every variant of Blitz in the case is compared with its older build, if it
    /// has one. Returns `None` if no variant of Blitz in the case has an older build.
    #[must_use]
    pub fn beside_older(mut self) -> Option<Self> {
        let twin = self.twin();
        let ours = self.contestants.iter().copied().filter(|one| one.rival.is_ours());
        let ours: Vec<Contestant> = ours.collect();
        let comparison = |subject: &Contestant| {
            let reference = Contestant { rival: subject.rival.older()?, ..*subject };
            Some(Comparison { subject: *subject, reference, goal: Some(GOAL_BESIDE_OLDER) })
        };
        let comparisons: Vec<Comparison> = ours.iter().filter_map(comparison).collect();
        if comparisons.is_empty() {
            return None;
        }
        let builds = comparisons.iter().flat_map(|two| [two.subject, two.reference]);
        self.contestants = builds.chain(twin).collect();
        let mut views: Vec<View> = Vec::new();
        for View { measure, .. } in self.views {
            // A case may have several views of one measure, one for each number of workers. Here
            // one view of the measure compares them all.
            if !views.iter().any(|view| view.measure == measure) {
                views.push(View { measure, comparisons: comparisons.clone() });
            }
        }
        self.views = views;
        Some(self)
    }

    /// The contestant that is the sequential twin, if it takes part.
    #[must_use]
    pub fn twin(&self) -> Option<Contestant> {
        self.contestants.iter().copied().find(|contestant| contestant.rival == RivalKind::Seq)
    }
}

/// The largest ratio that a change may cause: about the smallest difference that one run can show.
const GOAL_BESIDE_OLDER: f64 = 1.02;

/// A rival with a number of workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Contestant {
    /// Which pool.
    pub rival: RivalKind,
    /// How many threads compute.
    pub workers: usize,
}

impl Contestant {
    /// `rival` with `workers` workers.
    #[must_use]
    pub fn new(rival: RivalKind, workers: usize) -> Self {
        Self { rival, workers }
    }
}

impl fmt::Display for Contestant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rival {
            RivalKind::Seq => f.write_str(self.rival.name()),
            _ => write!(f, "{} x{}", self.rival.name(), self.workers),
        }
    }
}

/// One number per contestant and round, and its comparisons.
#[derive(Debug, Clone)]
pub struct View {
    /// Which number.
    pub measure: Measure,
    /// The pairs that are compared.
    pub comparisons: Vec<Comparison>,
}

/// A ratio `subject / reference`; less is better, unless the measure is a count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// The numerator.
    pub subject: Contestant,
    /// The denominator.
    pub reference: Contestant,
    /// The largest ratio that meets the goal, if there is one.
    pub goal: Option<f64>,
}

impl Comparison {
    /// Whether it shows what a tool costs a rival. Then Blitz can neither win nor lose.
    #[must_use]
    pub fn has_rivals_only(&self) -> bool {
        self.subject.rival.looks_into_tokio()
    }
}

/// A number computed from the measurements of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The metric as it is.
    Plain(Metric),
    /// Wall time minus the sequential twin's in the same round, divided by the number of forks.
    PerFork(u64),
}

impl Measure {
    /// The value of a turn that measured `sample` in a round in which the twin measured `twin`.
    #[must_use]
    pub fn value(self, sample: &Sample, twin: Option<&Sample>) -> Option<f64> {
        let wall = |sample: &Sample| sample.get(&Metric::Wall).copied();
        match self {
            Self::Plain(metric) => sample.get(&metric).copied(),
            Self::PerFork(forks) => Some((wall(sample)? - wall(twin?)?) / forks as f64),
        }
    }

    /// The name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PerFork(_) => "per fork",
            Self::Plain(Metric::Wall) => "wall",
            Self::Plain(Metric::Cpu) => "cpu",
            Self::Plain(Metric::StartP50) => "start p50",
            Self::Plain(Metric::StartP99) => "start p99",
            Self::Plain(Metric::ReturnP50) => "return p50",
            Self::Plain(Metric::ReturnP90) => "return p90",
            Self::Plain(Metric::ReturnP99) => "return p99",
            Self::Plain(Metric::ReturnP999) => "return p99.9",
            Self::Plain(Metric::ReturnMax) => "return max",
            Self::Plain(Metric::AskedP99) => "asked p99",
            Self::Plain(Metric::PerJob) => "per job",
            Self::Plain(Metric::IdleCpu) => "idle cpu",
            Self::Plain(Metric::Memory) => "memory",
            Self::Plain(Metric::LateP50) => "late p50",
            Self::Plain(Metric::LateP90) => "late p90",
            Self::Plain(Metric::LateP99) => "late p99",
            Self::Plain(Metric::LateP999) => "late p99.9",
            Self::Plain(Metric::LateMax) => "late max",
            Self::Plain(Metric::Polls) => "polls",
            Self::Plain(Metric::Forks) => "forks",
            Self::Plain(Metric::Blocks) => "blocks",
            Self::Plain(Metric::Inits) => "inits",
        }
    }

    /// The unit of its values.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Self::Plain(metric) => metric.unit(),
            Self::PerFork(_) => Unit::Nanoseconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_costs_the_difference_to_the_twin() {
        let sample = Sample::from([(Metric::Wall, 110.0), (Metric::Cpu, 7.0)]);
        let twin = Sample::from([(Metric::Wall, 10.0)]);
        let twin = Some(&twin);
        let value = |measure: Measure| measure.value(&sample, twin);
        assert_eq!(value(Measure::Plain(Metric::Wall)), Some(110.0));
        assert_eq!(value(Measure::PerFork(50)), Some(2.0));
        assert_eq!(value(Measure::Plain(Metric::StartP99)), None);
        assert_eq!(Measure::PerFork(50).value(&sample, None), None);
    }

    #[test]
    fn two_builds_take_the_place_of_the_rivals() {
        let cases = crate::catalogue::cases();
        let case = cases.into_iter().find(|case| case.name.contains("empty-tree")).unwrap();
        let case = case.beside_older().unwrap();
        let kinds = case.contestants.iter().map(|one| one.rival);
        assert!(kinds.clone().any(|kind| kind == RivalKind::Before));
        assert!(!kinds.clone().any(|kind| kind == RivalKind::Rayon));
        let view = &case.views[0];
        assert!(!view.comparisons.is_empty());
        for two in &view.comparisons {
            assert_eq!(two.reference.rival.newer(), Some(two.subject.rival));
            assert_eq!(two.reference.workers, two.subject.workers);
        }
    }

    #[test]
    fn two_builds_are_compared_once_per_measure_and_size() {
        for case in crate::catalogue::cases().into_iter().filter_map(Case::beside_older) {
            let mut seen = Vec::new();
            for view in &case.views {
                for two in &view.comparisons {
                    let row = (view.measure, two.subject, two.reference);
                    assert!(!seen.contains(&row), "{}: {row:?} appears again", case.name);
                    seen.push(row);
                }
            }
        }
    }

    #[test]
    fn a_case_without_blitz_has_no_older_build() {
        let case = Case {
            name: String::new(),
            title: String::new(),
            workload: crate::catalogue::cases()[0].workload,
            contestants: vec![Contestant::new(RivalKind::Seq, 1)],
            views: Vec::new(),
            quick: true,
        };
        assert!(case.beside_older().is_none());
    }

    #[test]
    fn contestants_are_named_with_their_workers() {
        assert_eq!(Contestant::new(RivalKind::Blitz, 16).to_string(), "blitz x16");
        assert_eq!(Contestant::new(RivalKind::Seq, 1).to_string(), "seq");
    }
}
