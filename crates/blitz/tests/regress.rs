//! One test for each bug that was found here or in another pool. Every program must end.

mod common;

use blitz::{Pool, WaitPolicy};
use common::{jitter, wait_for, watched};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn descendants_only(workers: usize) -> Pool {
    Pool::builder().workers(workers).wait_policy(WaitPolicy::DescendantsOnly).build().unwrap()
}

/// Calls `f(0) … f(n - 1)` by halving.
fn for_each(n: usize, f: &(impl Fn(usize) + Sync)) {
    fn go(low: usize, high: usize, f: &(impl Fn(usize) + Sync)) {
        if high - low == 1 {
            return f(low);
        }
        let middle = low.midpoint(high);
        blitz::join(|| go(low, middle, f), || go(middle, high, f));
    }
    go(0, n, f);
}

#[test]
fn rayon_592_a_lock_held_across_a_join_is_not_waited_for_on_top_of_its_holder() {
    watched("rayon_592", |watch| {
        for workers in [1, 2, 3, 8, 64] {
            let pool = watch.pool(descendants_only(workers));
            let lock = Mutex::new(0u64);
            let work = |item: usize| {
                let mut guard = lock.lock().unwrap();
                let sum = AtomicUsize::new(0);
                // While the holder waits for stolen halves of this loop, it must not start another
                // item.
                for_each(8, &|part| {
                    let mut seed = (item * 8 + part + 1) as u64;
                    jitter(&mut seed);
                    sum.fetch_add(part, Relaxed);
                });
                *guard += sum.into_inner() as u64;
            };
            pool.install(|| for_each(2_000, &work));
            assert_eq!(lock.into_inner().unwrap(), 28 * 2_000);
        }
    });
}

#[test]
fn rayon_1105_a_call_into_another_pool_starts_no_other_job_of_the_callers_pool() {
    watched("rayon_1105", |watch| {
        for workers in [1, 2, 64] {
            let outer = watch.pool(descendants_only(workers));
            let inner = watch.pool(descendants_only(workers));
            // There are more flags than workers, because a spare may take the place of a worker
            // that waits.
            let busy: Vec<_> = (0..workers + 64).map(|_| AtomicBool::new(false)).collect();
            let calls = AtomicUsize::new(0);
            let work = |_: usize| {
                // An outer worker has at most one item at a time. If it began another item during
                // each wait, the items that wait would fill the memory.
                let me = blitz::current_worker_index().unwrap();
                let was_busy = busy[me].swap(true, SeqCst);
                assert!(!was_busy, "no item begins on top of an item that waits");
                inner.install(|| {
                    for_each(16, &|_| {
                        calls.fetch_add(1, Relaxed);
                    })
                });
                busy[me].store(false, SeqCst);
            };
            outer.install(|| for_each(500, &work));
            assert_eq!(calls.into_inner(), 500 * 16);
        }
    });
}

#[test]
fn rayon_1142_an_iterator_behind_a_lock_may_itself_use_the_pool() {
    // A bridge from a sequential iterator does this: workers take turns at a lock, and `next`
    // forks.
    watched("rayon_1142", |watch| {
        for workers in [1, 2, 4, 64] {
            let pool = watch.pool(descendants_only(workers));
            let items = Mutex::new(0..500usize);
            let forked = AtomicUsize::new(0);
            pool.scope(|s| {
                for _ in 0..workers {
                    s.spawn(|_| {
                        // Other workers block on the lock while its holder waits for stolen parts
                        // of `next`. Such a part must not lie on a stack below a job that blocks.
                        let next = || {
                            let mut items = items.lock().unwrap();
                            for_each(4, &|_| {
                                forked.fetch_add(1, Relaxed);
                            });
                            items.next()
                        };
                        while next().is_some() {}
                    });
                }
            });
            assert_eq!(forked.into_inner(), (500 + workers) * 4);
        }
    });
}

#[test]
fn a_half_that_blocks_on_the_other_ends_although_the_pool_was_asleep() {
    watched("half_that_blocks_on_the_other", |watch| {
        let pool = watch.pool(Pool::builder().workers(2).build().unwrap());
        for _ in 0..500 {
            let barrier = std::sync::Barrier::new(2);
            pool.join(|| barrier.wait(), || barrier.wait());
        }
        assert_eq!(pool.metrics().total().queued, 0);
    });
}

#[test]
fn a_wake_up_spent_on_one_job_is_not_missing_for_the_next() {
    // Two jobs that need each other: the second must not wait behind the first.
    watched("a_wake_up_spent_on_one_job", |watch| {
        for workers in [2, 4] {
            let pool = watch.pool(Pool::builder().workers(workers).build().unwrap());
            for _ in 0..500 {
                let barrier = Arc::new(std::sync::Barrier::new(2));
                let other = barrier.clone();
                let a = pool.spawn_cpu(move || barrier.wait().is_leader());
                let b = pool.spawn_cpu(move || other.wait().is_leader());
                assert_ne!(a.join().unwrap(), b.join().unwrap());
            }
        }
    });
}

#[test]
fn a_pool_that_adopted_a_thread_may_be_dropped_inside_its_operations() {
    watched("adopted_pool_dropped_inside", |_| {
        let build = || Pool::builder().workers(2).use_current_thread().build().unwrap();
        for _ in 0..50 {
            let pool = build();
            assert_eq!(blitz::join(move || drop(pool), || 7).1, 7);
            assert_eq!(blitz::current_worker_index(), None);
            let pool = build();
            let ran = AtomicUsize::new(0);
            blitz::in_place_scope(|s| {
                s.spawn(|_| {
                    ran.fetch_add(1, Relaxed);
                });
                drop(pool);
            });
            assert_eq!(ran.into_inner(), 1);
            assert_eq!(blitz::current_worker_index(), None);
            // The thread is free again: jobs that it spawns go to another pool and run.
            assert_eq!(blitz::spawn_cpu(|| 1).join().unwrap(), 1);
        }
    });
}

#[test]
fn panics_whose_payload_panics_end_no_worker() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            // While the thread unwinds, a second panic would abort the process.
            if !std::thread::panicking() {
                panic!("dropped");
            }
        }
    }
    watched("panicking_payloads", |watch| {
        let pool = watch.pool(Pool::builder().workers(2).build().unwrap());
        pool.spawn_broadcast(|_| std::panic::panic_any(Bomb));
        let scope = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            pool.in_place_scope(|s| {
                for _ in 0..4 {
                    s.spawn(|_| std::panic::panic_any(Bomb));
                }
            });
        }));
        let bomb = std::panic::AssertUnwindSafe(scope.unwrap_err());
        assert!(std::panic::catch_unwind(|| drop(bomb)).is_err());
        assert_eq!(pool.broadcast(|_| 1), [1, 1]);
    });
}

#[test]
fn workers_that_never_started_or_have_left_are_not_waited_for() {
    watched("workers_that_never_were", |watch| {
        let builder = Pool::builder().workers(3).spawn_handler(|thread| {
            // The spawner forgets about worker 1.
            if thread.index() != 1 {
                std::thread::spawn(|| thread.run());
            }
            Ok(())
        });
        let pool = watch.pool(builder.build().unwrap());
        assert_eq!(pool.broadcast(|context| context.index()), [0, 1, 2]);
        let seen = Arc::new(AtomicUsize::new(0));
        let counter = seen.clone();
        let leaving = Pool::builder().workers(2).exit_handler(move |_| {
            let counter = counter.clone();
            // Other workers may have left already. Jobs of this worker still run.
            assert_eq!(blitz::broadcast(|_| 1).len(), 2);
            drop(blitz::spawn_cpu(move || counter.fetch_add(1, Relaxed)));
        });
        drop(leaving.build().unwrap());
        assert_eq!(seen.load(Relaxed), 2);
    });
}

#[test]
fn the_watch_rests_beside_a_worker_that_never_started() {
    watched("a worker that never started", |watch| {
        let builder = Pool::builder().workers(2).stall_handler(|_| ()).spawn_handler(|thread| {
            if thread.index() == 0 {
                std::thread::spawn(|| thread.run());
            }
            Ok(())
        });
        let pool = watch.pool(builder.build().unwrap());
        assert_eq!(pool.install(|| 1), 1);
        wait_for(|| !pool.dump().watch);
    });
}

#[test]
fn a_failed_start_does_not_wait_for_threads_that_a_spawner_keeps() {
    watched("kept_thread_builders", |_| {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let keep = kept.clone();
        let error = Pool::builder()
            .workers(3)
            .spawn_handler(move |thread| {
                if thread.index() == 2 {
                    return Err(std::io::Error::other("enough"));
                }
                keep.lock().unwrap().push(thread);
                Ok(())
            })
            .build()
            .unwrap_err();
        assert!(error.is_thread_spawn());
        // These workers run too late: they find the pool stopped, and leave.
        let late = std::mem::take(&mut *kept.lock().unwrap());
        assert_eq!(late.len(), 2);
        late.into_iter().for_each(blitz::ThreadBuilder::run);
    });
}

#[test]
fn a_task_that_yields_to_a_task_that_blocks_goes_on_elsewhere() {
    watched("yields_to_a_blocker", |watch| {
        let pool = watch.pool(common::pool(2));
        for _ in 0..50 {
            while !pool.dump().all_sleep {
                std::thread::yield_now();
            }
            let task = pool.spawn(async {
                let (send, receive) = std::sync::mpsc::channel();
                // This worker polls the blocker next, and the blocker blocks the worker.
                let blocker = blitz::spawn(async move { receive.recv().unwrap() });
                blitz::task::yield_now().await;
                send.send(7).unwrap();
                blocker.await.unwrap()
            });
            assert_eq!(task.join().unwrap(), 7);
        }
    });
}

#[test]
fn a_task_that_yields_beside_a_broadcast_that_blocks_goes_on_elsewhere() {
    watched("yields_to_mail", |watch| {
        let pool = watch.pool(common::pool(2));
        for _ in 0..200 {
            let done = Arc::new(AtomicBool::new(false));
            let (send, receive) = std::sync::mpsc::channel();
            let task = pool.spawn({
                let done = done.clone();
                async move {
                    send.send(blitz::current_worker_index()).unwrap();
                    for _ in 0..2_000 {
                        blitz::task::yield_now().await;
                    }
                    done.store(true, SeqCst);
                }
            });
            let here = receive.recv().unwrap();
            pool.broadcast(|context| {
                while Some(context.index()) == here && !done.load(SeqCst) {
                    std::thread::yield_now();
                }
            });
            task.join().unwrap();
        }
    });
}

#[test]
fn tokio_4941_a_task_runs_although_the_worker_that_woke_it_blocks_on_it() {
    watched("blocks_on_its_lifo_slot", |watch| {
        for workers in [1, 2, 64] {
            let pool = watch.pool(common::pool(workers));
            let task = pool.spawn(async {
                let (send, receive) = std::sync::mpsc::channel();
                // The child is in this worker's LIFO slot, and no other worker was notified of it.
                let child = blitz::spawn(async move { send.send(7).unwrap() });
                let seven = receive.recv().unwrap();
                child.await.unwrap();
                seven
            });
            assert_eq!(task.join().unwrap(), 7);
            assert!(pool.metrics().tasks.rescued >= 1);
        }
    });
}

/// The worker that left the driver for a task gets stuck in that task, while all others sleep.
///
/// Then a worker has to take the driver over, or a spare if there is no other worker.
#[test]
fn tokio_4730_one_bad_task_does_not_halt_the_others() {
    let blocks = |over: std::sync::mpsc::Receiver<()>| assert!(over.recv().is_err());
    let computes = |over: std::sync::mpsc::Receiver<()>| {
        while over.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {}
    };
    let kinds: [fn(std::sync::mpsc::Receiver<()>); 2] = [blocks, computes];
    watched("tokio_4730", |watch| {
        for (workers, gets_stuck) in [1, 2, 64].into_iter().flat_map(|n| kinds.map(|k| (n, k))) {
            let runtime = watch.workers(workers);
            let ((begun, has_begun), (end, over)) = (channel(), channel());
            let bad = runtime.spawn(async move {
                // The timer wakes this task on the worker that was in the driver.
                blitz::time::sleep(Duration::from_millis(1)).await;
                begun.send(()).unwrap();
                gets_stuck(over);
            });
            let good = runtime.spawn(async move {
                has_begun.recv().unwrap();
                for _ in 0..10 {
                    common::everything().await;
                }
            });
            good.join().unwrap();
            drop(end);
            bad.join().unwrap();
        }
    });
}

/// Wakes a task on its own worker, and blocks the worker until the task has run.
fn block_behind_the_lifo_slot(runtime: &blitz::Runtime) {
    let (wake, woken) = blitz::sync::oneshot::channel::<()>();
    let (done, is_done) = std::sync::mpsc::channel();
    let second = runtime.spawn(async move {
        woken.await.unwrap();
        done.send(()).unwrap();
    });
    while runtime.metrics().tasks.waiting == 0 {
        std::thread::yield_now();
    }
    let first = runtime.spawn(async move {
        wake.send(()).unwrap();
        is_done.recv().unwrap();
    });
    first.join().unwrap();
    second.join().unwrap();
}

#[test]
fn tokio_4941_a_task_in_the_lifo_slot_of_a_worker_that_blocks_runs_elsewhere() {
    watched("tokio_4941", |watch| {
        for workers in [1, 2, 8, 64] {
            let runtime = watch.workers(workers);
            for _ in 0..50 {
                block_behind_the_lifo_slot(&runtime);
            }
            assert!(runtime.metrics().tasks.rescued > 0);
        }
    });
}

#[test]
fn a_watch_that_sleeps_is_woken_by_the_next_task_in_a_lifo_slot() {
    watched("a_watch_that_sleeps", |watch| {
        let runtime = watch.workers(2);
        let mut rescues = 0;
        while rescues < 5 {
            let before = runtime.metrics().tasks.rescued;
            block_behind_the_lifo_slot(&runtime);
            // The wake may come while a worker still polls the second task. That worker polls it
            // again, and nothing is rescued in this round.
            rescues += usize::from(runtime.metrics().tasks.rescued > before);
            // The watch sleeps after some looks at empty slots.
            common::wait_for(|| !runtime.pool().dump().watch);
        }
    });
}

#[test]
fn neon_2975_a_worker_may_block_on_a_lock_whose_owner_is_in_its_lifo_slot() {
    watched("neon_2975", |watch| {
        let runtime = watch.workers(2);
        for _ in 0..50 {
            let lock = Arc::new(blitz::sync::Mutex::new(0));
            let (wake, woken) = blitz::sync::oneshot::channel::<()>();
            let owner = lock.clone();
            let second = runtime.spawn(async move {
                let mut guard = owner.lock().await;
                woken.await.unwrap();
                *guard += 1;
            });
            while runtime.metrics().tasks.waiting == 0 {
                std::thread::yield_now();
            }
            let first = runtime.spawn(async move {
                wake.send(()).unwrap();
                // The async code calls sync code here: `blocking_lock` parks the worker's thread.
                *lock.blocking_lock() += 1;
            });
            first.join().unwrap();
            second.join().unwrap();
        }
    });
}

#[test]
fn tokio_2376_runtimes_are_started_blocked_on_and_dropped_inside_of_each_other() {
    watched("tokio_2376", |watch| {
        for workers in [1, 2] {
            let outer = watch.workers(workers);
            let nested = |depth| {
                fn nest(depth: u32) -> u32 {
                    let inner = common::runtime(1);
                    if depth == 0 {
                        return inner.block_on(async { blitz::spawn(async { 7 }).await.unwrap() });
                    }
                    inner.block_on(async move {
                        let task = blitz::spawn(async move { nest(depth - 1) });
                        let below = nest(0);
                        task.await.unwrap() + below - 7
                    })
                }
                nest(depth)
            };
            assert_eq!(outer.block_on(async move { nested(3) }), 7);
            assert_eq!(outer.spawn(async move { nested(3) }).join().unwrap(), 7);
            assert_eq!(outer.spawn_cpu(move || nested(3)).join().unwrap(), 7);
            assert_eq!(outer.spawn_blocking(move || nested(3)).join().unwrap(), 7);
        }
    });
}

#[test]
fn a_task_that_yields_while_another_pool_ends_goes_on_elsewhere() {
    /// Reports that its thread drops its thread-locals, and so is at its very end.
    struct Ended(Arc<AtomicBool>);
    impl Drop for Ended {
        fn drop(&mut self) {
            self.0.store(true, SeqCst);
        }
    }
    thread_local! {
        static ENDED: std::cell::RefCell<Option<Ended>> = const { std::cell::RefCell::new(None) };
    }

    watched("yields_while_another_pool_ends", |watch| {
        let pool = watch.pool(common::pool(2));
        for _ in 0..50 {
            let (polled, ended) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
            pool.install(|| {
                let here = std::thread::current().id();
                let (send, receive) = std::sync::mpsc::channel();
                let other = common::pool(1);
                other.spawn_detached({
                    let (polled, ended) = (polled.clone(), Ended(ended.clone()));
                    move || {
                        ENDED.set(Some(ended));
                        wait_for(|| polled.load(SeqCst));
                    }
                });
                drop(blitz::spawn({
                    let (pool, polled, ended) = (pool.clone(), polled.clone(), ended.clone());
                    async move {
                        polled.store(true, SeqCst);
                        if std::thread::current().id() == here {
                            // Wait until the other pool's thread has ended. Then the drop below on
                            // this stack need not wait any more. Also wait until the second worker
                            // sleeps.
                            wait_for(|| ended.load(SeqCst));
                            wait_for(|| pool.dump().sleeping >= 1);
                        }
                        blitz::task::yield_now().await;
                        send.send(7).unwrap();
                    }
                }));
                drop(other);
                assert_eq!(receive.recv().unwrap(), 7);
            });
        }
    });
}

#[test]
fn a_task_that_yields_on_top_of_a_wait_that_ends_goes_on_elsewhere() {
    watched("yields_on_top_of_a_wait", |watch| {
        let pool = watch.pool(common::pool(2));
        for _ in 0..50 {
            let (stolen, polled) = (AtomicBool::new(false), Arc::new(AtomicBool::new(false)));
            let task = pool.install(|| {
                let (send, receive) = std::sync::mpsc::channel();
                let spawn = || {
                    wait_for(|| stolen.load(SeqCst));
                    let (pool, polled) = (pool.clone(), polled.clone());
                    blitz::spawn(async move {
                        polled.store(true, SeqCst);
                        // Wait until the other worker sleeps. By then it has run the stolen half,
                        // so the wait below on this stack is over.
                        wait_for(|| pool.dump().sleeping >= 1);
                        blitz::task::yield_now().await;
                        send.send(7).unwrap();
                    })
                };
                let end_when_polled = || {
                    stolen.store(true, SeqCst);
                    wait_for(|| polled.load(SeqCst));
                };
                let (task, ()) = blitz::join(spawn, end_when_polled);
                assert_eq!(receive.recv().unwrap(), 7);
                task
            });
            task.join().unwrap();
        }
    });
}
