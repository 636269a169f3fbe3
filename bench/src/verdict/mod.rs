//! Turns the samples of a case into rows of ratios, each with its verdict, losses first.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::{
    case::{Case, Comparison, Contestant, Measure},
    contest::Outcome,
    stats::Spread,
    workload::{Metric, Unit},
};

/// One comparison, measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The name of the case.
    pub case: String,
    /// What was measured, as a word for tables.
    pub measure: String,
    /// The numerator's contestant.
    pub subject: Contestant,
    /// The denominator's contestant.
    pub reference: Contestant,
    /// The unit of both costs.
    pub unit: Unit,
    /// The subject's cost; `None` if it has none.
    pub subject_cost: Option<Spread>,
    /// The reference's cost; `None` if it has none.
    pub reference_cost: Option<Spread>,
    /// Subject divided by reference, taken round by round.
    pub ratio: Option<Spread>,
    /// CPU time of the subject divided by that of the reference, if both are known and the measure
    /// is a wall time.
    pub cpu_ratio: Option<Spread>,
    /// How many times faster than its sequential twin the subject is, if there is one.
    pub speed_up: Option<f64>,
    /// The largest ratio that meets the goal.
    pub goal: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
}

/// The verdict of a row about Blitz.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The subject dropped out or has no value.
    Failed,
    /// There is a goal, and the ratio is certainly above it.
    Missed,
    /// The ratio is above the goal, or above 1 against another rival, but these rounds cannot show
    /// it for certain.
    Near,
    /// The rival is certainly faster, and the ratio is not certainly above a goal.
    Slower,
    /// The goal is met.
    Met,
    /// There is no goal, and the rival is not faster.
    Faster,
    /// The reference has no value: there is nothing to compare with. Or the subject, a floor or a
    /// rival, has none.
    Unmatched,
    /// The measure is not a cost, so neither more nor less is better; or one of the two contestants
    /// is a floor and not a rival; or both are rivals.
    Told,
}

impl Verdict {
    /// Whether the row belongs to the top of the table.
    #[must_use]
    pub fn is_loss(self) -> bool {
        matches!(self, Self::Failed | Self::Missed | Self::Near | Self::Slower)
    }

    /// The word in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Failed => "FAILED",
            Self::Missed => "MISSED",
            Self::Near => "near",
            Self::Slower => "slower",
            Self::Met => "met",
            Self::Faster => "faster",
            Self::Unmatched => "alone",
            Self::Told => "told",
        }
    }

    /// Judges a comparison by the median of its ratio, and by how certain that median is.
    fn of(comparison: &Comparison, subject: Option<Spread>, ratio: Option<Spread>) -> Self {
        let Some(ratio) = ratio else {
            return match subject {
                Some(_) => Self::Unmatched,
                None => Self::Failed,
            };
        };
        let against_itself = comparison.subject.rival == comparison.reference.rival;
        let above = |limit| (ratio.median > limit).then_some(ratio.median_low > limit);
        let above_goal = comparison.goal.and_then(above);
        let above_rival = above(1.0).filter(|_| !against_itself);
        match comparison.goal {
            _ if above_goal == Some(true) => Self::Missed,
            _ if above_rival == Some(true) => Self::Slower,
            _ if above_goal == Some(false) => Self::Near,
            _ if above_rival == Some(false) => Self::Near,
            Some(_) => Self::Met,
            None => Self::Faster,
        }
    }
}

/// All rows of one case, in the order of the catalogue.
#[must_use]
pub fn rows(case: &Case, outcome: &Outcome) -> Vec<Row> {
    let views = case.views.iter();
    views
        .flat_map(|view| {
            let compare = |comparison| row(case, view.measure, comparison, outcome);
            view.comparisons.iter().map(compare)
        })
        .collect()
}

/// Moves losses to the front, the worst first. Other rows keep their order.
pub fn losses_first(rows: &mut [Row]) {
    rows.sort_by(|one, other| match (one.loss(), other.loss()) {
        (Some(one), Some(other)) => other.total_cmp(&one),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    });
}

impl Row {
    /// How bad a loss is: the factor by which the ratio exceeds its limit.
    fn loss(&self) -> Option<f64> {
        self.verdict.is_loss().then(|| {
            let allowed = self.goal.unwrap_or(1.0);
            match (self.verdict, self.ratio) {
                (Verdict::Failed, _) | (_, None) => f64::INFINITY,
                (_, Some(ratio)) => ratio.median / allowed,
            }
        })
    }
}

fn row(case: &Case, measure: Measure, comparison: &Comparison, outcome: &Outcome) -> Row {
    let twin = case.twin();
    let values = |contestant, measure| outcome.samples.values(contestant, measure, twin);
    let ratio_of = |measure| {
        let subject = values(comparison.subject, measure);
        let reference = values(comparison.reference, measure);
        Spread::of_ratio(&subject, &reference)
    };
    let spread = |contestant| {
        let known: Vec<f64> = values(contestant, measure).into_iter().flatten().collect();
        Spread::of(&known)
    };

    let subject_cost = spread(comparison.subject);
    let ratio = ratio_of(measure);
    let is_wall = matches!(measure, Measure::PerFork(_) | Measure::Plain(Metric::Wall));
    let speed_up = twin.filter(|_| is_wall).and_then(|twin| {
        let wall = Measure::Plain(Metric::Wall);
        Spread::of_ratio(&values(twin, wall), &values(comparison.subject, wall))
    });
    // A rival's failure is no loss of Blitz, and neither is that of a floor.
    let is_about_others = comparison.has_rivals_only() || comparison.subject.rival.is_floor();
    let is_told =
        measure.unit() == Unit::Times || is_about_others || comparison.reference.rival.is_floor();
    Row {
        case: case.name.clone(),
        measure: measure.name().to_owned(),
        subject: comparison.subject,
        reference: comparison.reference,
        unit: measure.unit(),
        subject_cost,
        reference_cost: spread(comparison.reference),
        ratio,
        cpu_ratio: ratio_of(Measure::Plain(Metric::Cpu)).filter(|_| is_wall),
        speed_up: speed_up.map(|speed_up| speed_up.median),
        goal: comparison.goal,
        // A contestant that drops out after some rounds has failed, even if it has measurements.
        verdict: match outcome.failures.contains_key(&comparison.subject) {
            true if is_about_others => Verdict::Unmatched,
            true => Verdict::Failed,
            false if is_about_others && subject_cost.is_none() => Verdict::Unmatched,
            false if is_told && ratio.is_some() => Verdict::Told,
            false => Verdict::of(comparison, subject_cost, ratio),
        },
    }
}

#[cfg(test)]
mod test;
