//! The cases of the insight group: the cost of recorders, metrics and the page.
//!
//! The reference is the same pool without recorders. The pool with default settings, and the pool
//! whose page a scraper reads, may cost one per cent more. Cases with tasks also show what each
//! tool that looks inside of Tokio costs: they compare Tokio with the tool and Tokio without it.

use super::{FIB, FLAT_SPAWNS, WALL};
use crate::{
    case::{Case, Comparison, Contestant, Measure, View},
    load::Talk,
    rival::RivalKind::{
        self, Blitz, Inspected, Tokio, TokioConsole, TokioDial9, TokioMetrics, Unrecorded,
    },
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

/// The tools that are compared with Tokio without a tool.
const TOOLS: [RivalKind; 3] = [TokioMetrics, TokioConsole, TokioDial9];

fn case(name: &str, title: &str, workload: Workload, measures: &[Measure]) -> Case {
    let contestant = |rival| Contestant::new(rival, WORKERS);
    let beside = |reference, goal| {
        move |subject| Comparison {
            subject: contestant(subject),
            reference: contestant(reference),
            goal,
        }
    };
    let has_tasks = matches!(workload, Workload::Tasks(_) | Workload::Io(_));
    let tools: &[RivalKind] = if has_tasks { &TOOLS } else { &[] };
    let view = |&measure: &Measure| {
        let ours = [Blitz, Inspected].map(beside(Unrecorded, Some(GOAL)));
        let theirs = tools.iter().copied().map(beside(Tokio, None));
        View { measure, comparisons: ours.into_iter().chain(theirs).collect() }
    };
    let theirs = tools.iter().copied().chain(has_tasks.then_some(Tokio));
    let title_of_theirs = match has_tasks {
        true => " Tokio plain, and with unstable metrics, console-subscriber or dial9.",
        false => "",
    };
    Case {
        name: format!("insight/{name}"),
        title: format!(
            "{title}: recorders on, off, and on with a page that is scraped.{title_of_theirs}"
        ),
        workload,
        contestants: [Blitz, Unrecorded, Inspected]
            .into_iter()
            .chain(theirs)
            .map(contestant)
            .collect(),
        views: measures.iter().map(view).collect(),
        // One per cent shows only in a long run.
        quick: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_is_beside_tokio_without_it() {
        let with_tools: Vec<Case> =
            cases().into_iter().filter(|case| case.title.contains("dial9")).collect();
        let names: Vec<&str> = with_tools.iter().map(|case| case.name.as_str()).collect();
        let expected = ["spawn", "yield", "ping-pong", "echo", "hyper"];
        assert_eq!(names, expected.map(|name| format!("insight/{name}")));
        for view in with_tools.iter().flat_map(|case| &case.views) {
            for tool in TOOLS {
                let mut comparisons = view.comparisons.iter();
                let found = comparisons.find(|one| one.subject.rival == tool).unwrap();
                assert_eq!((found.reference.rival, found.goal), (Tokio, None));
            }
        }
    }
}
