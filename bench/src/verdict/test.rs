//! Verdicts and the order of rows.

use std::collections::BTreeMap;

use super::*;
use crate::{
    case::View,
    rival::RivalKind::{
        self, Bare, Blitz, Chili, Floor, Halves, Rayon, Seq, SeqRight, Tokio, TokioDial9,
    },
    workload::{Sample, Workload},
};

fn blitz() -> Contestant {
    Contestant::new(Blitz, 2)
}

/// A case in which Blitz is compared with each rival, and one round per list of wall times (Blitz,
/// twin, then the rivals; 0 stands for dropping out).
fn measured(goals: &[(RivalKind, Option<f64>)], rounds: &[&[f64]]) -> Vec<Row> {
    measured_of(blitz(), goals, rounds)
}

/// Does the same as [`measured`], with `subject` in the place of Blitz.
fn measured_of(
    subject: Contestant,
    goals: &[(RivalKind, Option<f64>)],
    rounds: &[&[f64]],
) -> Vec<Row> {
    let rivals: Vec<Contestant> =
        goals.iter().map(|(rival, _)| Contestant::new(*rival, 2)).collect();
    let comparisons = goals.iter().zip(&rivals);
    let case = Case {
        name: "group/case".to_owned(),
        title: String::new(),
        workload: Workload::Fib { n: 1 },
        contestants: [subject, Contestant::new(Seq, 1)]
            .into_iter()
            .chain(rivals.iter().copied())
            .collect(),
        views: vec![View {
            measure: Measure::Plain(Metric::Wall),
            comparisons: comparisons
                .map(|(&(_, goal), &reference)| Comparison { subject, reference, goal })
                .collect(),
        }],
        quick: true,
    };
    let mut outcome = Outcome::default();
    for walls in rounds {
        let mut round = BTreeMap::new();
        for (&contestant, &wall) in case.contestants.iter().zip(*walls) {
            if wall > 0.0 {
                round.insert(contestant, Sample::from([(Metric::Wall, wall)]));
            } else {
                outcome.failures.insert(contestant, "dropped out".to_owned());
            }
        }
        outcome.samples.push(round);
    }
    rows(&case, &outcome)
}

#[test]
fn a_goal_decides_and_being_slower_is_said_anyway() {
    let goals = [(Rayon, Some(0.4)), (Chili, Some(1.2))];
    let rows = measured(&goals, &[&[11.0, 22.0, 30.0, 10.0]]);
    assert_eq!(rows[0].verdict, Verdict::Met);
    assert_eq!(rows[1].verdict, Verdict::Slower, "within the goal, but slower");
    let rows = measured(&goals, &[&[13.0, 22.0, 30.0, 10.0]]);
    assert_eq!(rows[0].verdict, Verdict::Missed);
    assert_eq!(rows[1].verdict, Verdict::Missed);
}

#[test]
fn the_cost_of_a_rivals_tool_is_no_loss_and_neither_is_its_failure() {
    let tool = Contestant::new(TokioDial9, 2);
    let verdict = |wall| measured_of(tool, &[(Tokio, None)], &[&[wall, 1.0, 10.0]])[0].verdict;
    assert_eq!([30.0, 5.0, 0.0].map(verdict), [Verdict::Told, Verdict::Told, Verdict::Unmatched]);
}

#[test]
fn an_uncertain_difference_is_near() {
    // One round in three is better than the goal. With nine rounds that may be chance, with sixty
    // it is not.
    let three: [&[f64]; 3] = [&[12.0, 22.0, 10.0], &[12.0, 22.0, 10.0], &[9.0, 22.0, 10.0]];
    for goal in [None, Some(1.0)] {
        let of = |times: usize| measured(&[(Rayon, goal)], &three.repeat(times))[0].verdict;
        assert_eq!(of(3), Verdict::Near);
        assert!(of(3).is_loss() && of(20).is_loss());
        assert_ne!(of(20), Verdict::Near);
    }
}

#[test]
fn without_a_goal_the_faster_one_wins() {
    let rows = measured(&[(Rayon, None), (Chili, None)], &[&[2.0, 4.0, 3.0, 1.0]]);
    assert_eq!(rows[0].verdict, Verdict::Faster);
    assert_eq!(rows[1].verdict, Verdict::Slower);
    assert_eq!(rows[0].speed_up, Some(2.0));
}

#[test]
fn a_missing_value_is_a_failure_of_blitz_but_not_of_a_rival() {
    let goals = [(Rayon, Some(1.0))];
    let no_rival = measured(&goals, &[&[2.0, 4.0, 0.0]]);
    assert_eq!(no_rival[0].verdict, Verdict::Unmatched);
    assert!(!no_rival[0].verdict.is_loss());
    let no_blitz = measured(&goals, &[&[0.0, 4.0, 3.0]]);
    assert_eq!(no_blitz[0].verdict, Verdict::Failed);
    assert!(no_blitz[0].verdict.is_loss());
}

#[test]
fn earlier_rounds_do_not_excuse_dropping_out() {
    let rounds: &[&[f64]] = &[&[1.0, 4.0, 3.0], &[0.0, 4.0, 0.0]];
    let rows = measured(&[(Rayon, Some(1.0))], rounds);
    assert_eq!(rows[0].verdict, Verdict::Failed);
    assert!(rows[0].ratio.is_some(), "what was measured is still shown");
}

#[test]
fn against_itself_only_the_goal_counts() {
    let mut comparison =
        Comparison { subject: Contestant::new(Blitz, 16), reference: blitz(), goal: Some(1.25) };
    let ratio = Spread::of(&[1.1]);
    assert_eq!(Verdict::of(&comparison, ratio, ratio), Verdict::Met);
    comparison.goal = Some(1.05);
    assert_eq!(Verdict::of(&comparison, ratio, ratio), Verdict::Missed);
}

#[test]
fn a_row_with_the_floor_is_shown_without_a_verdict() {
    let rows = measured(&[(Bare, None)], &[&[3.0, 4.0, 1.0]]);
    assert_eq!(rows[0].verdict, Verdict::Told);
    let rows = measured(&[(Bare, None)], &[&[0.0, 4.0, 1.0]]);
    assert_eq!(
        rows[0].verdict,
        Verdict::Failed,
        "Blitz fails if it drops out, even in a row with a floor"
    );
}

#[test]
fn a_floor_that_fails_is_no_loss() {
    for floor in [Bare, Floor, Halves, SeqRight] {
        let subject = Contestant::new(floor, 2);
        let rows = measured_of(subject, &[(Seq, None)], &[&[0.0, 4.0, 4.0]]);
        assert_eq!(rows[0].verdict, Verdict::Unmatched, "{floor:?}");
        assert!(!rows[0].verdict.is_loss());
    }
}

#[test]
fn losses_come_first_and_the_worst_of_them_at_the_top() {
    let row = |name: &str, verdict, ratio: Option<f64>, goal| Row {
        case: name.to_owned(),
        verdict,
        ratio: ratio.and_then(|ratio| Spread::of(&[ratio])),
        goal,
        ..measured(&[(Rayon, None)], &[&[1.0, 1.0, 1.0]]).remove(0)
    };
    let mut rows = [
        row("first win", Verdict::Met, Some(0.9), Some(1.0)),
        row("small loss", Verdict::Slower, Some(1.1), None),
        row("second win", Verdict::Faster, Some(0.1), None),
        row("alone", Verdict::Unmatched, None, Some(1.0)),
        row("failure", Verdict::Failed, None, Some(1.0)),
        row("six times the goal", Verdict::Missed, Some(0.6), Some(0.1)),
        row("big loss", Verdict::Slower, Some(3.0), None),
    ];
    losses_first(&mut rows);
    let names: Vec<&str> = rows.iter().map(|row| row.case.as_str()).collect();
    let losses = ["failure", "six times the goal", "big loss", "small loss"];
    let others = ["first win", "second win", "alone"];
    assert_eq!(names, [&losses[..], &others[..]].concat());
}
