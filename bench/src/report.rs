//! The result of a whole run, in the shape in which it is written as JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    case::{Case, Contestant, Measure},
    contest::Outcome,
    machine::MachineCard,
    stats::Spread,
    verdict::{self, Row},
    workload::{Metric, Pace},
};

/// A run of `blitz bench`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Counts the incompatible changes of this format.
    pub schema: u32,
    /// `quick` or `full`.
    pub pace: String,
    /// The seed of the order of turns.
    pub seed: u64,
    /// The machine.
    pub machine: MachineCard,
    /// Evidence that the right code was measured, for cases that could measure the wrong code.
    #[serde(default)]
    pub evidence: Vec<String>,
    /// The cases.
    pub cases: Vec<CaseReport>,
}

/// A case and its results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseReport {
    /// `group/workload/variant`.
    pub name: String,
    /// One sentence about the case.
    pub title: String,
    /// How many rounds were run. Contestants that dropped out took fewer turns.
    pub rounds: usize,
    /// How many processors other programs kept busy while the case ran, on average.
    pub others_cpus: Option<f64>,
    /// Why the case was not run, if it was not.
    pub skipped: Option<String>,
    /// The contestants.
    pub contestants: Vec<ContestantReport>,
    /// The comparisons.
    pub rows: Vec<Row>,
}

/// The measurements of one contestant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContestantReport {
    /// The contestant.
    pub contestant: Contestant,
    /// Why it dropped out, if it did.
    pub failure: Option<String>,
    /// Its measurements.
    pub metrics: BTreeMap<Metric, Measured>,
    /// Summaries of the numbers that the rows compare, by name.
    pub measures: BTreeMap<String, Spread>,
}

/// All samples of one metric, in its unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Their summary.
    #[serde(flatten)]
    pub spread: Spread,
    /// The values, one for each round in which the contestant measured the metric.
    pub samples: Vec<f64>,
}

impl Report {
    /// An empty report.
    #[must_use]
    pub fn new(pace: Pace, seed: u64, machine: MachineCard) -> Self {
        let pace = pace.name().to_owned();
        Self { schema: SCHEMA, pace, seed, machine, evidence: Vec::new(), cases: Vec::new() }
    }

    /// All comparisons of all cases, losses first.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let rows = self.cases.iter().flat_map(|case| &case.rows);
        let mut rows: Vec<Row> = rows.cloned().collect();
        verdict::losses_first(&mut rows);
        rows
    }

    /// The cases, those with the worst losses first.
    #[must_use]
    pub fn cases_losses_first(&self) -> Vec<&CaseReport> {
        let rows = self.rows();
        let worst = |case: &&CaseReport| {
            let lost = rows.iter().take_while(|row| row.verdict.is_loss());
            lost.clone().position(|row| row.case == case.name).unwrap_or(lost.count())
        };
        let mut cases: Vec<&CaseReport> = self.cases.iter().collect();
        cases.sort_by_key(worst);
        cases
    }
}

impl CaseReport {
    /// Summarises the outcome of `case`.
    #[must_use]
    pub fn new(case: &Case, outcome: &Outcome, others_cpus: Option<f64>) -> Self {
        let contestants = case.contestants.iter();
        Self {
            name: case.name.clone(),
            title: case.title.clone(),
            rounds: outcome.samples.rounds(),
            others_cpus,
            skipped: None,
            contestants: contestants
                .map(|contestant| ContestantReport::new(case, *contestant, outcome))
                .collect(),
            rows: verdict::rows(case, outcome),
        }
    }

    /// Reports why `case` was not run.
    #[must_use]
    pub fn skipped(case: &Case, why: String) -> Self {
        Self {
            name: case.name.clone(),
            title: case.title.clone(),
            rounds: 0,
            others_cpus: None,
            skipped: Some(why),
            contestants: Vec::new(),
            rows: Vec::new(),
        }
    }
}

impl ContestantReport {
    /// The spreads of metrics that are a distribution, if all are known.
    #[must_use]
    pub fn distribution(&self, percentiles: &[(Metric, f64)]) -> Option<Vec<Spread>> {
        let spread = |(metric, _): &(Metric, f64)| Some(self.metrics.get(metric)?.spread);
        percentiles.iter().map(spread).collect()
    }

    fn new(case: &Case, contestant: Contestant, outcome: &Outcome) -> Self {
        let known = |measure| -> Vec<f64> {
            let values = outcome.samples.values(contestant, measure, case.twin());
            values.into_iter().flatten().collect()
        };
        let metric = |metric| {
            let samples = known(Measure::Plain(metric));
            let spread = Spread::of(&samples)?;
            Some((metric, Measured { spread, samples }))
        };
        let measure = |measure: Measure| {
            let spread = Spread::of(&known(measure))?;
            Some((measure.name().to_owned(), spread))
        };
        Self {
            contestant,
            failure: outcome.failures.get(&contestant).cloned(),
            metrics: Metric::ALL.into_iter().filter_map(metric).collect(),
            measures: case.views.iter().filter_map(|view| measure(view.measure)).collect(),
        }
    }
}

const SCHEMA: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        case::{Comparison, View},
        rival::RivalKind::{Blitz, Rayon},
        workload::{Sample, Workload},
    };

    fn report() -> Report {
        let (blitz, rayon) = (Contestant::new(Blitz, 2), Contestant::new(Rayon, 2));
        let case = Case {
            name: "group/case".to_owned(),
            title: "A case.".to_owned(),
            workload: Workload::Fib { n: 5 },
            contestants: vec![blitz, rayon],
            views: vec![View {
                measure: Measure::Plain(Metric::Wall),
                comparisons: vec![Comparison { subject: blitz, reference: rayon, goal: Some(0.4) }],
            }],
            quick: true,
        };
        let mut outcome = Outcome::default();
        let wall = |value| Sample::from([(Metric::Wall, value)]);
        outcome.samples.push([(blitz, wall(1.0)), (rayon, wall(4.0))].into());
        outcome.samples.push([(blitz, wall(3.0))].into());
        outcome.failures.insert(rayon, "tired".to_owned());
        let mut report = Report::new(Pace::Quick, 7, MachineCard::read());
        report.cases.push(CaseReport::new(&case, &outcome, Some(0.25)));
        report.cases.push(CaseReport::skipped(&case, "no memory".to_owned()));
        report
    }

    #[test]
    fn json_has_the_documented_shape() {
        let json = serde_json::to_value(report()).unwrap();
        assert_eq!(json["schema"], 2);
        assert_eq!(json["pace"], "quick");
        assert_eq!(json["seed"], 7);
        assert!(json["machine"]["rustc"].is_string());
        let case = &json["cases"][0];
        assert_eq!(case["name"], "group/case");
        assert_eq!(case["rounds"], 2);
        assert_eq!(case["others_cpus"], 0.25);
        let blitz = &case["contestants"][0];
        assert_eq!(blitz["contestant"]["rival"], "blitz");
        assert_eq!(blitz["metrics"]["wall"]["median"], 2.0);
        assert_eq!(blitz["metrics"]["wall"]["samples"][1], 3.0);
        assert_eq!(case["contestants"][1]["failure"], "tired");
        let row = &case["rows"][0];
        assert_eq!(row["ratio"]["median"], 0.25);
        assert_eq!(row["unit"], "nanoseconds");
        assert_eq!(row["subject_cost"]["median"], 2.0);
        assert_eq!(row["verdict"], "met");
        assert_eq!(json["cases"][1]["skipped"], "no memory");
    }

    #[test]
    fn cases_with_losses_come_first() {
        let mut report = report();
        let mut lost = report.cases[0].clone();
        lost.name = "group/lost".to_owned();
        for row in &mut lost.rows {
            row.case.clone_from(&lost.name);
            row.verdict = verdict::Verdict::Missed;
        }
        report.cases.push(lost);
        let names: Vec<&str> =
            report.cases_losses_first().iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names, ["group/lost", "group/case", "group/case"]);
    }

    #[test]
    fn a_distribution_is_whole_or_none() {
        let report = report();
        let blitz = &report.cases[0].contestants[0];
        assert_eq!(blitz.distribution(&[(Metric::Wall, 50.0)]).map(|all| all.len()), Some(1));
        assert_eq!(blitz.distribution(&Metric::RETURNS), None);
    }

    #[test]
    fn json_can_be_read_back() {
        let report = report();
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
    }
}
