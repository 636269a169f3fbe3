//! The cases of the async group.
//!
//! A case covers all numbers of workers, so that runtimes of different sizes take turns with each
//! other.

use super::{Goals, WALL, against, with_blitz};
use crate::{
    case::{Case, Measure, View},
    rival::RivalKind::{Forte, Smol, Tokio},
    workload::{Caller, Idle, Metric, TaskWorkload, Workload},
};

pub(super) fn cases() -> Vec<Case> {
    vec![
        spawn_many_inside(),
        spawn_many_outside(),
        spawn_join_inside(),
        spawn_join_outside(),
        yield_many(),
        ping_pong(),
        chained_spawn(),
        foreign_wake(),
        parked_memory(),
        parked_idle(),
    ]
}

/// The metrics of a case and their goals.
type Looks<'a> = &'a [(Measure, Goals<'a>)];

/// Makes a case of the rivals in the first goals, each with every number of workers.
fn case(
    name: &str,
    title: &str,
    workload: TaskWorkload,
    sizes: &[usize],
    looks: Looks<'_>,
) -> Case {
    let rivals = looks.first().map_or(&[][..], |(_, goals)| goals);
    let views = |&(measure, goals): &(Measure, Goals<'_>)| -> Vec<View> {
        sizes.iter().map(|workers| against(measure, *workers, goals)).collect()
    };
    Case {
        name: format!("async/{name}"),
        title: title.to_owned(),
        workload: Workload::Tasks(workload),
        contestants: sizes.iter().flat_map(|workers| with_blitz(rivals, *workers)).collect(),
        views: looks.iter().flat_map(views).collect(),
        quick: QUICK.contains(&name),
    }
}

fn spawn_many_inside() -> Case {
    case(
        "spawn-many/inside",
        "10,000 empty tasks started by a task, per task.",
        TaskWorkload::SpawnMany { tasks: 10_000, caller: Caller::Inside },
        &[1, 2],
        &[(WALL, &[(Tokio, Some(0.35)), (Smol, Some(1.0)), (Forte, Some(1.0))])],
    )
}

fn spawn_many_outside() -> Case {
    case(
        "spawn-many/outside",
        "10,000 empty tasks started by a foreign thread, per task.",
        TaskWorkload::SpawnMany { tasks: 10_000, caller: Caller::Outside },
        &[1, 2],
        &[(WALL, &[(Tokio, Some(0.35)), (Smol, Some(1.0))])],
    )
}

fn spawn_join_inside() -> Case {
    case(
        "spawn-join/inside",
        "A task starts another, waits for its output, and again; per task.",
        TaskWorkload::SpawnJoin { joins: 100, caller: Caller::Inside },
        &[1, 2],
        &[(WALL, &[(Tokio, Some(0.5)), (Smol, Some(1.0)), (Forte, Some(1.0))])],
    )
}

fn spawn_join_outside() -> Case {
    case(
        "spawn-join/outside",
        "A foreign thread starts a task, waits for its output, and again; per task.",
        TaskWorkload::SpawnJoin { joins: 100, caller: Caller::Outside },
        &[1, 2],
        &[(WALL, &[(Tokio, Some(0.5)), (Smol, Some(1.0))])],
    )
}

fn yield_many() -> Case {
    case(
        "yield-many",
        "200 tasks that yield 1,000 times each, per yield.",
        TaskWorkload::YieldMany { tasks: 200, yields: 1_000 },
        &[1, 2],
        &[(WALL, &[(Tokio, Some(0.6)), (Smol, Some(1.0)), (Forte, Some(1.0))])],
    )
}

fn ping_pong() -> Case {
    case(
        "ping-pong",
        "1,000 pairs of tasks that exchange a message and its answer, per pair.",
        TaskWorkload::PingPong { pairs: 1_000 },
        &[1, 2],
        &[(WALL, &[(Tokio, Some(0.5)), (Smol, Some(1.0)), (Forte, Some(1.0))])],
    )
}

fn chained_spawn() -> Case {
    case(
        "chained-spawn",
        "A chain of 1,000 tasks; each starts the next. Per task.",
        TaskWorkload::ChainedSpawn { links: 1_000 },
        &[1, 2],
        &[(WALL, &[(Tokio, Some(0.4)), (Smol, Some(1.0)), (Forte, Some(1.0))])],
    )
}

fn foreign_wake() -> Case {
    let median = Measure::Plain(Metric::StartP50);
    let tail = Measure::Plain(Metric::StartP99);
    case(
        "foreign-wake",
        "A foreign thread wakes a task of a sleeping runtime: the time until the task runs.",
        TaskWorkload::ForeignWake { workers: Idle::Asleep },
        &[2],
        &[
            (median, &[(Tokio, Some(0.8)), (Smol, Some(1.0))]),
            (tail, &[(Tokio, Some(1.0)), (Smol, Some(1.0))]),
        ],
    )
}

fn parked_memory() -> Case {
    case(
        "parked/memory",
        "Resident memory of a million tasks that wait, per task.",
        TaskWorkload::ParkedMemory { tasks: 1_000_000 },
        &[2],
        &[(
            Measure::Plain(Metric::Memory),
            &[(Tokio, Some(0.6)), (Smol, Some(1.0)), (Forte, Some(1.0))],
        )],
    )
}

fn parked_idle() -> Case {
    case(
        "parked/idle",
        "CPU time while 1,000 tasks wait, per second; 1 ns stands for none at all.",
        TaskWorkload::ParkedIdle { tasks: 1_000 },
        &[2],
        &[(
            Measure::Plain(Metric::IdleCpu),
            &[(Tokio, Some(1.0)), (Smol, Some(1.0)), (Forte, Some(1.0))],
        )],
    )
}

/// The cases of the group in a quick run.
const QUICK: [&str; 3] = ["spawn-many/inside", "ping-pong", "foreign-wake"];
