//! Tasks of a pool, by type and one by one.

#![forbid(unsafe_code)]

use super::summary::{big, nanos, now};
use crate::door::dump::json::{inner, list, null, object, string};
use crate::door::dump::{Dump, TaskDump};
use crate::door::type_metrics::TypeMetrics;
use crate::state::StallReport;
use crate::team::Team;
use crate::worker;
use std::collections::HashMap;

pub(super) fn fields(team: &Team, limit: usize) -> String {
    let tasks = Dump::of(team).tasks;
    let mut alive = HashMap::<&str, u64>::new();
    for task in &tasks {
        *alive.entry(task.type_name.unwrap_or("not polled yet")).or_default() += 1;
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
    let shown = tasks.iter().enumerate().take(limit);
    inner([
        ("now_ns", now()),
        ("total", big(tasks.len() as u64)),
        ("types", list(types)),
        ("tasks", list(shown.map(|(number, task)| of(number, task)))),
    ])
}

fn of(number: usize, task: &TaskDump) -> String {
    object([
        ("id", string(&format!("{number:#x}"))),
        ("type", task.type_name.map_or_else(null, string)),
        ("name", task.name.as_deref().map_or_else(null, string)),
        ("state", string(&task.state)),
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

pub(super) fn explain(_: &Team) -> String {
    inner([("now_ns", now()), ("verdict", null())])
}
