//! `explain`: scripted programs, and the expected explanation of each.

use super::common::{pool, runtime, tcp_pair, wait_for, watched};
use blitz::{Explanation, JoinHandle, Pool, TaskState, WaitKind, task, time};
use std::future::{pending, poll_fn};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

/// Returns the explanation once `is_right` accepts it.
pub fn explained(pool: &Pool, is_right: impl Fn(&Explanation) -> bool) -> Explanation {
    loop {
        let explanation = pool.explain();
        if is_right(&explanation) {
            return explanation;
        }
        std::thread::yield_now();
    }
}

/// Returns once these tasks wait. Does not use `explain`, which is under test.
fn wait_for_waits(pool: &Pool, ids: &[task::Id]) {
    let waits = |id| pool.tasks().get(id).is_some_and(|task| task.state() == TaskState::Waiting);
    wait_for(|| ids.iter().all(|&id| waits(id)));
}

/// Returns the task's wait of this kind, once it has one.
fn wait_of(pool: &Pool, id: task::Id, kind: WaitKind) -> blitz::WaitEdge {
    let find = |explanation: &Explanation| {
        explanation.get(id)?.waits().iter().find(|edge| edge.kind() == kind).cloned()
    };
    find(&explained(pool, |explanation| find(explanation).is_some())).unwrap()
}

/// Checks that no task is certain to wait for ever.
///
/// Accepts stuck workers: on a busy machine any worker may look stuck.
pub fn assert_all_can_go_on(explanation: &Explanation) {
    assert!(explanation.cycles().is_empty(), "{explanation}");
    assert!(explanation.never_wake().is_empty(), "{explanation}");
    assert!(explanation.behind().is_empty(), "{explanation}");
    assert_eq!(explanation.has_findings(), !explanation.stalls().is_empty(), "{explanation}");
}

/// A place where a task finds the handle that it has to await.
type Place = Arc<Mutex<Option<JoinHandle<()>>>>;

async fn await_handle_in(place: Place) {
    let handle = place.lock().unwrap().take().unwrap();
    handle.await.unwrap();
}

/// Spawns `length` tasks. Each awaits the next one, and the last awaits the first.
fn circle(pool: &Pool, length: usize) -> Vec<task::AbortHandle> {
    let places: Vec<Place> = (0..length).map(|_| Place::default()).collect();
    let gate = Arc::new(Mutex::new(()));
    let closed = gate.lock().unwrap();
    let tasks: Vec<_> = places
        .iter()
        .map(|place| {
            let (place, gate) = (place.clone(), gate.clone());
            pool.spawn(async move {
                // After this, all handles are in their places.
                drop(gate.lock().unwrap());
                await_handle_in(place).await;
            })
        })
        .collect();
    let aborts = tasks.iter().map(|task| task.abort_handle()).collect();
    for (index, task) in tasks.into_iter().enumerate() {
        *places[(index + length - 1) % length].lock().unwrap() = Some(task);
    }
    drop(closed);
    aborts
}

#[test]
fn tasks_that_await_each_other_are_a_deadlock() {
    watched("tasks_that_await_each_other_are_a_deadlock", |watch| {
        for length in [1, 2, 3] {
            let pool = watch.pool(pool(4));
            // An abort handle counts as a waker: the deadlock is certain only without it.
            let aborts = circle(&pool, length);
            let ids: Vec<_> = aborts.iter().map(task::AbortHandle::id).collect();
            wait_for_waits(&pool, &ids);
            ids.iter().for_each(|&id| drop(wait_of(&pool, id, WaitKind::Join)));
            let explanation = pool.explain();
            // An abort could end the deadlock, so the deadlock is not certain.
            assert_all_can_go_on(&explanation);
            let [cycle] = explanation.possible_cycles() else { panic!("{explanation}") };
            assert_eq!(cycle.len(), length);
            let text = explanation.to_string();
            assert!(text.starts_with(&format!("possible deadlock: {} ", cycle[0])), "{text}");
            assert!(text.contains("could end it, such as abort handles"), "{text}");
            drop(aborts);
            let explanation = pool.explain();
            let [cycle] = explanation.cycles() else { panic!("{explanation}") };
            assert_eq!(cycle.len(), length);
            for (at, id) in cycle.iter().enumerate() {
                let index = ids.iter().position(|known| known == id).unwrap();
                assert_eq!(cycle[(at + 1) % length], ids[(index + 1) % length], "{explanation}");
                let [edge] = explanation.get(*id).unwrap().waits() else { panic!("{explanation}") };
                assert_eq!(edge.kind(), WaitKind::Join);
                assert_eq!(edge.target(), Some(ids[(index + 1) % length]));
            }
            assert!(explanation.has_findings() && explanation.never_wake().is_empty());
            assert!(explanation.possible_cycles().is_empty(), "now certain: {explanation}");
            let text = explanation.to_string();
            let first = format!("deadlock: {} ", cycle[0]);
            let last = format!(" -> join {}", cycle[0]);
            let line = text.lines().next().unwrap();
            assert!(line.starts_with(&first) && line.ends_with(&last), "{text}");
            assert!(line.contains("insight/explain.rs:"), "{text}");
            let json = explanation.to_json();
            assert!(json.contains(&format!("\"cycles\":[[\"{}\"", cycle[0])), "{json}");
        }
    });
}

#[test]
fn a_timeout_saves_tasks_from_a_deadlock() {
    watched("a_timeout_saves_tasks_from_a_deadlock", |watch| {
        let runtime = watch.workers(2);
        let places: [Place; 2] = Default::default();
        let hour = Duration::from_secs(3_600);
        let (mine, other) = (places[0].clone(), places[1].clone());
        let (tell, told) = mpsc::channel();
        let first = runtime.spawn(async move {
            let handle = told.recv().unwrap();
            let _ = time::timeout(hour, handle).await;
            drop(mine);
        });
        let id = first.id();
        *other.lock().unwrap() = Some(first);
        let second = runtime.spawn(await_handle_in(other));
        let second_id = second.id();
        tell.send(second).unwrap();
        let explanation = explained(&runtime, |explanation| {
            let waits = |id| explanation.get(id).map_or(0, |task| task.waits().len());
            waits(id) == 2 && waits(second_id) == 1
        });
        assert!(explanation.possible_cycles().is_empty(), "{explanation}");
        assert_all_can_go_on(&explanation);
        let kinds: Vec<_> =
            explanation.get(id).unwrap().waits().iter().map(|edge| edge.kind()).collect();
        assert!(kinds.contains(&WaitKind::Timer) && kinds.contains(&WaitKind::Join), "{kinds:?}");
        let line = format!("join {second_id}");
        assert!(explanation.to_string().contains(&line), "{explanation}");
    });
}

#[test]
fn a_task_whose_waker_was_dropped_never_wakes_and_others_wait_in_vain() {
    watched("a_task_whose_waker_was_dropped_never_wakes_and_others_wait_in_vain", |watch| {
        let pool = watch.pool(pool(2));
        let lost = task::Builder::new().name("lost").spawn_on(pending::<()>(), &pool.handle());
        let lost = lost.unwrap();
        let lost_id = lost.id();
        let behind = pool.spawn(async { lost.await.unwrap() });
        let explanation = explained(&pool, |explanation| !explanation.behind().is_empty());
        assert_eq!(explanation.never_wake(), [lost_id]);
        assert_eq!(explanation.behind(), [behind.id()]);
        assert!(explanation.cycles().is_empty());
        let text = explanation.to_string();
        assert!(text.starts_with(&format!("never wakes: {lost_id} \"lost\" (")), "{text}");
        let line = text.lines().nth(1).unwrap();
        assert!(line.starts_with(&format!("waits in vain: {} ", behind.id())), "{text}");
        assert!(line.ends_with(&format!(", join {lost_id}")), "{text}");
    });
}

#[test]
fn a_waker_that_is_kept_somewhere_has_an_unknown_holder() {
    watched("a_waker_that_is_kept_somewhere_has_an_unknown_holder", |watch| {
        static KEPT: Mutex<Option<Waker>> = Mutex::new(None);
        let pool = watch.pool(pool(1));
        let keeps = pool.spawn(poll_fn(|cx| {
            *KEPT.lock().unwrap() = Some(cx.waker().clone());
            Poll::<()>::Pending
        }));
        let (send, receive) = blitz::sync::oneshot::channel::<()>();
        let channel = pool.spawn(async { receive.await.unwrap() });
        for id in [keeps.id(), channel.id()] {
            let edge = wait_of(&pool, id, WaitKind::Unknown);
            assert_eq!((edge.target(), edge.detail()), (None, "unknown holder of its waker"));
        }
        // The verdict would name a stuck worker, and any worker may look stuck for a moment.
        let explanation = explained(&pool, |explanation| explanation.stalls().is_empty());
        assert_all_can_go_on(&explanation);
        let verdict = explanation.verdict();
        assert!(verdict.starts_with("no deadlock is known"), "{verdict}");
        *KEPT.lock().unwrap() = None;
        assert_eq!(pool.explain().never_wake(), [keeps.id()]);
        send.send(()).unwrap();
        channel.join().unwrap();
    });
}

#[test]
fn a_task_that_reads_is_shown_with_its_peer() {
    watched("a_task_that_reads_is_shown_with_its_peer", |watch| {
        let runtime = watch.workers(2);
        let (mut stream, peer) = runtime.block_on(tcp_pair());
        let address = peer.local_addr().unwrap();
        let reads = runtime.spawn(async move {
            use blitz::io::AsyncReadExt;
            stream.read(&mut [0]).await.unwrap()
        });
        let edge = wait_of(&runtime, reads.id(), WaitKind::Io);
        let detail = edge.detail();
        if cfg!(target_os = "linux") {
            assert!(detail.starts_with("read fd ") && detail.ends_with(&address.to_string()));
        } else {
            assert!(detail.starts_with("read "), "{detail}");
        }
        let text = runtime.explain().to_string();
        assert!(text.contains(detail), "{text}");
        drop(peer);
        assert_eq!(reads.join().unwrap(), 0);
    });
}

#[test]
fn a_task_that_sleeps_is_shown_with_its_deadline() {
    watched("a_task_that_sleeps_is_shown_with_its_deadline", |watch| {
        let runtime = watch.workers(2);
        let sleeps = runtime.spawn(time::sleep(Duration::from_secs(7_200)));
        let edge = wait_of(&runtime, sleeps.id(), WaitKind::Timer);
        let seconds = edge.detail().strip_prefix("timer in ").unwrap();
        let seconds: u64 = seconds.strip_suffix(" s").unwrap().parse().unwrap();
        assert!((6_000..=7_200).contains(&seconds), "{seconds}");
        assert_all_can_go_on(&runtime.explain());
    });
}

#[test]
fn a_task_that_awaits_a_blocking_closure_is_shown_with_it() {
    watched("a_task_that_awaits_a_blocking_closure_is_shown_with_it", |watch| {
        let pool = watch.pool(Pool::builder().workers(1).max_blocking_threads(1).build().unwrap());
        let (go, wait) = mpsc::channel::<()>();
        let runs = pool.spawn_blocking(move || wait.recv().unwrap());
        let queued = pool.spawn_blocking(|| ());
        let ids = [runs.id(), queued.id()];
        let tasks = [runs, queued].map(|closure| pool.spawn(async { closure.await.unwrap() }));
        for ((task, id), state) in tasks.iter().zip(ids).zip(["runs", "waits for a thread"]) {
            let edge = || wait_of(&pool, task.id(), WaitKind::Blocking);
            // The first closure begins some time after it was spawned.
            wait_for(|| edge().detail().ends_with(state));
            assert_eq!(edge().target(), Some(id));
            assert!(edge().detail().contains("explain"), "{:?}", edge());
        }
        assert_all_can_go_on(&pool.explain());
        go.send(()).unwrap();
        tasks.into_iter().for_each(|task| task.join().unwrap());
        assert!(pool.explain().tasks().is_empty());
    });
}

#[test]
fn a_task_that_awaits_a_job_is_shown_with_it() {
    watched("a_task_that_awaits_a_job_is_shown_with_it", |watch| {
        let pool = watch.pool(Pool::builder().workers(2).spares(0).build().unwrap());
        let (go, wait) = mpsc::channel::<()>();
        let job = pool.spawn_cpu(move || wait.recv().unwrap());
        let id = job.id();
        let task = pool.spawn(async { job.await.unwrap() });
        let edge = wait_of(&pool, task.id(), WaitKind::Job);
        assert_eq!((edge.target(), edge.kind().name()), (Some(id), "job"));
        wait_for(|| wait_of(&pool, task.id(), WaitKind::Job).detail().ends_with(", which runs"));
        assert!(edge.detail().starts_with(&format!("job {id} ")), "{edge:?}");
        assert!(edge.detail().contains("explain"), "the closure's type: {edge:?}");
        let explanation = pool.explain();
        assert_eq!(explanation.get(task.id()).unwrap().waits().len(), 1, "nothing is unknown");
        assert_all_can_go_on(&explanation);
        go.send(()).unwrap();
        task.join().unwrap();
        assert!(pool.explain().tasks().is_empty());
    });
}

#[test]
fn jobs_that_end_while_tasks_begin_to_await_them_are_forgotten() {
    watched("jobs_that_end_while_tasks_begin_to_await_them_are_forgotten", |watch| {
        let weak = {
            let kept = Arc::new(());
            let weak = Arc::downgrade(&kept);
            let pool = watch.pool(pool(2));
            for _ in 0..2_000 {
                let kept = kept.clone();
                let job = pool.spawn_cpu(move || kept);
                pool.spawn(async { drop(job.await.unwrap()) }).join().unwrap();
            }
            weak
        };
        assert_eq!(weak.strong_count(), 0, "no list keeps a result");
    });
}

#[test]
fn a_worker_that_waits_for_another_is_shown() {
    watched("a_worker_that_waits_for_another_is_shown", |watch| {
        let pool = watch.pool(Pool::builder().workers(2).spares(0).build().unwrap());
        let (go, wait) = mpsc::channel();
        let (began, begun) = mpsc::channel();
        let waits = pool.spawn_cpu(move || {
            let left = move || begun.recv().unwrap();
            let right = move || {
                began.send(blitz::current_worker_index()).unwrap();
                wait.recv().unwrap();
            };
            blitz::join(left, right).0.unwrap()
        });
        let explanation = explained(&pool, |explanation| {
            explanation.to_string().contains("waits for the work of")
        });
        let json = explanation.to_json();
        go.send(()).unwrap();
        let runner = waits.join().unwrap();
        let line = format!("worker {} waits for the work of worker {runner}", 1 - runner);
        assert!(explanation.to_string().contains(&line), "{explanation}");
        assert!(json.contains(&format!("{{\"from\":\"worker {}\",\"kind\":\"latch\"", 1 - runner)));
    });
}

#[test]
fn a_stuck_worker_is_part_of_the_explanation() {
    watched("a_stuck_worker_is_part_of_the_explanation", |watch| {
        let pool = watch.pool(pool(2));
        let (go, wait) = mpsc::channel();
        let stuck = pool.spawn(async move { wait.recv().unwrap() });
        let explanation = explained(&pool, |explanation| !explanation.stalls().is_empty());
        assert_eq!(explanation.stalls()[0].task(), Some(stuck.id()));
        assert!(explanation.verdict().starts_with("stuck: worker "), "{explanation}");
        go.send(()).unwrap();
        stuck.join().unwrap();
    });
}

#[test]
fn names_are_quoted_and_long_lists_are_cut() {
    watched("names_are_quoted_and_long_lists_are_cut", |watch| {
        let pool = watch.pool(pool(2));
        let name = "<script>\"\n";
        let tasks: Vec<_> = (0..2_000)
            .map(|_| {
                let named = task::Builder::new().name(name);
                named.spawn_on(pending::<()>(), &pool.handle()).unwrap()
            })
            .collect();
        wait_for(|| pool.tasks().len() == tasks.len());
        let explanation = explained(&pool, |found| found.never_wake().len() == tasks.len());
        let text = explanation.to_string();
        assert!(text.contains(r#" "<script>\"\n" ("#), "{text}");
        assert!(text.contains("and 1980 more of them") && text.lines().count() < 50, "{text}");
        let json = explanation.to_json();
        assert!(json.contains(r#""name":"<script>\"\u000a""#), "{json}");
        assert!(!json.contains('\n') && json.matches("\"waits\":[]").count() <= 1_100);
        assert_eq!(runtime(1).explain().tasks().len(), 0);
    });
}

/// Tasks that make progress must never be reported as stuck.
#[test]
fn tasks_that_go_on_are_never_called_stuck() {
    watched("tasks_that_go_on_are_never_called_stuck", |watch| {
        let pool = watch.pool(pool(2));
        let tree = pool.spawn(async {
            for _ in 0..300 {
                let children: Vec<_> = (0..8)
                    .map(|_| {
                        blitz::spawn(async {
                            blitz::spawn(task::yield_now()).await.unwrap();
                        })
                    })
                    .collect();
                for child in children {
                    child.await.unwrap();
                }
            }
        });
        while !tree.is_finished() {
            assert_all_can_go_on(&pool.explain());
        }
        tree.join().unwrap();
    });
}
