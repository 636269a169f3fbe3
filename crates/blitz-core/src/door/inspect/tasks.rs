//! Tasks of a pool, by type and one by one.

#![forbid(unsafe_code)]

use super::summary::{big, nanos, now};
use crate::door::dump::json::{inner, list, object, string};
use crate::door::explain::{Explanation, WaitingTask};
use crate::door::type_metrics::TypeMetrics;
use crate::state::StallReport;
use crate::team::Team;
use crate::worker;
use std::collections::BTreeMap;
use std::time::Duration;

/// The type name of tasks that are counted but not listed.
const UNLISTED: &str = "(has not waited yet)";

/// The tasks of one type.
#[derive(Clone, Copy, Default)]
struct Kind {
    alive: usize,
    /// The longest time that one of these tasks has waited so far.
    oldest: Duration,
}

/// The measurements of the tasks of one type.
#[derive(Clone, Copy, Default)]
struct Measured {
    polls: u64,
    busy: Duration,
    p99: Duration,
}

pub(super) fn fields(team: &Team, limit: usize) -> String {
    let explanation = Explanation::of(team);
    let (tasks, unlisted) = (explanation.tasks(), explanation.unlisted());
    let mut kinds = BTreeMap::<&str, Kind>::new();
    for task in tasks {
        let kind = kinds.entry(task.info().type_name()).or_default();
        kind.alive += 1;
        kind.oldest = kind.oldest.max(task.info().idle().unwrap_or_default());
    }
    if unlisted > 0 {
        kinds.insert(UNLISTED, Kind { alive: unlisted, ..Kind::default() });
    }
    let mut types: Vec<_> = TypeMetrics::of(team)
        .iter()
        .map(|row| {
            let measured = Measured { polls: row.polls, busy: row.busy, p99: row.p99 };
            of_type(row.name, kinds.remove(row.name).unwrap_or_default(), measured)
        })
        .collect();
    types.extend(kinds.into_iter().map(|(name, kind)| of_type(name, kind, Measured::default())));
    inner([
        ("now_ns", now()),
        ("total", big((tasks.len() + unlisted) as u64)),
        ("types", list(types)),
        ("tasks", list(tasks.iter().take(limit).map(WaitingTask::to_json))),
    ])
}

fn of_type(name: &str, kind: Kind, measured: Measured) -> String {
    object([
        ("type", string(name)),
        ("alive", big(kind.alive as u64)),
        ("oldest_ms", string(&kind.oldest.as_millis().to_string())),
        ("polls", big(measured.polls)),
        ("busy_ns", nanos(measured.busy)),
        ("p99_ns", nanos(measured.p99)),
    ])
}

pub(super) fn stalls(team: &Team) -> String {
    let reports = worker::stalls(team);
    inner([
        ("now_ns", now()),
        ("total", big(team.stalls.counts().iter().sum())),
        ("stalls", list(reports.iter().map(StallReport::to_json))),
    ])
}

pub(super) fn explain(team: &Team) -> String {
    explanation(&Explanation::of(team))
}

pub(super) fn probe(team: &Team) -> String {
    explanation(&Explanation::probed(team))
}

fn explanation(explanation: &Explanation) -> String {
    format!("{},{}", inner([("now_ns", now())]), explanation.json_fields())
}
