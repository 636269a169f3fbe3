//! The cases of the group in which tasks and computations meet.

use std::time::Duration;

use super::{Goals, WALL, against, comparisons, with_blitz};
use crate::{
    case::{Case, Contestant, Measure, View},
    load::Talk,
    rival::RivalKind::{
        self, Blitz, Forte, Limit, Signal, Smol, SmolRayon, SpawnCpu, Tokio, TokioBlocking,
        TokioInPlace, TokioRayon, TokioSlice,
    },
    workload::{Idle, IoWorkload, JobKind, Metric, MixedWorkload, Stall, TaskWorkload, Workload},
};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, talk) in [("echo", Talk::Echo(64)), ("http", Talk::Hello)] {
        for job in JobKind::ALL {
            cases.extend([1, 8].map(|in_flight| beside(name, talk, job, in_flight)));
        }
    }
    cases.extend([foreign_wake(), foreign_spawn(), hogs(1), hogs(2), waits(), bridge()]);
    cases.extend([stalled(Stall::Compute), stalled(Stall::Block)]);
    cases.extend([100, 10_000, 100_000].map(sleeps));
    cases
}

const P50: Measure = Measure::Plain(Metric::ReturnP50);
const P99: Measure = Measure::Plain(Metric::ReturnP99);
const P999: Measure = Measure::Plain(Metric::ReturnP999);
const MAX: Measure = Measure::Plain(Metric::ReturnMax);
const PER_JOB: Measure = Measure::Plain(Metric::PerJob);
const CPU: Measure = Measure::Plain(Metric::Cpu);

/// The largest ratio of the times per job: Blitz does at least 0.98 times as many jobs.
const AS_MANY_JOBS: f64 = 1.0 / 0.98;

const WORKERS: usize = 2;

fn beside(name: &str, talk: Talk, job: JobKind, in_flight: usize) -> Case {
    let (what, main) = match job {
        JobKind::Sum => ("parallel sums with leaves of 20 us", TokioRayon),
        JobKind::Sort => ("parallel sorts with leaves of 0.3 ms", TokioRayon),
        JobKind::Compute => ("computations of 20 ms without a fork", TokioBlocking),
        JobKind::Sleep => ("sleeps of 20 ms that block", TokioBlocking),
    };
    let plural = if in_flight == 1 { "a task that does" } else { "8 tasks that do" };
    let tail = match job {
        JobKind::Sum => Some(0.35),
        _ => Some(0.4),
    };
    let others = rivals(job, in_flight).into_iter().filter(|rival| *rival != main);
    // The main rival comes first. Of the other rivals only `TokioSlice` may have a goal.
    let against_all = |goal: Option<f64>, slice: Option<f64>| -> Vec<(RivalKind, Option<f64>)> {
        let other = |rival| (rival, slice.filter(|_| rival == TokioSlice));
        [(main, goal)].into_iter().chain(others.clone().map(other)).collect()
    };
    let sums = |goal| (job == JobKind::Sum).then_some(goal);
    let main_alone: Goals<'_> = &[(main, None)];
    let mut views = vec![
        against(P50, WORKERS, &against_all(sums(1.3), None)),
        against(P99, WORKERS, &against_all(tail, Some(1.0))),
        against(P999, WORKERS, &against_all(sums(0.3), None)),
        against(MAX, WORKERS, main_alone),
        against(PER_JOB, WORKERS, &against_all(Some(AS_MANY_JOBS), None)),
        against(CPU, WORKERS, main_alone),
    ];
    for view in &mut views {
        for also in ALSO_OURS {
            view.comparisons.extend(comparisons(also, WORKERS, main_alone));
        }
    }
    let everyone = against_all(None, None);
    let ours = ALSO_OURS.map(|also| Contestant::new(also, WORKERS));
    let http = if talk == Talk::Hello { " of HTTP" } else { "" };
    Case {
        name: format!("mixed/{name}-{}-{in_flight}", job.name()),
        title: format!("2,000 requests{http} per second beside {plural} {what}, back to back."),
        workload: Workload::Mixed(MixedWorkload::Beside { talk, job, in_flight }),
        contestants: with_blitz(&everyone, WORKERS).chain(ours).collect(),
        views,
        quick: false,
    }
}

/// Other variants of Blitz, shown beside Blitz with default settings. They have no goals.
const ALSO_OURS: [RivalKind; 2] = [SpawnCpu, Signal];

/// The contestants beside Blitz.
fn rivals(job: JobKind, in_flight: usize) -> Vec<RivalKind> {
    let mut rivals = vec![TokioRayon, TokioSlice, TokioInPlace, TokioBlocking, SmolRayon];
    match job {
        JobKind::Sum | JobKind::Sort => {}
        JobKind::Compute | JobKind::Sleep => rivals.push(Tokio),
    }
    // If several tasks fork at once, this version of Forte sometimes never runs one of them.
    if in_flight == 1 {
        rivals.push(Forte);
    }
    rivals
}

/// A case with both schedulers of Blitz and the rivals of its first measure.
fn case(
    name: &str,
    title: &str,
    workload: Workload,
    workers: usize,
    looks: &[(Measure, Goals<'_>)],
) -> Case {
    let view = |&(measure, goals): &(Measure, Goals<'_>)| View {
        measure,
        comparisons: [Blitz, Signal]
            .into_iter()
            .flat_map(|subject| comparisons(subject, workers, goals))
            .collect(),
    };
    let rivals = looks.first().map_or(&[][..], |(_, goals)| goals);
    Case {
        name: format!("mixed/{name}"),
        title: title.to_owned(),
        workload,
        contestants: with_blitz(rivals, workers)
            .chain([Contestant::new(Signal, workers)])
            .collect(),
        views: looks.iter().map(view).collect(),
        quick: false,
    }
}

const LATE_P50: Measure = Measure::Plain(Metric::LateP50);
const LATE_P99: Measure = Measure::Plain(Metric::LateP99);

fn foreign_wake() -> Case {
    let goals: Goals<'_> = &[(Tokio, Some(1.0)), (Smol, None)];
    case(
        "foreign-wake",
        "A foreign thread wakes a task while tasks of 10 us that yield keep all workers busy.",
        Workload::Tasks(TaskWorkload::ForeignWake { workers: Idle::Awake }),
        WORKERS,
        &[Metric::StartP50, Metric::StartP99].map(|metric| (Measure::Plain(metric), goals)),
    )
}

fn foreign_spawn() -> Case {
    case(
        "foreign-spawn",
        "A foreign thread starts tasks while tasks of 10 us that yield keep all workers busy.",
        Workload::Tasks(TaskWorkload::BusySpawns),
        WORKERS,
        &[(WALL, &[(Tokio, Some(0.5)), (Smol, None)])],
    )
}

fn hogs(workers: usize) -> Case {
    let plural = if workers == 1 { "" } else { "s" };
    case(
        &format!("hogs/{workers}-worker{plural}"),
        "Lateness of 1,000 timers of 20 ms beside tasks whose channels are always ready.",
        Workload::Mixed(MixedWorkload::Hogs { timers: 1_000 }),
        workers,
        &[(LATE_P99, &[(Tokio, Some(1.0)), (Smol, None)])],
    )
}

/// The goal compares with `Limit`: how long the workers take for one job of each task if each
/// worker runs an equal part of these jobs.
fn waits() -> Case {
    let goals: Goals<'_> = &[(Limit, Some(2.0)), (TokioRayon, None), (TokioBlocking, None)];
    let rivals = goals.iter().map(|(rival, _)| *rival);
    let contestants = [SpawnCpu].into_iter().chain(rivals);
    Case {
        name: "mixed/await-jobs-64".to_owned(),
        title: "64 tasks that each wait for a job of 0.3 ms, again and again: the time of a wait."
            .to_owned(),
        workload: Workload::Mixed(MixedWorkload::Waits { tasks: 64 }),
        contestants: contestants.map(|rival| Contestant::new(rival, WORKERS)).collect(),
        views: vec![View {
            measure: P99,
            comparisons: comparisons(SpawnCpu, WORKERS, goals).collect(),
        }],
        quick: false,
    }
}

/// The cost of a call from a task into the pool for jobs, and of the way back.
fn bridge() -> Case {
    let goals: Goals<'_> = &[(TokioRayon, None), (TokioBlocking, None)];
    let rivals = goals.iter().map(|(rival, _)| *rival);
    let views = [P50, P99].map(|measure| View {
        measure,
        comparisons: [Blitz, SpawnCpu]
            .into_iter()
            .flat_map(|subject| comparisons(subject, WORKERS, goals))
            .collect(),
    });
    Case {
        name: "mixed/bridge".to_owned(),
        title: "A task waits for an empty job, again and again: the time of a wait.".to_owned(),
        workload: Workload::Mixed(MixedWorkload::Bridge),
        contestants: [Blitz, SpawnCpu]
            .into_iter()
            .chain(rivals)
            .map(|rival| Contestant::new(rival, WORKERS))
            .collect(),
        views: views.into(),
        quick: false,
    }
}

fn stalled(stall: Stall) -> Case {
    let (name, what) = match stall {
        Stall::Compute => ("compute", "compute"),
        Stall::Block => ("sleep", "block"),
    };
    let (time, tasks) = (Duration::from_millis(200), 4);
    case(
        &format!("stalled-{name}"),
        &format!("Lateness of sleeps of 5 ms while tasks {what} for 200 ms on all four workers."),
        Workload::Io(IoWorkload::Stalled { stall, time, tasks }),
        tasks,
        &[(LATE_P99, &[(Limit, Some(1.0)), (Tokio, None), (Smol, None)])],
    )
}

/// With a hundred sleeps, one ends per millisecond. Each timer fires alone, so a wake-up of a
/// worker serves only one task. So with a hundred sleeps the CPU time has no goal.
fn sleeps(count: usize) -> Case {
    let cheap = (count > 100).then_some(1.0);
    case(
        &format!("sleeps-{count}"),
        &format!("{count} tasks sleep at the same time, for 1 to 100 ms: lateness, CPU per sleep."),
        Workload::Io(IoWorkload::Sleeps { count }),
        WORKERS,
        &[
            (LATE_P50, &[(Smol, Some(2.0)), (Tokio, None)]),
            (LATE_P99, &[(Smol, Some(1.0)), (Tokio, None)]),
            (CPU, &[(Smol, None), (Tokio, cheap)]),
        ],
    )
}
