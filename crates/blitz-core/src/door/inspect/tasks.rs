//! Tasks of a pool, by type and one by one.

#![forbid(unsafe_code)]

use super::summary::{big, nanos, now};
use crate::door::dump::json::{inner, list, null, object, string};
use crate::door::task_info::{TaskInfo, TaskList};
use crate::door::type_metrics::TypeMetrics;
use crate::team::Team;
use std::collections::BTreeMap;
use std::time::Duration;

/// The type of tasks that are counted and not listed.
const UNLISTED: &str = "(has not waited yet)";

/// The tasks of one type.
#[derive(Clone, Copy, Default)]
struct Kind {
    alive: usize,
    /// The longest wait of one of them.
    oldest: Duration,
}

/// What was measured of the tasks of one type.
#[derive(Clone, Copy, Default)]
struct Measured {
    polls: u64,
    busy: Duration,
}

pub(super) fn fields(team: &Team, limit: usize) -> String {
    let tasks = TaskList::of(team);
    let mut kinds = BTreeMap::<&str, Kind>::new();
    for task in &tasks {
        let kind = kinds.entry(task.type_name()).or_default();
        kind.alive += 1;
        kind.oldest = kind.oldest.max(task.idle().unwrap_or_default());
    }
    if tasks.unlisted() > 0 {
        kinds.insert(UNLISTED, Kind { alive: tasks.unlisted(), ..Kind::default() });
    }
    let mut types: Vec<_> = TypeMetrics::of(team)
        .iter()
        .map(|row| {
            let measured = Measured { polls: row.polls, busy: row.busy };
            of_type(row.name, kinds.remove(row.name).unwrap_or_default(), measured)
        })
        .collect();
    types.extend(kinds.into_iter().map(|(name, kind)| of_type(name, kind, Measured::default())));
    inner([
        ("now_ns", now()),
        ("total", big((tasks.len() + tasks.unlisted()) as u64)),
        ("types", list(types)),
        ("tasks", list(tasks.iter().take(limit).map(TaskInfo::to_json))),
    ])
}

fn of_type(name: &str, kind: Kind, measured: Measured) -> String {
    object([
        ("type", string(name)),
        ("alive", big(kind.alive as u64)),
        ("oldest_ms", string(&kind.oldest.as_millis().to_string())),
        ("polls", big(measured.polls)),
        ("busy_ns", nanos(measured.busy)),
    ])
}

pub(super) fn stalls(team: &Team) -> String {
    inner([
        ("now_ns", now()),
        ("total", big(team.stalls.get())),
        ("stalls", list(Vec::<String>::new())),
    ])
}

pub(super) fn explain(_: &Team) -> String {
    inner([("now_ns", now()), ("verdict", null())])
}
