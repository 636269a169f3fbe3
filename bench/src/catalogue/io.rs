//! The cases of the I/O group.

use std::time::Duration;

use super::{Goals, WALL, against, with_blitz, with_floor};
use crate::{
    case::{Case, Contestant, Measure},
    load::{Talk, Tool},
    rival::RivalKind::{Bare, Smol, Tokio},
    workload::{IoWorkload, Metric, Stall, Workload},
};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for bytes in [64, 16 * 1024] {
        cases.extend([64, 512].map(|connections| echo(bytes, connections)));
    }
    cases.extend([64, 256].map(hello));
    for tool in Tool::ALL {
        cases.extend([64, 256].map(|connections| driven(tool, connections)));
    }
    cases.extend([timeouts(), sleeps(), stalled()]);
    cases
}

const CPU: Measure = Measure::Plain(Metric::Cpu);
const TAIL: Measure = Measure::Plain(Metric::ReturnP99);
const LATE: Measure = Measure::Plain(Metric::LateP99);

fn case(
    name: &str,
    title: &str,
    workload: IoWorkload,
    workers: usize,
    looks: &[(Measure, Goals<'_>)],
) -> Case {
    let rivals = looks.first().map_or(&[][..], |(_, goals)| goals);
    let views = looks.iter().map(|(measure, goals)| against(*measure, workers, goals));
    Case {
        name: format!("io/{name}"),
        title: title.to_owned(),
        workload: Workload::Io(workload),
        contestants: with_blitz(rivals, workers).collect(),
        views: views.collect(),
        quick: QUICK.contains(&name),
    }
}

/// A rate of 1.1 times Tokio's corresponds to a time of 1 / 1.1.
const A_TENTH_MORE: f64 = 1.0 / 1.1;

fn echo(bytes: usize, connections: usize) -> Case {
    let case = case(
        &format!("echo-{bytes}/{connections}-connections"),
        &format!("TCP echo of {bytes} bytes, {connections} connections, per request."),
        IoWorkload::Serving { talk: Talk::Echo(bytes), connections },
        2,
        &[
            (WALL, &[(Tokio, Some(A_TENTH_MORE)), (Smol, Some(1.0))]),
            (CPU, &[(Tokio, Some(0.9)), (Smol, Some(1.0))]),
        ],
    );
    // With a second thread the floor would cost more, because the clients use the other core.
    with_floor(Contestant::new(Bare, 1), Contestant::new(Tokio, 2), case)
}

fn hello(connections: usize) -> Case {
    case(
        &format!("hello-hyper/{connections}-connections"),
        &format!("HTTP/1.1 by hyper, {connections} connections, per request."),
        IoWorkload::Serving { talk: Talk::Hello, connections },
        2,
        &[
            (WALL, &[(Tokio, Some(1.0 / 1.05)), (Smol, Some(1.0))]),
            (TAIL, &[(Tokio, Some(1.0)), (Smol, Some(1.0))]),
            (CPU, &[(Tokio, None), (Smol, None)]),
        ],
    )
}

fn driven(tool: Tool, connections: usize) -> Case {
    let name = tool.name();
    let goals: Goals<'_> = &[(Tokio, Some(1.0)), (Smol, Some(1.0))];
    case(
        &format!("hello-hyper/{name}-{connections}"),
        &format!("HTTP/1.1 by hyper, {connections} connections of {name}, per request."),
        IoWorkload::Driven { tool, connections },
        2,
        &[(WALL, goals), (TAIL, goals), (CPU, &[(Tokio, None), (Smol, None)])],
    )
}

fn timeouts() -> Case {
    case(
        "timeouts",
        "A million timers that are started and given up, per timer.",
        IoWorkload::Timeouts { count: 1_000_000 },
        2,
        &[(WALL, &[(Tokio, Some(0.3)), (Smol, Some(1.0))])],
    )
}

fn sleeps() -> Case {
    case(
        "sleeps",
        "100,000 tasks that sleep at once, for 1 to 100 ms: how late, and CPU time per sleep.",
        IoWorkload::Sleeps { count: 100_000 },
        2,
        &[
            (LATE, &[(Tokio, Some(1.0)), (Smol, Some(1.0))]),
            (CPU, &[(Tokio, Some(0.7)), (Smol, Some(1.0))]),
        ],
    )
}

fn stalled() -> Case {
    case(
        "stalled",
        "Sleeps of 5 ms while a task computes for 200 ms on one of four workers: how late.",
        IoWorkload::Stalled { stall: Stall::Compute, time: Duration::from_millis(200), tasks: 1 },
        4,
        &[(LATE, &[(Tokio, Some(0.02)), (Smol, None)])],
    )
}

/// The cases of the group in a quick run.
const QUICK: [&str; 2] = ["echo-64/64-connections", "timeouts"];
