//! Every workload at a tiny size, on every rival that takes part, with its results verified by the
//! turn itself. No test depends on a timing.

use super::*;
use crate::workload::{Metric, Sample, Workload, test};

const RUNTIMES: [RivalKind; 5] =
    [RivalKind::Blitz, RivalKind::Signal, RivalKind::Tokio, RivalKind::Smol, RivalKind::Forte];

#[track_caller]
fn take_turns(workload: TaskWorkload, rival: RivalKind, workers: usize) -> Sample {
    test::take_turns(Workload::Tasks(workload), rival, workers)
}

#[track_caller]
fn everyone_has(metric: Metric, workload: TaskWorkload) {
    for rival in RUNTIMES {
        for workers in [1, 2, 3] {
            let sample = take_turns(workload, rival, workers);
            assert!(sample[&metric] > 0.0, "{rival:?}");
        }
    }
}

#[test]
fn many_tasks_and_joined_tasks_from_inside() {
    let caller = Caller::Inside;
    everyone_has(Metric::Wall, TaskWorkload::SpawnMany { tasks: 600, caller });
    everyone_has(Metric::Wall, TaskWorkload::SpawnJoin { joins: 5, caller });
}

#[test]
fn many_tasks_and_joined_tasks_from_outside() {
    let caller = Caller::Outside;
    for rival in RUNTIMES.into_iter().filter(|rival| *rival != RivalKind::Forte) {
        for workers in [1, 2, 3] {
            take_turns(TaskWorkload::SpawnMany { tasks: 600, caller }, rival, workers);
            take_turns(TaskWorkload::SpawnJoin { joins: 5, caller }, rival, workers);
        }
    }
}

#[test]
fn tasks_that_yield() {
    everyone_has(Metric::Wall, TaskWorkload::YieldMany { tasks: 5, yields: 7 });
}

#[test]
fn pairs_of_tasks() {
    everyone_has(Metric::Wall, TaskWorkload::PingPong { pairs: 20 });
}

#[test]
fn a_chain_of_tasks() {
    everyone_has(Metric::Wall, TaskWorkload::ChainedSpawn { links: 20 });
}

#[test]
fn a_foreign_thread_wakes_and_starts_tasks() {
    for rival in RUNTIMES.into_iter().filter(|rival| *rival != RivalKind::Forte) {
        for workers in [Idle::Awake, Idle::Asleep] {
            let sample = take_turns(TaskWorkload::ForeignWake { workers }, rival, 2);
            assert!(sample[&Metric::StartP50] <= sample[&Metric::StartP99]);
        }
        assert!(take_turns(TaskWorkload::BusySpawns, rival, 2)[&Metric::Wall] > 0.0);
    }
}

#[test]
fn tasks_that_wait_are_all_woken() {
    everyone_has(Metric::IdleCpu, TaskWorkload::ParkedIdle { tasks: 50 });
    for rival in RUNTIMES {
        let workload = TaskWorkload::ParkedMemory { tasks: 3_000 };
        // The value depends on memory that other tests have freed.
        assert!(take_turns(workload, rival, 2).contains_key(&Metric::Memory), "{rival:?}");
    }
}

#[test]
fn wakes_by_foreign_threads_are_followed_by_polls() {
    for rival in RUNTIMES.into_iter().filter(|rival| *rival != RivalKind::Forte) {
        for workers in [1, 2, 3] {
            let sample =
                take_turns(TaskWorkload::WakeStorm { tasks: 50, rounds: 20 }, rival, workers);
            assert!(sample[&Metric::Polls] > 0.0, "{rival:?}");
            // If two threads wake the same task, a single poll may follow both wakes.
            let sample = take_turns(TaskWorkload::RandomWakes { tasks: 300 }, rival, workers);
            assert!(sample[&Metric::Polls] > 0.4, "{rival:?}");
        }
    }
}

#[test]
fn tokens_go_round_and_fans_are_complete() {
    for tokens in [1, 7] {
        everyone_has(Metric::Wall, TaskWorkload::ActorRing { actors: 20, tokens, laps: 5 });
    }
    for fan in [Fan::Out, Fan::In] {
        everyone_has(Metric::Wall, TaskWorkload::Fan { tasks: 50, fan });
    }
}

#[test]
fn unsuitable_rivals_are_refused() {
    let refused = |workload: TaskWorkload, rival| {
        workload.open(rival, 2, Pace::Smoke).err().expect("refused")
    };
    assert!(refused(TaskWorkload::PingPong { pairs: 1 }, RivalKind::Rayon).contains("no tasks"));
    let outside = TaskWorkload::SpawnMany { tasks: 1, caller: Caller::Outside };
    let storm = TaskWorkload::WakeStorm { tasks: 1, rounds: 1 };
    let wake = TaskWorkload::ForeignWake { workers: Idle::Asleep };
    for workload in [outside, storm, wake, TaskWorkload::BusySpawns] {
        assert!(refused(workload, RivalKind::Forte).contains("on that thread"));
    }
}
