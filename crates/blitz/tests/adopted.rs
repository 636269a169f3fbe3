//! Pools that have adopted the thread that built them. Most tests use or drop them on another
//! thread, or drop them inside of their own operations.
//!
//! To a pool with a paused clock the thread is only lent: it is the first worker until another
//! thread needs that worker.

mod common;

use blitz::sync::oneshot;
use blitz::task::shield;
use blitz::time::{Duration, Instant, sleep};
use blitz::{Pool, Runtime};
use common::{Tally, wait_for, watched};
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, mpsc};

/// Builds a pool that has adopted the current thread.
fn adopt(workers: usize) -> Pool {
    Pool::builder().workers(workers).use_current_thread().build().unwrap()
}

/// Runs `test` with one worker, with two and with four, each time on a new thread.
fn on_a_thread(name: &'static str, test: impl Fn(usize) + Send + Sync) {
    watched(name, |_| {
        for workers in [1, 2, 4] {
            std::thread::scope(|threads| threads.spawn(|| test(workers)).join().unwrap());
        }
    });
}

/// Asserts that no pool has adopted the current thread any more.
fn assert_is_free() {
    assert_eq!(blitz::current_worker_index(), None);
    assert!(blitz::Handle::try_current().is_err());
    assert_eq!(blitz::spawn_cpu(|| 1).join().unwrap(), 1);
    assert_eq!(blitz::spawn(async { 2 }).join().unwrap(), 2);
    let again = adopt(1);
    assert_eq!(blitz::current_worker_index(), Some(0));
    assert_eq!(again.install(|| 3), 3);
    assert_eq!(blitz::spawn(async { 4 }).join().unwrap(), 4);
    drop(again);
    assert_eq!(blitz::current_worker_index(), None);
}

fn drop_elsewhere(pool: impl Send) {
    std::thread::scope(|threads| threads.spawn(|| drop(pool)).join().unwrap());
}

#[test]
fn a_pool_dropped_elsewhere_runs_its_jobs_and_frees_its_thread() {
    on_a_thread("a_pool_dropped_elsewhere", |workers| {
        for _ in 0..20 {
            let pool = adopt(workers);
            let (send, receive) = mpsc::channel();
            for n in 0..10 {
                let (one, each) = (send.clone(), send.clone());
                blitz::spawn_detached(move || one.send(n).unwrap());
                pool.spawn_broadcast(move |_| each.send(n).unwrap());
            }
            drop_elsewhere(pool);
            assert_eq!(receive.try_iter().count(), 10 + 10 * workers, "the drop waits for jobs");
            assert_is_free();
        }
    });
}

#[test]
fn a_pool_dropped_by_a_worker_of_another_pool_runs_its_jobs() {
    on_a_thread("a_pool_dropped_by_a_worker", |workers| {
        let other = common::pool(1);
        let handle = other.handle();
        let pool = adopt(workers);
        // The remaining job waits for a job of the other pool, whose only worker is in the drop.
        let job = pool.spawn_cpu(move || handle.spawn_cpu(|| 7).join().unwrap());
        other.install(move || drop(pool));
        assert_eq!(job.join().unwrap(), 7);
        assert_is_free();
    });
}

#[test]
fn tasks_and_closures_of_a_pool_dropped_elsewhere_end() {
    on_a_thread("tasks_and_closures_of_a_pool", |workers| {
        let tally = Tally::default();
        let runtime = Pool::builder().workers(workers).use_current_thread();
        let runtime = runtime.build().unwrap();
        let (token, rest) = (tally.token(), tally.token());
        drop(runtime.spawn(async move {
            let _token = token;
            pending::<()>().await;
        }));
        let (begun, is_begun) = oneshot::channel();
        let (go, wait) = oneshot::channel::<()>();
        let section = runtime.spawn(async move {
            shield(async {
                begun.send(()).unwrap();
                wait.await.unwrap();
                sleep(Duration::from_millis(1)).await;
                drop(rest);
            })
            .await;
            7
        });
        runtime.block_on(is_begun).unwrap();
        let (job_go, job_wait) = mpsc::channel::<()>();
        let closure = runtime.spawn_blocking(move || {
            job_wait.recv().unwrap();
            blitz::spawn_cpu(|| 8).join().unwrap()
        });
        let dropping = std::thread::spawn(move || drop(runtime));
        go.send(()).unwrap();
        assert_eq!(section.join().unwrap(), 7);
        assert!(!dropping.is_finished(), "the drop waits for the closure");
        job_go.send(()).unwrap();
        dropping.join().unwrap();
        assert!(tally.is_even());
        assert_eq!(closure.join().unwrap(), 8);
        assert_is_free();
    });
}

#[test]
fn a_pool_may_be_dropped_elsewhere_while_its_thread_is_in_an_operation() {
    on_a_thread("a_pool_dropped_during_an_operation", |workers| {
        for _ in 0..20 {
            let pool = adopt(workers);
            let (begun, begins) = mpsc::channel();
            let (go, wait) = oneshot::channel();
            let dropping = std::thread::spawn(move || {
                begins.recv().unwrap();
                let job = pool.spawn_cpu(|| 7);
                drop(pool);
                assert_eq!(job.join().unwrap(), 7);
                go.send(8).unwrap();
            });
            let eight = blitz::block_on(async {
                begun.send(()).unwrap();
                wait.await.unwrap()
            });
            assert_eq!(eight, 8);
            assert_is_free();
            dropping.join().unwrap();
        }
    });
}

#[test]
fn closures_go_on_when_a_pool_is_dropped_inside_of_its_operation() {
    /// Calls `end` with a pool that a closure still needs. The closure then goes on.
    fn check(workers: usize, end: impl FnOnce(Pool) + Send) {
        let pool = adopt(workers);
        let (go, wait) = mpsc::channel::<()>();
        let (send, receive) = mpsc::channel();
        drop(pool.spawn_blocking(move || {
            wait.recv().unwrap();
            let job = blitz::spawn_cpu(|| 7).join().unwrap();
            blitz::spawn_detached(move || send.send(job).unwrap());
        }));
        end(pool);
        assert_eq!(blitz::current_worker_index(), None);
        go.send(()).unwrap();
        assert_eq!(receive.recv(), Ok(7), "each job that was spawned runs");
        assert_is_free();
    }
    on_a_thread("closures_go_on", |workers| {
        for _ in 0..20 {
            check(workers, |pool| assert_eq!(blitz::join(move || drop(pool), || 1).1, 1));
            check(workers, |pool| blitz::block_on(async move { drop(pool) }));
            check(workers, |pool| blitz::scope(|s| s.spawn(move |_| drop(pool))));
        }
    });
}

#[test]
fn a_handle_is_joined_after_its_pool_was_dropped_inside_of_its_operation() {
    on_a_thread("a_handle_is_joined", |workers| {
        let pool = adopt(workers);
        let closure = pool.spawn_blocking(|| blitz::spawn_cpu(|| 7).join().unwrap());
        let job = pool.spawn_cpu(|| 8);
        blitz::block_on(async move { drop(pool) });
        assert_eq!(closure.join().unwrap() + job.join().unwrap(), 15);
        let pool = adopt(workers);
        let sum = blitz::block_on(async move {
            let closure = pool.spawn_blocking(|| blitz::spawn_cpu(|| 7).join().unwrap());
            let job = pool.spawn_cpu(|| 8);
            drop(pool);
            closure.await.unwrap() + job.join().unwrap()
        });
        assert_eq!(sum, 15);
        assert_is_free();
    });
}

#[test]
fn a_shielded_section_ends_after_a_pool_dropped_inside_of_its_operation() {
    on_a_thread("a_shielded_section_ends", |workers| {
        let pool = adopt(workers);
        let (begun, is_begun) = oneshot::channel();
        let (go, wait) = oneshot::channel();
        let section = pool.spawn(shield(async {
            begun.send(()).unwrap();
            wait.await.unwrap()
        }));
        blitz::block_on(async move {
            is_begun.await.unwrap();
            drop(pool);
        });
        go.send(7).unwrap();
        assert_eq!(section.join().unwrap(), 7);
        assert_is_free();
    });
}

#[test]
fn a_pool_that_does_not_wait_goes_on_without_its_thread() {
    on_a_thread("a_pool_that_does_not_wait", |workers| {
        for elsewhere in [false, true] {
            let builder = Pool::builder().workers(workers).use_current_thread();
            let pool = builder.detach_on_drop().build().unwrap();
            let (go, wait) = mpsc::channel::<()>();
            let closure = pool.spawn_blocking(move || {
                wait.recv().unwrap();
                blitz::spawn_cpu(|| 7).join().unwrap()
            });
            if elsewhere {
                drop_elsewhere(pool);
            } else {
                drop(pool);
            }
            assert_is_free();
            go.send(()).unwrap();
            assert_eq!(closure.join().unwrap(), 7);
        }
    });
}

#[test]
fn a_pool_dropped_in_one_of_its_blocking_closures_goes_on() {
    on_a_thread("a_pool_dropped_in_a_closure", |workers| {
        let pool = adopt(workers);
        let handle = pool.handle();
        let closure = handle.spawn_blocking(move || {
            drop(pool);
            blitz::spawn_cpu(|| 7).join().unwrap()
        });
        assert_eq!(closure.join().unwrap(), 7);
        wait_for(|| handle.dump().stopping);
        assert_is_free();
    });
}

/// A thread can be only one worker.
#[test]
fn a_thread_of_a_pool_refuses_to_be_a_worker_of_another_pool() {
    watched("two workers on one thread", |_| {
        // Builds a pool on another thread, and hands its worker to `hand_over`.
        let with_worker = |hand_over: &dyn Fn(blitz::ThreadBuilder)| {
            let (send, handed) = mpsc::channel();
            let building = std::thread::spawn(move || {
                let builder = Pool::builder().workers(1).spawn_handler(move |thread| {
                    send.send(thread).unwrap();
                    Ok(())
                });
                builder.build().unwrap()
            });
            hand_over(handed.recv().unwrap());
            drop(building.join().unwrap());
        };
        let refuses = |thread: blitz::ThreadBuilder| {
            let run = std::panic::AssertUnwindSafe(|| thread.run());
            let panic = std::panic::catch_unwind(run).unwrap_err();
            let text = panic.downcast_ref::<&str>().unwrap();
            assert!(text.contains("already a worker"), "{text}");
        };
        let adopting = adopt(1);
        with_worker(&refuses);
        drop(adopting);
        assert_is_free();
        let pool = common::pool(1);
        with_worker(&|thread| pool.install(|| refuses(thread)));
    });
}

/// Builds a runtime with a paused clock.
fn paused(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).start_paused(true).build().unwrap()
}

async fn an_hour() -> Duration {
    let start = Instant::now();
    sleep(Duration::from_secs(3_600)).await;
    start.elapsed()
}

const HOUR: Duration = Duration::from_secs(3_600);

#[test]
fn a_paused_runtime_works_on_a_thread_that_did_not_build_it() {
    on_a_thread("a_paused_runtime_elsewhere", |workers| {
        let uses: [fn(&Runtime); 5] = [
            |runtime| {
                assert_eq!(runtime.block_on(async { blitz::spawn(an_hour()).await.unwrap() }), HOUR)
            },
            |runtime| assert_eq!(runtime.spawn(an_hour()).join().unwrap(), HOUR),
            |runtime| assert_eq!(runtime.spawn_cpu(|| 7).join().unwrap(), 7),
            |runtime| assert_eq!(runtime.pool().join(|| 1, || 2), (1, 2)),
            |runtime| assert!(!runtime.pool().broadcast(|context| context.index()).is_empty()),
        ];
        for first in uses {
            // The thread that built the first runtime still exists; that of the second one is gone.
            for runtime in
                [paused(workers), std::thread::spawn(move || paused(workers)).join().unwrap()]
            {
                std::thread::scope(|threads| {
                    let used = threads.spawn(|| {
                        first(&runtime);
                        uses.iter().for_each(|again| again(&runtime));
                    });
                    used.join().unwrap();
                });
                uses.iter().for_each(|here| here(&runtime));
                drop_elsewhere(runtime);
                assert_is_free();
            }
        }
    });
}

#[test]
fn a_paused_clock_stands_while_the_thread_that_built_its_runtime_computes() {
    on_a_thread("the_thread_that_built_a_paused_runtime", |workers| {
        let runtime = paused(workers);
        for _ in 0..10 {
            runtime.block_on(async {
                assert_eq!(blitz::current_worker_index(), Some(0));
                let late = blitz::spawn(an_hour());
                let start = Instant::now();
                std::hint::black_box(common::fib(10));
                assert_eq!(start.elapsed(), Duration::ZERO);
                assert_eq!(late.await.unwrap(), HOUR);
            });
        }
    });
}

#[test]
fn a_thread_that_waits_for_a_paused_runtime_gets_a_worker_when_the_first_thread_leaves() {
    on_a_thread("a_thread_that_waits_for_a_paused_runtime", |workers| {
        let runtime = paused(workers);
        let (begun, begins) = mpsc::channel();
        std::thread::scope(|threads| {
            let (go, wait) = oneshot::channel::<()>();
            let waits = runtime.block_on(async {
                let runtime = &runtime;
                // The other thread waits for a task that cannot end before this operation ends.
                let waits = threads.spawn(move || {
                    runtime.block_on(async {
                        let task = blitz::spawn(async move {
                            wait.await.unwrap();
                            an_hour().await
                        });
                        begun.send(()).unwrap();
                        task.await.unwrap()
                    })
                });
                begins.recv().unwrap();
                waits
            });
            go.send(()).unwrap();
            assert_eq!(waits.join().unwrap(), HOUR);
        });
        assert_eq!(runtime.block_on(an_hour()), HOUR);
        drop(runtime);
        assert_is_free();
    });
}

#[test]
fn a_drop_waits_for_the_thread_that_takes_the_place_of_a_lent_one() {
    watched("a drop beside callers that need a worker", |_| {
        for _ in 0..100 {
            let runtime = Runtime::builder().workers(1).start_paused(true).build().unwrap();
            let callers: Vec<_> = (0..2)
                .map(|_| {
                    let handle = runtime.handle();
                    // Each task is done, or cancelled by the end of the pool.
                    let call = move || (0..20).for_each(|_| drop(handle.spawn(async {}).join()));
                    std::thread::spawn(call)
                })
                .collect();
            let token = Arc::new(());
            for _ in 0..4 {
                let token = token.clone();
                drop(runtime.spawn(async move { drop(token) }));
            }
            drop(runtime);
            assert_eq!(Arc::strong_count(&token), 1, "no task outlives its runtime");
            callers.into_iter().for_each(|caller| caller.join().unwrap());
        }
    });
}

#[test]
fn a_task_behind_the_adopted_thread_is_polled_while_that_thread_is_blocked() {
    watched("a task behind a blocked adopted thread", |_| {
        for workers in [1, 2] {
            let pool = Pool::builder().workers(workers).use_current_thread().build().unwrap();
            let wait_for_a_task = || {
                let (send, receive) = mpsc::channel();
                drop(blitz::spawn(async move { send.send(7).unwrap() }));
                receive.recv().unwrap()
            };
            assert_eq!(pool.install(wait_for_a_task), 7);
            assert_eq!(pool.block_on(async { wait_for_a_task() }), 7);
        }
    });
}

#[test]
fn a_job_runs_beside_a_job_that_computes_while_the_adopted_thread_is_away() {
    watched("a job beside one that computes", |watch| {
        let builder = Pool::builder().workers(2).use_current_thread();
        let pool = watch.pool(builder.build().unwrap());
        let flag = Arc::new(AtomicBool::new(false));
        let (tell, told) = mpsc::channel();
        let looks = flag.clone();
        pool.spawn_detached(move || {
            while !looks.load(SeqCst) {
                std::hint::spin_loop();
            }
            tell.send(()).unwrap();
        });
        pool.spawn_detached(move || flag.store(true, SeqCst));
        told.recv().unwrap();
    });
}
