//! Tasks: spawning, awaiting, detaching, ids, counters.

mod common;

use blitz::sync::{mpsc, oneshot};
use blitz::task::{self, yield_now};
use blitz::{JoinHandle, Pool, Runtime, Scheduler};
use common::{Tally, runtime, wait_for, wait_for_parked, watched};
use std::collections::HashSet;
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

#[test]
fn a_task_returns_its_result() {
    let runtime = runtime(2);
    assert_eq!(runtime.block_on(async { blitz::spawn(async { 7 }).await.unwrap() }), 7);
}

#[test]
fn many_tasks_from_inside_and_outside() {
    for workers in [1, 2, 8] {
        let runtime = runtime(workers);
        let count = Arc::new(AtomicUsize::new(0));
        let spawn_all = |count: Arc<AtomicUsize>| {
            let handles: Vec<_> = (0..10_000)
                .map(|_| {
                    let count = count.clone();
                    blitz::spawn(async move { count.fetch_add(1, SeqCst) })
                })
                .collect();
            async {
                for handle in handles {
                    handle.await.unwrap();
                }
            }
        };
        let outside = count.clone();
        runtime.block_on(async { spawn_all(outside).await });
        let inside = count.clone();
        runtime.spawn(async move { spawn_all(inside).await }).join().unwrap();
        assert_eq!(count.load(SeqCst), 20_000);
    }
}

#[test]
fn a_task_goes_on_without_its_handle() {
    watched("a_task_goes_on_without_its_handle", |watch| {
        let runtime = watch.workers(2);
        let (go, wait) = oneshot::channel::<()>();
        let (done, is_done) = std::sync::mpsc::channel();
        let tally = Tally::default();
        let output = tally.token();
        drop(runtime.spawn(async move {
            wait.await.unwrap();
            done.send(()).unwrap();
            output
        }));
        go.send(()).unwrap();
        is_done.recv().unwrap();
        wait_for(|| tally.is_even());
    });
}

#[test]
fn an_output_is_dropped_with_the_handle_that_has_it() {
    watched("an_output_is_dropped_with_the_handle", |watch| {
        let runtime = watch.workers(1);
        let tally = Tally::default();
        let output = tally.token();
        let task = runtime.spawn(async move { output });
        wait_for(|| task.is_finished());
        assert_eq!(tally.dropped(), 0);
        drop(task);
        assert!(tally.is_even());
    });
}

#[test]
fn a_tasks_values_are_dropped_before_its_handle_is_notified() {
    watched("what_a_task_holds_is_dropped_before", |watch| {
        let runtime = watch.workers(2);
        for _ in 0..500 {
            let tally = Tally::default();
            let held = tally.token();
            let task = runtime.spawn(async move {
                yield_now().await;
                let _held = held;
            });
            task.join().unwrap();
            assert!(tally.is_even());
        }
    });
}

#[test]
#[should_panic(expected = "asked again")]
fn a_result_is_given_out_once() {
    let runtime = runtime(1);
    runtime.block_on(async {
        let mut task = blitz::spawn(async { 7 });
        assert_eq!((&mut task).await.unwrap(), 7);
        drop(task.await);
    });
}

#[test]
fn tasks_know_their_ids() {
    watched("tasks_know_their_ids", |watch| {
        let runtime = watch.workers(2);
        assert_eq!(task::try_id(), None);
        assert_eq!(runtime.block_on(async { task::try_id() }), None, "`block_on` is no task");
        let tasks: Vec<_> = (0..100)
            .map(|_| {
                runtime.spawn(async {
                    let before = task::id();
                    // A job does not have the task's id, nor does work that a wait runs.
                    let job = blitz::spawn_cpu(task::try_id).join().unwrap();
                    let other = blitz::block_on(blitz::spawn(async { task::try_id() })).unwrap();
                    assert_eq!(blitz::block_on(async { task::try_id() }), None);
                    assert_eq!(job, None);
                    assert_ne!(other, Some(before));
                    yield_now().await;
                    assert_eq!(task::id(), before);
                    before
                })
            })
            .collect();
        let outside: Vec<_> = tasks.iter().map(JoinHandle::id).collect();
        let unique: HashSet<_> = outside.iter().collect();
        assert_eq!(unique.len(), 100);
        let inside: Vec<_> = tasks.into_iter().map(|task| task.join().unwrap()).collect();
        assert_eq!(inside, outside);
        let gone = std::panic::catch_unwind(task::id);
        assert!(gone.is_err(), "outside of a task there is no id");
    });
}

#[test]
fn one_worker_polls_the_newest_first_and_keeps_the_others_in_order() {
    watched("one_worker_polls_the_newest_first", |watch| {
        // A spare would poll some of the tasks if the worker has no processor for long.
        let runtime = watch.runtime(Runtime::builder().workers(1).spares(0).build().unwrap());
        let order = Arc::new(Mutex::new(Vec::new()));
        let orders = order.clone();
        let all = runtime.spawn(async move {
            let tasks: Vec<_> = (0..5)
                .map(|n| {
                    let order = orders.clone();
                    blitz::spawn(async move { order.lock().unwrap().push(n) })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
        all.join().unwrap();
        assert_eq!(*order.lock().unwrap(), [4, 0, 1, 2, 3]);
    });
}

#[test]
fn tasks_of_one_worker_are_stolen_by_others() {
    watched("tasks_of_one_worker_are_stolen", |watch| {
        let runtime = watch.workers(4);
        // Each round ends only if all four tasks are polled at the same time.
        for _ in 0..20 {
            let all = runtime.spawn(async {
                let barrier = Arc::new(Barrier::new(4));
                let tasks: Vec<_> = (0..4)
                    .map(|_| {
                        let barrier = barrier.clone();
                        blitz::spawn(async move { barrier.wait().is_leader() })
                    })
                    .collect();
                let mut leaders = 0;
                for task in tasks {
                    leaders += usize::from(task.await.unwrap());
                }
                leaders
            });
            assert_eq!(all.join().unwrap(), 1);
        }
        assert!(runtime.metrics().tasks.stolen > 0);
    });
}

#[test]
fn without_stealing_tasks_stay_where_they_were_woken() {
    watched("without_stealing_tasks_stay", |watch| {
        // In a signal tree all workers may take the tasks.
        let builder = Runtime::builder().scheduler(Scheduler::Stealing).workers(4);
        let runtime = watch.runtime(builder.enable_stealing(false).build().unwrap());
        let all = runtime.spawn(async {
            let tasks: Vec<_> = (0..1_000).map(|n| blitz::spawn(async move { n })).collect();
            let mut sum = 0;
            for task in tasks {
                sum += task.await.unwrap();
            }
            sum
        });
        assert_eq!(all.join().unwrap(), 499_500);
        assert_eq!(runtime.metrics().tasks.stolen, 0);
    });
}

#[test]
fn without_stealing_nothing_from_outside_waits_behind_a_task_that_blocks() {
    watched("without_stealing_nothing_waits", |watch| {
        // A spare would poll the tasks even if they waited behind a task that blocks.
        let builder = Runtime::builder().workers(2).spares(0).enable_stealing(false);
        let runtime = watch.runtime(builder.build().unwrap());
        for _ in 0..10 {
            // Both workers are busy until the two tasks below are queued.
            let gates = [(); 2].map(|()| {
                let (go, wait) = std::sync::mpsc::channel::<()>();
                let (started, is_started) = std::sync::mpsc::channel();
                let gate = runtime.spawn(async move {
                    started.send(()).unwrap();
                    wait.recv().unwrap();
                });
                is_started.recv().unwrap();
                (go, gate)
            });
            let (set, is_set) = std::sync::mpsc::channel::<()>();
            let blocks = runtime.spawn(async move { is_set.recv().unwrap() });
            let sets = runtime.spawn(async move { set.send(()).unwrap() });
            for (go, gate) in gates {
                go.send(()).unwrap();
                gate.join().unwrap();
            }
            blocks.join().unwrap();
            sets.join().unwrap();
        }
    });
}

#[test]
fn a_full_queue_refuses_and_gives_the_future_back() {
    watched("a_full_queue_refuses", |watch| {
        // A spare would poll tasks of the queue while the worker is blocked.
        let builder = Runtime::builder().workers(1).spares(0).global_queue_capacity(3);
        let runtime = watch.runtime(builder.build().unwrap());
        let handle = runtime.handle();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let (started, is_started) = std::sync::mpsc::channel();
        let blocks = runtime.spawn(async move {
            started.send(()).unwrap();
            wait.recv().unwrap();
        });
        is_started.recv().unwrap();
        let taken: Vec<_> = (0..3).map(|n| handle.try_spawn(async move { n }).unwrap()).collect();
        assert_eq!(handle.metrics().tasks.queue_depth, 3);
        let refused = handle.try_spawn(async { 3 }).unwrap_err();
        assert!(refused.to_string().contains("global_queue_capacity"));
        let forced = handle.spawn(refused.into_future());
        go.send(()).unwrap();
        blocks.join().unwrap();
        let results: Vec<_> = taken.into_iter().map(|task| task.join().unwrap()).collect();
        assert_eq!(results, [0, 1, 2]);
        assert_eq!(forced.join().unwrap(), 3);
        assert_eq!(handle.try_spawn(async { 4 }).unwrap().join().unwrap(), 4);
    });
}

#[test]
fn slow_polls_are_reported_with_their_task() {
    watched("slow_polls_are_reported", |watch| {
        let slow: Arc<Mutex<Vec<(task::Id, Duration)>>> = Arc::default();
        let reports = slow.clone();
        let limit = Duration::from_millis(20);
        let pool = Pool::builder().workers(1).slow_poll_handler(limit, move |id, time| {
            reports.lock().unwrap().push((id, time));
        });
        let runtime = watch.runtime(pool.build().unwrap());
        let task = runtime.spawn(async move {
            let since = std::time::Instant::now();
            while since.elapsed() <= limit {
                std::hint::spin_loop();
            }
            yield_now().await;
            pending::<()>().await;
        });
        wait_for_parked(&runtime.handle(), 1);
        let id = task.id();
        let slow = slow.lock().unwrap();
        assert!(slow.iter().any(|&(whose, time)| whose == id && time > limit), "{slow:?}");
    });
}

#[test]
fn what_happens_to_tasks_is_counted() {
    watched("what_happens_to_tasks_is_counted", |watch| {
        // A spare would poll some of the tasks if the worker has no processor for long.
        let runtime = watch.runtime(Runtime::builder().workers(1).spares(0).build().unwrap());
        let all = runtime.spawn(async {
            // These are more tasks than fit into the ring, so some tasks overflow. The signal
            // scheduler keeps them in its tree instead.
            let tasks: Vec<_> = (0..1_000).map(|_| blitz::spawn(yield_now())).collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
        all.join().unwrap();
        let parked: Vec<_> = (0..10).map(|_| runtime.spawn(pending::<()>())).collect();
        wait_for_parked(&runtime.handle(), 10);
        wait_for(|| runtime.metrics().tasks.completed == 1_001);
        parked[0].abort();
        wait_for(|| runtime.metrics().tasks.cancelled == 1);
        let metrics = runtime.metrics();
        let tasks = &metrics.tasks;
        assert_eq!((tasks.spawned, tasks.waiting), (1_011, 9));
        assert!(tasks.polled >= 2_000 && tasks.lifo_hits > 0);
        match tasks.signal {
            None => assert!(tasks.overflowed >= 129 && tasks.queue_batches > 0),
            Some(signal) => assert!(signal.signals >= 1_000 && signal.taken_elsewhere == 0),
        }
        assert_eq!((tasks.stolen, tasks.rescued), (0, 0));
        // The awaiting task yields once per 128 handles that are ready when it awaits them. The
        // order of polls decides how many handles are ready.
        assert!(tasks.budget_yields <= 7, "{}", tasks.budget_yields);
        assert_eq!(tasks.yielded, 1_000 + tasks.budget_yields);
        assert_eq!((tasks.queue_depth, tasks.worker_queue_depths.as_slice()), (0, &[0][..]));
        assert!(tasks.poll_times.count() > 0 && tasks.poll_times.count() <= tasks.polled);
        assert!(tasks.schedule_latencies.count() > 0);
        assert!(metrics.to_string().contains("1011 spawned"));
        assert!(runtime.handle().dump().to_string().contains("waiting: 9"));
    });
}

#[test]
fn one_task_may_await_thousands() {
    watched("one_task_may_await_thousands", |watch| {
        for workers in [1, 2, 8] {
            let runtime = watch.workers(workers);
            let (send, mut receive) = mpsc::unbounded_channel();
            let sum = runtime.spawn(async move {
                let mut sum = 0;
                while let Some(n) = receive.recv().await {
                    sum += n;
                }
                sum
            });
            for n in 0..5_000u64 {
                let send = send.clone();
                drop(runtime.spawn(async move {
                    yield_now().await;
                    send.send(n).unwrap();
                }));
            }
            drop(send);
            assert_eq!(sum.join().unwrap(), 12_497_500);
        }
    });
}
