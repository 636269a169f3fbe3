//! Every workload at a tiny size, on every rival that takes part, with its results verified by the
//! turn itself. No test depends on a timing.

use std::time::Duration;

use super::*;
use crate::{
    os,
    workload::{Metric, Workload, test},
};

const LATENCIES: [Metric; 5] = [
    Metric::ReturnP50,
    Metric::ReturnP90,
    Metric::ReturnP99,
    Metric::ReturnP999,
    Metric::ReturnMax,
];

#[track_caller]
fn each_has(rivals: &[RivalKind], metrics: &[Metric], workload: MixedWorkload) {
    test::each_has(rivals, metrics, Workload::Mixed(workload));
}

/// The rivals that can run any job, on every system and in any number of tasks.
const EVERYONE: [RivalKind; 7] = [
    RivalKind::Blitz,
    RivalKind::Signal,
    RivalKind::SpawnCpu,
    RivalKind::TokioRayon,
    RivalKind::TokioInPlace,
    RivalKind::TokioBlocking,
    RivalKind::SmolRayon,
];

#[test]
fn requests_beside_jobs_that_fork() {
    let metrics = [&LATENCIES[..], &[Metric::PerJob, Metric::Cpu]].concat();
    for (job, in_flight) in [(JobKind::Sum, 1), (JobKind::Sum, 8), (JobKind::Sort, 2)] {
        let workload = MixedWorkload::Beside { talk: Talk::Echo(64), job, in_flight };
        each_has(&EVERYONE, &metrics, workload);
        // Not every system grants a slice.
        if os::shorten_slice(Duration::from_millis(1)).is_ok() {
            each_has(&[RivalKind::TokioSlice], &metrics, workload);
        }
    }
}

#[test]
fn requests_beside_jobs_that_do_not_fork() {
    let metrics = [&LATENCIES[..], &[Metric::PerJob, Metric::Cpu]].concat();
    for job in [JobKind::Compute, JobKind::Sleep] {
        let workload = MixedWorkload::Beside { talk: Talk::Hello, job, in_flight: 3 };
        each_has(&EVERYONE, &metrics, workload);
        each_has(&[RivalKind::Tokio], &metrics, workload);
    }
}

/// This version of Forte sometimes never runs one of several tasks that fork, so here one task runs
/// jobs.
#[test]
fn requests_beside_jobs_of_one_task() {
    let metrics = [&LATENCIES[..], &[Metric::PerJob, Metric::Cpu]].concat();
    for job in JobKind::ALL {
        let workload = MixedWorkload::Beside { talk: Talk::Echo(64), job, in_flight: 1 };
        each_has(&[RivalKind::Forte], &metrics, workload);
    }
}

#[test]
fn timers_beside_hogs() {
    use RivalKind::{Blitz, Signal, Smol, Tokio};
    let workload = MixedWorkload::Hogs { timers: 20 };
    each_has(&[Blitz, Signal, Tokio, Smol], &[Metric::LateP50, Metric::LateMax], workload);
}

#[test]
fn tasks_that_wait_for_jobs() {
    use RivalKind::{Limit, SpawnCpu, TokioBlocking, TokioRayon};
    let workload = MixedWorkload::Waits { tasks: 10 };
    each_has(&[SpawnCpu, TokioRayon, TokioBlocking], &LATENCIES, workload);
    each_has(&[Limit], &[Metric::ReturnP99], workload);
}

#[test]
fn a_task_that_waits_for_empty_jobs() {
    use RivalKind::{Blitz, SpawnCpu, TokioBlocking, TokioRayon};
    each_has(&[Blitz, SpawnCpu, TokioRayon, TokioBlocking], &LATENCIES, MixedWorkload::Bridge);
}

#[test]
fn unsuitable_rivals_are_refused() {
    let workload = MixedWorkload::Beside { talk: Talk::Echo(64), job: JobKind::Sum, in_flight: 1 };
    let open = |rival| Workload::Mixed(workload).open(rival, 1, Pace::Smoke);
    assert!(open(RivalKind::Rayon).err().expect("refused").contains("rayon"));
    let error = open(RivalKind::Tokio).unwrap_or_else(|error| panic!("{error}")).turn();
    assert!(error.unwrap_err().contains("fork"));
}
