//! `JoinSet`: results as they come, with few and many tasks, failures, and ends of all kinds.

mod common;

use blitz::sync::{Semaphore, mpsc, oneshot};
use blitz::{JoinSet, Runtime};
use common::watched;
use std::collections::HashSet;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};

fn runtime(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).build().unwrap()
}

/// Counts how often it is dropped.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn an_empty_set_has_nothing_to_wait_for() {
    let mut set = JoinSet::<()>::default();
    assert!(set.is_empty());
    assert!(set.try_join_next().is_none());
    assert!(blitz::block_on(set.join_next()).is_none());
    assert!(blitz::block_on(set.join_next_with_id()).is_none());
    blitz::block_on(set.shutdown());
    assert_eq!(format!("{set:?}"), "JoinSet { len: 0, .. }");
    assert!(blitz::block_on(set.join_all()).is_empty());
}

#[test]
fn every_result_comes_once() {
    watched("every_result_comes_once", |_| {
        for workers in [1, 2, 8] {
            let sums = runtime(workers).block_on(async {
                let mut set = JoinSet::new();
                let mut seen = HashSet::new();
                for round in 0..4 {
                    for n in 0..1_000u64 {
                        set.spawn(async move {
                            if n % 3 == 0 {
                                blitz::task::yield_now().await;
                            }
                            round * 1_000 + n
                        });
                    }
                    // The set uses some slots again while other slots are still in use.
                    for _ in 0..700 {
                        assert!(seen.insert(set.join_next().await.unwrap().unwrap()));
                    }
                }
                assert_eq!(set.len(), 1_200);
                seen.extend(set.join_all().await);
                (seen.len(), seen.iter().sum::<u64>())
            });
            assert_eq!(sums, (4_000, 7_998_000));
        }
    });
}

#[test]
fn results_come_in_the_order_of_ends() {
    watched("results_come_in_the_order_of_ends", |_| {
        runtime(2).block_on(async {
            let mut set = JoinSet::new();
            let mut gates = Vec::new();
            for n in 0..10 {
                let (open, gate) = oneshot::channel::<()>();
                gates.push(open);
                set.spawn(async move {
                    gate.await.unwrap();
                    n
                });
            }
            for expected in [7, 0, 9, 3] {
                let (open, _) = oneshot::channel();
                std::mem::replace(&mut gates[expected], open).send(()).unwrap();
                assert_eq!(set.join_next().await.unwrap().unwrap(), expected);
            }
            assert!(set.try_join_next().is_none());
            assert_eq!(set.len(), 6);
        });
    });
}

#[test]
fn results_from_before_the_first_wait_come_in_the_order_of_ends() {
    watched("results_from_before_the_first_wait_come_in_the_order_of_ends", |_| {
        runtime(2).block_on(async {
            let (open, gate) = oneshot::channel::<()>();
            let mut set = JoinSet::new();
            let last = set.spawn(async {
                gate.await.unwrap();
                "last"
            });
            let first = set.spawn(async { "first" });
            while !first.is_finished() {
                blitz::task::yield_now().await;
            }
            open.send(()).unwrap();
            while !last.is_finished() {
                blitz::task::yield_now().await;
            }
            assert_eq!(set.join_all().await, ["first", "last"]);
        });
    });
}

#[test]
fn tasks_jobs_and_closures_mix() {
    watched("tasks_jobs_and_closures_mix", |_| {
        let other = runtime(1);
        let results = runtime(2).block_on(async {
            let mut set = JoinSet::new();
            set.spawn(async { 1 });
            set.spawn_cpu(|| 2);
            set.spawn_blocking(|| 4);
            set.spawn_on(async { 8 }, &other.handle());
            set.spawn_blocking_on(|| 16, &other.handle());
            set.join_all().await
        });
        assert_eq!(results.iter().sum::<i32>(), 31);
        assert_eq!(other.metrics().tasks.spawned, 1);
    });
}

#[test]
fn failures_are_distinguished_by_their_ids() {
    watched("failures_are_distinguished_by_their_ids", |_| {
        runtime(2).block_on(async {
            let mut set = JoinSet::<u32>::new();
            let panics = set.spawn(async { panic!("oh") });
            let waits = set.spawn(pending());
            let returns = set.spawn(async { 7 });
            waits.abort();
            let mut seen = 0;
            while let Some(joined) = set.join_next_with_id().await {
                seen += 1;
                match joined {
                    Ok(joined) => assert_eq!(joined, (returns.id(), 7)),
                    Err(error) if error.is_panic() => assert_eq!(error.id(), panics.id()),
                    Err(error) => assert_eq!(error.id(), waits.id()),
                }
            }
            assert_eq!(seen, 3);
        });
    });
}

#[test]
#[should_panic(expected = "the second of three")]
fn join_all_resumes_the_panic_of_a_task() {
    runtime(2).block_on(async {
        let mut set = JoinSet::new();
        set.spawn(pending());
        set.spawn(async { panic!("the second of three") });
        set.spawn(pending::<()>());
        set.join_all().await;
    });
}

#[test]
#[should_panic(expected = "the task was cancelled")]
fn join_all_needs_every_result() {
    runtime(2).block_on(async {
        let mut set = JoinSet::new();
        set.spawn(pending::<()>()).abort();
        set.join_all().await;
    });
}

#[test]
fn a_dropped_set_aborts_its_tasks() {
    watched("a_dropped_set_aborts_its_tasks", |_| {
        let runtime = runtime(2);
        let dropped = Arc::new(AtomicUsize::new(0));
        let handles: Vec<_> = runtime.block_on(async {
            let mut set = JoinSet::new();
            let aborts = (0..100).map(|_| {
                let guard = Dropped(dropped.clone());
                set.spawn(async move {
                    pending::<()>().await;
                    drop(guard);
                })
            });
            aborts.collect()
        });
        while !handles.iter().all(blitz::AbortHandle::is_finished) {
            std::thread::yield_now();
        }
        assert_eq!(dropped.load(SeqCst), 100);
    });
}

#[test]
fn detached_tasks_go_on_and_the_set_can_be_used_again() {
    watched("detached_tasks_go_on_and_the_set_can_be_used_again", |_| {
        runtime(2).block_on(async {
            let (send, mut receive) = mpsc::unbounded_channel();
            let gate = Arc::new(Semaphore::new(0));
            let mut set = JoinSet::new();
            for n in 0..10 {
                let (send, gate) = (send.clone(), gate.clone());
                set.spawn(async move {
                    gate.acquire().await.unwrap().forget();
                    send.send(n).unwrap();
                });
            }
            set.detach_all();
            assert!(set.is_empty());
            // The detached tasks end late, and notify slots that other tasks have by now.
            for _ in 0..10 {
                set.spawn(pending());
            }
            gate.add_permits(10);
            drop(send);
            let mut seen = 0;
            while receive.recv().await.is_some() {
                seen += 1;
            }
            assert_eq!(seen, 10);
            assert!(set.try_join_next().is_none());
            assert_eq!(set.len(), 10);
            set.shutdown().await;
            assert_eq!(set.len(), 0);
        });
    });
}

#[test]
fn a_dropped_wait_loses_nothing() {
    watched("a_dropped_wait_loses_nothing", |_| {
        runtime(2).block_on(async {
            let mut set = JoinSet::new();
            for n in 0..100 {
                set.spawn(async move {
                    blitz::task::yield_now().await;
                    n
                });
            }
            let mut sum = 0;
            while !set.is_empty() {
                // Polls a wait once, and drops it.
                let polled = poll_fn(|cx| {
                    let next = pin!(set.join_next());
                    Poll::Ready(next.poll(cx))
                });
                if let Poll::Ready(Some(n)) = polled.await {
                    sum += n.unwrap();
                }
                blitz::task::yield_now().await;
            }
            assert_eq!(sum, 4_950);
        });
    });
}

/// Counts how often it is woken.
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn one_end_is_one_wake_however_many_wait() {
    watched("one_end_is_one_wake_however_many_wait", |_| {
        let runtime = runtime(2);
        let mut set = JoinSet::new();
        let (open, gate) = oneshot::channel::<()>();
        for _ in 0..1_000 {
            set.spawn_on(pending(), &runtime.handle());
        }
        let ends = set.spawn_on(async { gate.await.unwrap() }, &runtime.handle());
        let wakes = Arc::new(Wakes(AtomicUsize::new(0)));
        let waker = Waker::from(wakes.clone());
        let mut cx = Context::from_waker(&waker);
        assert!(set.poll_join_next(&mut cx).is_pending());
        assert!(set.poll_join_next_with_id(&mut cx).is_pending());
        open.send(()).unwrap();
        while wakes.0.load(SeqCst) == 0 {
            std::thread::yield_now();
        }
        let Poll::Ready(Some(joined)) = set.poll_join_next_with_id(&mut cx) else {
            panic!("a set that was woken has a result");
        };
        assert_eq!(joined.unwrap().0, ends.id());
        assert!(set.poll_join_next(&mut cx).is_pending());
        assert_eq!(wakes.0.load(SeqCst), 1);
    });
}

#[test]
fn a_set_may_move_to_another_task_between_two_results() {
    watched("a_set_may_move_to_another_task_between_two_results", |_| {
        runtime(4).block_on(async {
            let mut set: JoinSet<_> = (0..64u32).map(|n| async move { n }).collect();
            let mut sum = 0;
            while !set.is_empty() {
                let moved = blitz::spawn(async move {
                    let n = set.join_next().await.unwrap().unwrap();
                    (n, set)
                });
                let (n, back) = moved.await.unwrap();
                sum += n;
                set = back;
            }
            assert_eq!(sum, 2_016);
        });
    });
}

#[test]
fn the_panic_of_a_task_that_is_never_joined_goes_to_the_handler() {
    watched("the_panic_of_a_task_that_is_never_joined_goes_to_the_handler", |_| {
        let (send, receive) = std::sync::mpsc::channel();
        let pool = blitz::Pool::builder()
            .workers(1)
            .panic_handler(move |payload| send.send(*payload.downcast::<&str>().unwrap()).unwrap());
        let runtime = pool.build().unwrap();
        let mut set = JoinSet::<()>::new();
        let task = set.spawn_on(async { panic!("not asked for") }, &runtime.handle());
        while !task.is_finished() {
            std::thread::yield_now();
        }
        drop(set);
        assert_eq!(receive.recv().unwrap(), "not asked for");
    });
}
