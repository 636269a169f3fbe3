//! The table of ratios on stdout, losses first.

use std::fmt::Write as _;

use blitz_bench::{
    case::Measure,
    report::{CaseReport, ContestantReport, Report},
    stats::Spread,
    verdict::Row,
    workload::{Metric, Unit},
};

use crate::units;

/// The whole text after a run: the machine, the losses, the wins, and what did not run.
pub fn render(report: &Report) -> String {
    let mut text = String::new();
    for (label, value) in report.machine.lines() {
        push_line(&mut text, &format!("{label:13} {value}"));
    }
    push_line(&mut text, &format!("{:13} {} (seed {})", "pace", report.pace, report.seed));
    for evidence in &report.evidence {
        push_line(&mut text, &format!("{:13} {evidence}", "programs"));
    }

    let rows = report.rows();
    let losses = rows.iter().take_while(|row| row.verdict.is_loss()).count();
    let (losses, others) = rows.split_at(losses);
    section(&mut text, "LOSSES: Blitz is slower than the rival or misses its goal", losses);
    section(&mut text, "WINS", others);

    for case in report.cases_losses_first() {
        for (name, percentiles) in DISTRIBUTIONS {
            distribution(&mut text, case, name, &percentiles);
        }
    }
    for case in report.cases_losses_first() {
        if let Some(lines) = counts(case) {
            push_line(&mut text, &format!("\n{}: per run, median", case.name));
            columns(&mut text, &lines);
        }
    }
    for problem in problems(report) {
        push_line(&mut text, &problem);
    }
    push_line(&mut text, EXPLANATION);
    text
}

/// Metrics that together form a distribution.
pub const DISTRIBUTIONS: [(&str, [(Metric, f64); 5]); 2] =
    [("latency", Metric::RETURNS), ("lateness", Metric::LATES)];

/// Metrics that are shown beside a distribution.
const BESIDE: [(&str, Metric); 3] =
    [("asked", Metric::AskedP99), ("per job", Metric::PerJob), ("cpu", Metric::Cpu)];

/// A percentile as a heading, for example `p99.9`.
pub fn percentile(percent: f64) -> String {
    if percent < 100.0 { format!("p{percent}") } else { "max".to_owned() }
}

/// Writes a line for each contestant whose whole distribution is known.
fn distribution(text: &mut String, case: &CaseReport, name: &str, percentiles: &[(Metric, f64)]) {
    let time = |spread: Option<Spread>| units::median_cost(Unit::Nanoseconds, spread);
    let known = |metric, one: &ContestantReport| Some(one.metrics.get(&metric)?.spread);
    let line = |one: &ContestantReport| {
        let mut cells = vec![one.contestant.to_string()];
        cells.extend(one.distribution(percentiles)?.into_iter().map(|at| time(Some(at))));
        cells.extend(BESIDE.map(|(_, metric)| time(known(metric, one))));
        Some(cells)
    };
    let lines: Vec<Vec<String>> = case.contestants.iter().filter_map(line).collect();
    if lines.is_empty() {
        return;
    }
    push_line(text, &format!("\n{}: {name}, median of {} rounds", case.name, case.rounds));
    let mut heading = vec!["who".to_owned()];
    heading.extend(percentiles.iter().map(|(_, percent)| percentile(*percent)));
    heading.extend(BESIDE.map(|(name, _)| name.to_owned()));
    columns(text, &[&[heading], &lines[..]].concat());
}

/// The counts beside the times: headings, then a line for each contestant that has any.
pub fn counts(case: &CaseReport) -> Option<Vec<Vec<String>>> {
    let measures = [Metric::Wall].into_iter().chain(Metric::COUNTS).map(Measure::Plain);
    let line = |one: &ContestantReport| {
        let is_known = Metric::COUNTS.iter().any(|count| one.metrics.contains_key(count));
        let cell = |measure: Measure| {
            let Measure::Plain(metric) = measure else { return String::new() };
            let spread = one.metrics.get(&metric).map(|measured| measured.spread);
            units::median_cost(measure.unit(), spread)
        };
        let cells = measures.clone().map(cell);
        is_known.then(|| [one.contestant.to_string()].into_iter().chain(cells).collect())
    };
    let lines: Vec<Vec<String>> = case.contestants.iter().filter_map(line).collect();
    let names = measures.clone().map(|measure| measure.name().to_owned());
    let heading: Vec<String> = ["who".to_owned()].into_iter().chain(names).collect();
    (!lines.is_empty()).then(|| [&[heading], &lines[..]].concat())
}

/// The headings of the table.
pub const HEADINGS: [&str; COLUMNS] = [
    "workload",
    "who",
    "workers",
    "measure",
    "against",
    "ratio (p10..p90)",
    "goal",
    "verdict",
    "its cost",
    "rival's",
    "cpu",
    "speed-up",
];

/// A row as texts, one per heading.
pub fn cells(row: &Row) -> [String; COLUMNS] {
    let (subject, reference) = (row.subject, row.reference);
    let against = match subject.rival == reference.rival {
        true => "itself",
        false => reference.rival.name(),
    };
    let workers = match subject.workers == reference.workers {
        true => subject.workers.to_string(),
        false => format!("{} to {}", subject.workers, reference.workers),
    };
    let goal = or_dash(row.goal.map(|goal| format!("<= {}", units::ratio(goal))));
    [
        row.case.clone(),
        subject.rival.name().to_owned(),
        workers,
        row.measure.clone(),
        against.to_owned(),
        units::ratio_with_spread(row.ratio),
        goal,
        row.verdict.name().to_owned(),
        units::median_cost(row.unit, row.subject_cost),
        units::median_cost(row.unit, row.reference_cost),
        or_dash(row.cpu_ratio.map(|cpu| units::ratio(cpu.median))),
        or_dash(row.speed_up.map(units::ratio)),
    ]
}

/// One sentence for each case or contestant that failed, was skipped or was disturbed.
pub fn problems(report: &Report) -> Vec<String> {
    let mut problems = Vec::new();
    for case in &report.cases {
        if let Some(why) = &case.skipped {
            problems.push(format!("{} was skipped: {why}", case.name));
        }
        if let Some(others) = case.others_cpus.filter(|others| *others >= DISTURBING_CPUS) {
            let name = &case.name;
            problems.push(format!(
                "{name}: other programs kept {others:.1} CPUs busy, so do not trust its rows"
            ));
        }
        for contestant in &case.contestants {
            if let Some(why) = &contestant.failure {
                problems.push(format!("{}: {} {why}", case.name, contestant.contestant));
            }
        }
    }
    problems
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

fn section(text: &mut String, title: &str, rows: &[Row]) {
    push_line(text, &format!("\n{title} ({})", rows.len()));
    if rows.is_empty() {
        return;
    }
    let mut lines = vec![HEADINGS.map(str::to_owned).to_vec()];
    lines.extend(rows.iter().map(|row| cells(row).to_vec()));
    columns(text, &lines);
}

/// Writes lines of cells as aligned columns. Every line has the same number of cells.
fn columns(text: &mut String, lines: &[Vec<String>]) {
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max();
    for line in lines {
        let pad = |(column, cell): (usize, &String)| {
            let width = width(column).unwrap_or(0);
            format!("{cell:width$}")
        };
        let padded: Vec<String> = line.iter().enumerate().map(pad).collect();
        push_line(text, padded.join("  ").trim_end());
    }
}

fn push_line(text: &mut String, line: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{line}");
}

const COLUMNS: usize = 12;

/// More than this many busy CPUs disturb a case. The system itself takes a few hundredths.
const DISTURBING_CPUS: f64 = 0.2;

const EXPLANATION: &str = "
ratio: Blitz's cost divided by the rival's in the same round, median (10th..90th percentile);
below 1 Blitz is cheaper. cpu: the same for CPU time. speed-up: sequential time divided by Blitz's.
near: the ratio is above the goal, or above 1, but the rounds do not show it with 95 % confidence,
for which at least six rounds are needed.
per job: wall time divided by jobs; cpu beside latencies is per job or per operation. asked: how late
the clients sent their requests, at the 99th percentile; latencies include this delay. limit: not a
rival, but the number that is the goal.
+rayon: tasks hand jobs to Rayon and wait for a channel; tokio-slice: Tokio's workers have a shorter
kernel slice; in-place, blocking: jobs by block_in_place and spawn_blocking. rayon-on-blitz: Rayon's
iterators on the drop-in core. forks, blocks, inits: how often a loop was cut for another worker, how
many blocks it took its items in, how many states map_init made.
tokio-metrics, -console, -dial9 against tokio: what a tool that looks inside costs Tokio.
alone: one of the two contestants has no value, for example because it cannot run the workload.
told: neither more nor less is better, or both are rivals, or one of the two is a floor, the least
that every program has to do: bare, a server without a runtime; floor, a fork that no thief can
take; halves, two threads with half of the work each.";

#[cfg(test)]
pub mod tests {
    use blitz_bench::{
        case::Contestant,
        machine::MachineCard,
        report::{CaseReport, ContestantReport, Measured},
        rival::RivalKind::{Blitz, Rayon},
        stats::Spread,
        verdict::Verdict,
        workload::{Pace, Unit},
    };

    use super::*;

    pub fn row(case: &str, ratio: f64, goal: Option<f64>, verdict: Verdict) -> Row {
        Row {
            case: case.to_owned(),
            measure: "wall".to_owned(),
            subject: Contestant::new(Blitz, 2),
            reference: Contestant::new(Rayon, 2),
            unit: Unit::Nanoseconds,
            subject_cost: Spread::of(&[ratio * 1e6]),
            reference_cost: Spread::of(&[1e6]),
            ratio: Spread::of(&[ratio]),
            cpu_ratio: None,
            speed_up: Some(1.5),
            goal,
            verdict,
        }
    }

    /// A report with a win, a loss, a failure and a skipped case.
    pub fn report() -> Report {
        let case = |name: &str, row: Row| CaseReport {
            name: name.to_owned(),
            title: "Less < more & \"so on\".".to_owned(),
            rounds: 3,
            others_cpus: Some(0.1),
            skipped: None,
            contestants: [(row.subject, row.subject_cost), (row.reference, row.reference_cost)]
                .map(|(contestant, spread)| ContestantReport {
                    contestant,
                    failure: None,
                    metrics: Default::default(),
                    measures: spread
                        .map(|spread| ("wall".to_owned(), spread))
                        .into_iter()
                        .collect(),
                })
                .into(),
            rows: vec![row],
        };
        let mut report = Report::new(Pace::Quick, 9, MachineCard::read());
        report.cases.push(case("group/won", row("group/won", 0.5, Some(0.6), Verdict::Met)));
        report.cases.push(case("group/lost", row("group/lost", 2.0, None, Verdict::Slower)));
        report.cases[1].others_cpus = Some(1.25);
        report.cases[1].contestants[1].failure = Some("hangs".to_owned());
        let mut skipped = report.cases[0].clone();
        skipped.skipped = Some("needs memory".to_owned());
        skipped.rows.clear();
        report.cases.push(skipped);
        report
    }

    #[test]
    fn losses_stand_above_wins() {
        let text = render(&report());
        let at = |needle: &str| text.find(needle).unwrap_or_else(|| panic!("no {needle}"));
        assert!(at("LOSSES") < at("group/lost"));
        assert!(at("group/lost  ") < at("WINS"));
        assert!(at("WINS") < at("group/won  "));
        assert!(at("CPU") < at("LOSSES"), "the machine is described");
    }

    #[test]
    fn cases_that_did_not_run_are_listed() {
        let text = render(&report());
        assert!(text.contains("group/lost: rayon x2 hangs"));
        assert!(text.contains("group/lost: other programs kept 1.2 CPUs busy"));
        assert!(!text.contains("group/won: other programs"));
        assert!(text.contains("group/won was skipped: needs memory"));
    }

    #[test]
    fn counts_stand_beside_the_time() {
        let mut report = report();
        assert_eq!(counts(&report.cases[0]), None);
        let measured = |value| {
            let spread = Spread::of(&[value]).unwrap();
            Measured { spread, samples: vec![value] }
        };
        let metrics = [(Metric::Wall, measured(2e3)), (Metric::Forks, measured(2.0))];
        report.cases[0].contestants[0].metrics = metrics.into();
        let lines = counts(&report.cases[0]).unwrap();
        assert_eq!(lines[0], ["who", "wall", "forks", "blocks", "inits"]);
        assert_eq!(lines[1..], [["blitz x2", "2.00 us", "2.000", "-", "-"]]);
        assert!(render(&report).contains("group/won: per run, median"));
    }

    #[test]
    fn a_row_shows_ratio_goal_and_verdict() {
        let cells = cells(&row("group/case", 0.5, Some(0.6), Verdict::Met));
        let expected =
            ["group/case", "blitz", "2", "wall", "rayon", "0.50x (0.50..0.50)", "<= 0.60x", "met"];
        assert_eq!(cells[..8], expected);
        assert_eq!(cells[10..], ["-", "1.50x"]);
    }

    #[test]
    fn a_row_against_itself_shows_both_sizes() {
        let mut row = row("group/case", 1.1, Some(1.25), Verdict::Met);
        row.subject = Contestant::new(Blitz, 16);
        row.reference = Contestant::new(Blitz, 2);
        let cells = cells(&row);
        assert_eq!((cells[2].as_str(), cells[4].as_str()), ("16 to 2", "itself"));
    }
}
