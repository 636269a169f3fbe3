//! The cases of the signal group: Blitz's two schedulers and Tokio, side by side.

use super::WALL;
use crate::{
    case::{Case, Comparison, Contestant, Measure, View},
    rival::RivalKind::{Blitz, Signal, Tokio},
    workload::{Caller, Fan, Metric, TaskWorkload, Workload},
};

pub(super) fn cases() -> Vec<Case> {
    vec![
        wake_storm("wake-storm", 25, Goals { tokio: Some(0.5), stealing: Some(0.8) }),
        // If the kernel does not let the workers run, this case gets cheap, so a goal would depend
        // on luck.
        wake_storm("wake-storm-long", 2_500, Goals::default()),
        random_wakes(),
        actor_ring(1, 10),
        actor_ring(100, 100),
        fan(Fan::Out),
        fan(Fan::In),
        spawn_many(),
        yield_many(),
        ping_pong(),
        find_work(),
    ]
}

/// The largest ratios of the signal scheduler's cost to that of others.
#[derive(Clone, Copy, Default)]
struct Goals {
    tokio: Option<f64>,
    stealing: Option<f64>,
}

/// Both schedulers against Tokio, and against each other.
fn views(measure: Measure, goals: Goals) -> View {
    let of = |rival| Contestant::new(rival, WORKERS);
    let compare = |subject, reference, goal| Comparison {
        subject: of(subject),
        reference: of(reference),
        goal,
    };
    View {
        measure,
        comparisons: vec![
            compare(Signal, Tokio, goals.tokio),
            compare(Signal, Blitz, goals.stealing),
            compare(Blitz, Tokio, None),
        ],
    }
}

fn case(name: &str, title: &str, workload: TaskWorkload, goals: Goals) -> Case {
    Case {
        name: format!("signal/{name}"),
        title: title.to_owned(),
        workload: Workload::Tasks(workload),
        contestants: [Signal, Blitz, Tokio].map(|rival| Contestant::new(rival, WORKERS)).into(),
        views: vec![views(WALL, goals)],
        quick: false,
    }
}

fn wake_storm(name: &str, rounds: usize, goals: Goals) -> Case {
    let title = format!(
        "Four foreign threads wake the same 1,000 tasks {rounds} times each and wait until all have run, per wake; and \
         polls per wake."
    );
    let mut case = case(name, &title, TaskWorkload::WakeStorm { tasks: 1_000, rounds }, goals);
    // More polls are neither better nor worse: their number shows how many wakes were merged.
    case.views.push(views(Measure::Plain(Metric::Polls), Goals::default()));
    case
}

fn random_wakes() -> Case {
    case(
        "random-wakes",
        "Two foreign threads wake 10,000 tasks at random, 1,024 at a time, and wait for them; per wake.",
        TaskWorkload::RandomWakes { tasks: 10_000 },
        Goals { tokio: Some(0.7), stealing: None },
    )
}

fn actor_ring(tokens: usize, laps: u64) -> Case {
    let (many, have) = if tokens == 1 { ("a token", "has") } else { ("100 tokens", "have") };
    case(
        &format!("actor-ring/{tokens}"),
        &format!("1,000 tasks in a ring, which {have} {many} to hand on, per hop."),
        TaskWorkload::ActorRing { actors: 1_000, tokens, laps },
        Goals::default(),
    )
}

fn fan(fan: Fan) -> Case {
    let (name, title) = match fan {
        Fan::Out => ("fan-out", "A task wakes 1,000 others and waits for the last, per task."),
        Fan::In => {
            ("fan-in", "A task wakes 1,000 others, all of which wake the same task, per task.")
        }
    };
    case(name, title, TaskWorkload::Fan { tasks: 1_000, fan }, Goals::default())
}

const AS_TOKIO: Goals = Goals { tokio: Some(1.0), stealing: None };

fn spawn_many() -> Case {
    case(
        "spawn-many",
        "10,000 empty tasks started by a task, per task.",
        TaskWorkload::SpawnMany { tasks: 10_000, caller: Caller::Inside },
        AS_TOKIO,
    )
}

fn yield_many() -> Case {
    case(
        "yield-many",
        "200 tasks that yield 1,000 times each, per yield.",
        TaskWorkload::YieldMany { tasks: 200, yields: 1_000 },
        AS_TOKIO,
    )
}

fn ping_pong() -> Case {
    case(
        "ping-pong",
        "1,000 pairs of tasks that exchange a message and its answer, per pair.",
        TaskWorkload::PingPong { pairs: 1_000 },
        AS_TOKIO,
    )
}

/// One case for all numbers of workers, so that pools of different sizes take turns with each
/// other.
fn find_work() -> Case {
    let sizes = [2, 8, 64, 200];
    let compare = |workers: usize| Comparison {
        subject: Contestant::new(Signal, workers),
        reference: Contestant::new(Blitz, workers),
        goal: (workers == 64).then_some(0.3),
    };
    Case {
        name: "signal/find-work".to_owned(),
        title: "A search that finds no task: a search of the tree, compared with one of all rings \
                and the queue."
            .to_owned(),
        workload: Workload::Search,
        contestants: sizes
            .into_iter()
            .flat_map(|workers| [Signal, Blitz].map(|rival| Contestant::new(rival, workers)))
            .collect(),
        views: vec![View { measure: WALL, comparisons: sizes.map(compare).into() }],
        quick: false,
    }
}

const WORKERS: usize = 2;
