//! Every workload at a tiny size, on every rival that takes part, with its results verified by the
//! turn itself. No test depends on a timing.

use super::*;
use crate::{
    load::tool,
    workload::{Metric, Workload, test},
};

#[track_caller]
fn everyone_has(metrics: &[Metric], workload: IoWorkload) {
    use RivalKind::{Blitz, Signal, Smol, Tokio};
    each_has(&[Blitz, Signal, Tokio, Smol], metrics, workload);
}

#[track_caller]
fn each_has(rivals: &[RivalKind], metrics: &[Metric], workload: IoWorkload) {
    test::each_has(rivals, metrics, Workload::Io(workload));
}

#[test]
fn echoes_small_and_large() {
    let metrics = [Metric::Wall, Metric::Cpu, Metric::ReturnP99];
    for bytes in [64, 16 * 1024, 100_000] {
        let workload = IoWorkload::Serving { talk: Talk::Echo(bytes), connections: 5 };
        everyone_has(&metrics, workload);
        each_has(&[RivalKind::Bare], &metrics, workload);
    }
}

/// The message does not fit the buffers of both sockets, so the server has to wait before it can
/// send the rest.
#[test]
fn the_floor_sends_the_rest_later() {
    let workload = IoWorkload::Serving { talk: Talk::Echo(20_000_000), connections: 1 };
    each_has(&[RivalKind::Bare], &[Metric::Wall], workload);
}

#[test]
fn hello_by_hyper() {
    let metrics = [Metric::Wall, Metric::Cpu, Metric::ReturnP50, Metric::ReturnP99];
    everyone_has(&metrics, IoWorkload::Serving { talk: Talk::Hello, connections: 5 });
}

/// This test takes one second for each program that is installed.
#[test]
fn hello_to_programs_of_others() {
    let there = Tool::ALL.into_iter().filter(|tool| tool::installed(&[*tool]).is_ok());
    for tool in there {
        let workload = Workload::Io(IoWorkload::Driven { tool, connections: 6 });
        let mut contest = workload.open(RivalKind::Blitz, 2, Pace::Smoke).unwrap();
        let sample = contest.turn().unwrap();
        for metric in [Metric::Wall, Metric::Cpu, Metric::ReturnP50, Metric::ReturnP99] {
            assert!(sample[&metric] > 0.0, "{tool:?}: {sample:?}");
        }
    }
}

#[test]
fn timers_that_are_given_up() {
    everyone_has(&[Metric::Wall], IoWorkload::Timeouts { count: 500 });
}

#[test]
fn many_sleeps() {
    everyone_has(
        &[Metric::LateP50, Metric::LateP99, Metric::Cpu],
        IoWorkload::Sleeps { count: 300 },
    );
}

#[test]
fn sleeps_beside_tasks_that_compute_or_block() {
    let time = Duration::from_millis(1);
    for stall in [Stall::Compute, Stall::Block] {
        for tasks in [1, 3] {
            everyone_has(&[Metric::LateP99], IoWorkload::Stalled { stall, time, tasks });
        }
    }
}

#[test]
fn a_rival_without_sockets_is_refused() {
    let refused = Workload::Io(IoWorkload::Timeouts { count: 1 });
    for rival in [RivalKind::Rayon, RivalKind::Bare] {
        let error = refused.open(rival, 1, Pace::Smoke).err().expect("refused");
        assert!(error.contains(rival.name()), "{error}");
    }
}
