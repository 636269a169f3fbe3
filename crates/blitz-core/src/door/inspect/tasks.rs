//! Tasks of a pool, by type and one by one.

#![forbid(unsafe_code)]

use super::summary::{big, nanos, now};
use crate::door::dump::json::{inner, list, object, string};
use crate::door::explain::{Explanation, WaitingTask};
use crate::door::type_metrics::TypeMetrics;
use crate::state::StallReport;
use crate::team::Team;
use crate::worker;
use std::collections::HashMap;

pub(super) fn fields(team: &Team, limit: usize) -> String {
    let explanation = Explanation::of(team);
    let (tasks, unlisted) = (explanation.tasks(), explanation.unlisted());
    let mut alive = HashMap::<&str, u64>::new();
    for task in tasks {
        *alive.entry(task.info().type_name()).or_default() += 1;
    }
    if unlisted > 0 {
        alive.insert("not waited yet", unlisted as u64);
    }
    let mut types: Vec<_> = TypeMetrics::of(team)
        .iter()
        .map(|row| {
            object([
                ("type", string(row.name)),
                ("alive", big(alive.remove(row.name).unwrap_or(0))),
                ("polls", big(row.polls)),
                ("busy_ns", nanos(row.busy)),
            ])
        })
        .collect();
    types.extend(alive.into_iter().map(|(name, count)| {
        object([
            ("type", string(name)),
            ("alive", big(count)),
            ("polls", big(0)),
            ("busy_ns", big(0)),
        ])
    }));
    inner([
        ("now_ns", now()),
        ("total", big((tasks.len() + unlisted) as u64)),
        ("types", list(types)),
        ("tasks", list(tasks.iter().take(limit).map(WaitingTask::to_json))),
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
    format!("{},{}", inner([("now_ns", now())]), Explanation::of(team).json_fields())
}
