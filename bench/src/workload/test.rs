//! Every workload at a tiny size, on every rival that takes part, with its results verified by the
//! turn itself. No test depends on a timing.

use super::*;
use crate::load::Talk;

const FORK_JOIN: [RivalKind; 5] =
    [RivalKind::Seq, RivalKind::Rayon, RivalKind::Chili, RivalKind::Forte, RivalKind::Blitz];

const TINY_UTS: UtsShape = UtsShape {
    root_children: 20,
    children: 8,
    parents_per_million: 110_000,
    depth_max: 50,
    seed: 3,
};

/// Takes two turns; returns the measurements of the second.
#[track_caller]
pub(super) fn take_turns(workload: Workload, rival: RivalKind, workers: usize) -> Sample {
    let mut contest = workload
        .open(rival, workers, Pace::Smoke)
        .unwrap_or_else(|error| panic!("{workload:?} on {rival:?}: {error}"));
    contest.turn().unwrap_or_else(|error| panic!("{workload:?} on {rival:?}: {error}"));
    contest.turn().expect("a second turn works like the first")
}

/// Lets each of `rivals` take turns, and checks that `metrics` are there.
#[track_caller]
pub(super) fn each_has(rivals: &[RivalKind], metrics: &[Metric], workload: Workload) {
    for &rival in rivals {
        for workers in [1, 3] {
            let sample = take_turns(workload, rival, workers);
            for metric in metrics {
                assert!(sample.contains_key(metric), "{workload:?} on {rival:?}: {sample:?}");
            }
        }
    }
}

#[track_caller]
fn everyone_computes(workload: Workload) {
    for rival in FORK_JOIN {
        for workers in [1, 2, 3] {
            let sample = take_turns(workload, rival, workers);
            assert!(sample[&Metric::Wall] > 0.0, "{rival:?}");
        }
    }
}

#[test]
fn fib() {
    everyone_computes(Workload::Fib { n: 10 });
}

#[test]
fn empty_tree_from_both_sides() {
    for caller in [Caller::Inside, Caller::Outside] {
        everyone_computes(Workload::EmptyTree { depth: 6, caller });
    }
}

#[test]
fn tree_sum() {
    everyone_computes(Workload::TreeSum { levels: 7 });
}

#[test]
fn spawned_jobs() {
    for shape in [SpawnShape::Flat { jobs: 100 }, SpawnShape::Tree { depth: 6 }] {
        for rival in [RivalKind::Seq, RivalKind::Rayon, RivalKind::Blitz] {
            for workers in [1, 3] {
                let sample = take_turns(Workload::Spawns(shape), rival, workers);
                assert!(sample[&Metric::Wall] > 0.0, "{rival:?}");
            }
        }
    }
    let refused = Workload::Spawns(SpawnShape::Tree { depth: 1 });
    assert!(refused.open(RivalKind::Chili, 1, Pace::Smoke).is_err());
}

#[test]
fn floors_compute_the_same_as_everyone() {
    let fib = take_turns(Workload::Fib { n: 10 }, RivalKind::Floor, 1);
    assert!(fib[&Metric::Wall] > 0.0);
    let tree = Workload::EmptyTree { depth: 6, caller: Caller::Outside };
    for workload in [tree, Workload::TreeSum { levels: 7 }, Workload::TreeSum { levels: 1 }] {
        for rival in [RivalKind::Floor, RivalKind::Halves] {
            let sample = take_turns(workload, rival, 2);
            assert!(sample[&Metric::Wall] > 0.0, "{rival:?}");
        }
    }
}

#[test]
fn queens() {
    everyone_computes(Workload::Queens { n: 6 });
}

#[test]
fn unbalanced_tree_search() {
    everyone_computes(Workload::Uts(TINY_UTS));
}

#[test]
fn a_job_into_a_sleeping_pool() {
    for rival in [RivalKind::Rayon, RivalKind::Blitz] {
        let sample = take_turns(Workload::Sleeping, rival, 2);
        assert_eq!(sample.len(), 4);
        assert!(sample[&Metric::StartP50] <= sample[&Metric::ReturnP99]);
    }
}

#[test]
fn pick_up_reports_its_times() {
    for idle in [Idle::Awake, Idle::Asleep] {
        for rival in [RivalKind::Rayon, RivalKind::Blitz, RivalKind::Seq] {
            let sample = take_turns(Workload::PickUp { idle }, rival, 2);
            if rival == RivalKind::Seq {
                assert!(sample.is_empty(), "no thread can take the job");
            }
        }
    }
}

#[test]
fn the_floor_picks_up_every_job() {
    let awake = Workload::PickUp { idle: Idle::Awake };
    let sample = take_turns(awake, RivalKind::Floor, 2);
    assert!(sample[&Metric::StartP50] <= sample[&Metric::StartP99]);
    assert!(
        Workload::PickUp { idle: Idle::Asleep }.open(RivalKind::Floor, 2, Pace::Smoke).is_err()
    );
}

#[test]
fn trickle() {
    for rival in FORK_JOIN {
        let sample = take_turns(Workload::Trickle, rival, 2);
        assert!(sample[&Metric::Cpu] > 0.0, "{rival:?}");
    }
}

#[test]
fn posting() {
    for worker in [Idle::Awake, Idle::Asleep] {
        for rival in [RivalKind::Rayon, RivalKind::Blitz, RivalKind::Condvar] {
            let sample = take_turns(Workload::Post { worker }, rival, 1);
            assert!(sample[&Metric::Wall] > 0.0, "{rival:?}");
        }
    }
}

#[test]
fn unsuitable_rivals_are_refused() {
    let refused =
        |workload: Workload, rival| workload.open(rival, 2, Pace::Smoke).err().expect("refused");
    let fib = Workload::Fib { n: 5 };
    assert!(refused(fib, RivalKind::Condvar).contains("fork and join"));
    assert!(refused(fib, RivalKind::Floor).contains("one thread"));
    assert!(refused(fib, RivalKind::Halves).contains("fork and join"));
    let post = Workload::Post { worker: Idle::Awake };
    assert!(refused(post, RivalKind::Chili).contains("chili"));
    let program = Workload::Rayon(RayonProgram::Sum);
    assert!(refused(program, RivalKind::Rayon).contains("rayon-core"));
    let yields = Workload::Tasks(TaskWorkload::YieldMany { tasks: 1, yields: 1 });
    assert!(refused(yields, RivalKind::TokioDial9).contains("tokio_unstable"));
}

#[test]
fn a_search_where_there_is_nothing() {
    for workers in [1, 2, 65, 200] {
        for rival in [RivalKind::Blitz, RivalKind::Signal] {
            assert!(take_turns(Workload::Search, rival, workers)[&Metric::Wall] > 0.0, "{rival:?}");
        }
    }
    assert!(Workload::Search.open(RivalKind::Tokio, 2, Pace::Smoke).is_err());
}

#[test]
fn settings_of_the_pool_take_part_in_all_kinds_of_workloads() {
    let ours = [RivalKind::Blitz, RivalKind::Unrecorded, RivalKind::Inspected];
    let workloads = [
        Workload::Fib { n: 10 },
        Workload::Spawns(SpawnShape::Flat { jobs: 10 }),
        Workload::Tasks(TaskWorkload::PingPong { pairs: 3 }),
        Workload::Io(IoWorkload::Serving { talk: Talk::Echo(64), connections: 2 }),
    ];
    for workload in workloads {
        each_has(&ours, &[Metric::Wall], workload);
    }
}
