//! Every workload at a tiny size, on every rival that takes part, with its results verified by the
//! turn itself. No timing is looked at.

use super::*;
use crate::{
    load::tool,
    workload::{Metric, Workload},
};

#[track_caller]
fn everyone_has(metrics: &[Metric], workload: IoWorkload) {
    each_has(&[RivalKind::Blitz, RivalKind::Tokio, RivalKind::Smol], metrics, workload);
}

#[track_caller]
fn each_has(rivals: &[RivalKind], metrics: &[Metric], workload: IoWorkload) {
    for &rival in rivals {
        for workers in [1, 3] {
            let mut contest = Workload::Io(workload)
                .open(rival, workers, Pace::Smoke)
                .unwrap_or_else(|error| panic!("{workload:?} on {rival:?}: {error}"));
            contest.turn().unwrap_or_else(|error| panic!("{workload:?} on {rival:?}: {error}"));
            let sample = contest.turn().expect("a second turn works like the first");
            for metric in metrics {
                assert!(sample.contains_key(metric), "{workload:?} on {rival:?}: {sample:?}");
            }
        }
    }
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

/// More than the buffers of both sockets hold: the server has to wait until it may send.
#[test]
fn the_floor_sends_what_the_system_did_not_take_at_once() {
    let workload = IoWorkload::Serving { talk: Talk::Echo(20_000_000), connections: 1 };
    each_has(&[RivalKind::Bare], &[Metric::Wall], workload);
}

#[test]
fn hello_by_hyper() {
    let metrics = [Metric::Wall, Metric::Cpu, Metric::ReturnP50, Metric::ReturnP99];
    everyone_has(&metrics, IoWorkload::Serving { talk: Talk::Hello, connections: 5 });
}

/// One second for each program that is installed.
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
fn sleeps_beside_a_task_that_computes() {
    let stall = Duration::from_millis(1);
    everyone_has(&[Metric::LateP99], IoWorkload::Stalled { stall });
}

#[test]
fn who_has_no_sockets_is_refused() {
    let refused = Workload::Io(IoWorkload::Timeouts { count: 1 });
    for rival in [RivalKind::Rayon, RivalKind::Bare] {
        let error = refused.open(rival, 1, Pace::Smoke).err().expect("refused");
        assert!(error.contains(rival.name()), "{error}");
    }
}
