//! The cases of the insight group: what it costs that a pool says what it does.
//!
//! The reference is the same pool without recorders. The pool as users have it, and the one whose
//! page a scraper reads, may cost a hundredth more.

use super::{FIB, FLAT_SPAWNS, WALL};
use crate::{
    case::{Case, Comparison, Contestant, Measure, View},
    load::Talk,
    rival::RivalKind::{Blitz, Inspected, Unrecorded},
    workload::{Caller, IoWorkload, Metric, TaskWorkload, Workload},
};

pub(super) fn cases() -> Vec<Case> {
    let tree = |depth| Workload::EmptyTree { depth, caller: Caller::Inside };
    let cpu = Measure::Plain(Metric::Cpu);
    let served = |talk| Workload::Io(IoWorkload::Serving { talk, connections: 64 });
    let spawn = TaskWorkload::SpawnMany { tasks: 10_000, caller: Caller::Inside };
    vec![
        case("fib-35", "fib(35) without a cut-off", Workload::Fib { n: FIB }, &[WALL]),
        case("empty-tree-15", "A tree of 15 levels of empty forks", tree(15), &[WALL]),
        case(
            "tree-sum-131071",
            "The sum over 131,071 nodes",
            Workload::TreeSum { levels: 17 },
            &[WALL],
        ),
        case("scope", "A scope with 10,000 empty jobs", Workload::Spawns(FLAT_SPAWNS), &[WALL]),
        case("spawn", "10,000 empty tasks started by a task", Workload::Tasks(spawn), &[WALL]),
        case(
            "yield",
            "200 tasks that yield 1,000 times each",
            Workload::Tasks(TaskWorkload::YieldMany { tasks: 200, yields: 1_000 }),
            &[WALL],
        ),
        case(
            "ping-pong",
            "1,000 pairs of tasks that exchange a message and its answer",
            Workload::Tasks(TaskWorkload::PingPong { pairs: 1_000 }),
            &[WALL],
        ),
        case("echo", "TCP echo of 64 bytes, 64 connections", served(Talk::Echo(64)), &[WALL, cpu]),
        case("hyper", "HTTP/1.1 by hyper, 64 connections", served(Talk::Hello), &[WALL, cpu]),
    ]
}

/// The largest ratio that is good enough.
const GOAL: f64 = 1.01;
const WORKERS: usize = 2;

fn case(name: &str, title: &str, workload: Workload, measures: &[Measure]) -> Case {
    let contestant = |rival| Contestant::new(rival, WORKERS);
    let beside_unrecorded = |rival| Comparison {
        subject: contestant(rival),
        reference: contestant(Unrecorded),
        goal: Some(GOAL),
    };
    let view = |&measure: &Measure| View {
        measure,
        comparisons: [Blitz, Inspected].map(beside_unrecorded).into(),
    };
    Case {
        name: format!("insight/{name}"),
        title: format!("{title}: recorders on, off, and on with a page that is scraped."),
        workload,
        contestants: [Blitz, Unrecorded, Inspected].map(contestant).into(),
        views: measures.iter().map(view).collect(),
        // A hundredth takes a long run to see.
        quick: false,
    }
}
