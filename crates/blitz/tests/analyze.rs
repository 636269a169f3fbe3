//! `analyze`: its counts, where it may be called, nesting, panics.

mod common;

use blitz::prelude::*;
use common::{fib, pool, watched};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// Returns how often `fib(n)` forks.
fn forks_of_fib(n: u32) -> u64 {
    if n < 2 { 0 } else { 1 + forks_of_fib(n - 1) + forks_of_fib(n - 2) }
}

/// Checks what holds for every analysis.
fn check<R>(analysis: &blitz::Analysis<R>) {
    assert!(analysis.work >= analysis.span, "{analysis}");
    assert!(analysis.burdened_span >= analysis.span, "{analysis}");
    assert!(analysis.parallelism() >= 1.0 && analysis.burdened_parallelism() >= 1.0);
    assert!(analysis.to_string().ends_with(&analysis.verdict()));
}

#[test]
fn every_fork_counts_wherever_analyze_is_called() {
    watched("every_fork_counts_wherever_analyze_is_called", |watch| {
        let pool = watch.pool(pool(2));
        let check_fib = |workers| {
            let analysis = blitz::analyze(|| fib(15));
            check(&analysis);
            assert_eq!((analysis.value, analysis.forks), (610, forks_of_fib(15)));
            assert_eq!(analysis.workers, workers);
        };
        // Outside every pool `analyze` uses the global pool.
        check_fib(blitz::current_num_workers());
        // On a worker, in a task, and after this thread has entered a pool with another number of
        // workers.
        pool.install(|| check_fib(2));
        pool.spawn(async move { check_fib(2) }).join().unwrap();
        let three = common::pool(3);
        let _entered = three.enter();
        check_fib(3);
    });
}

#[test]
fn sequential_code_is_its_own_longest_chain() {
    let analysis = pool(2).install(|| blitz::analyze(|| (0..10_000_u64).sum::<u64>()));
    check(&analysis);
    assert_eq!((analysis.forks, analysis.work), (0, analysis.span));
    assert_eq!(analysis.verdict(), "no forks: one worker does all of it");
}

#[test]
fn all_of_an_analysis_runs_on_one_thread() {
    watched("all_of_an_analysis_runs_on_one_thread", |watch| {
        let pool = watch.pool(pool(2));
        let threads = Mutex::new(Vec::new());
        let note = || threads.lock().unwrap().push(thread::current().id());
        let analysis = pool.install(|| {
            blitz::analyze(|| {
                note();
                blitz::join(note, note);
                blitz::scope(|s| {
                    s.spawn(|_| note());
                    s.spawn(|s| s.spawn(|_| note()));
                });
                pool.scope(|s| s.spawn(|_| note()));
                pool.join(note, || pool.install(|| blitz::join(note, note)));
            })
        });
        check(&analysis);
        assert_eq!(analysis.forks, 7);
        let threads = threads.into_inner().unwrap();
        assert_eq!(threads.len(), 9);
        assert!(threads.iter().all(|thread| *thread == threads[0]));
    });
}

#[test]
fn an_analysis_counts_the_jobs_of_nested_scopes() {
    watched("an_analysis_counts_the_jobs_of_nested_scopes", |watch| {
        fn tree(depth: u32, leaves: &AtomicUsize) {
            if depth == 0 {
                leaves.fetch_add(1, Relaxed);
                return;
            }
            blitz::scope(|s| {
                s.spawn(|_| tree(depth - 1, leaves));
                s.spawn(|_| tree(depth - 1, leaves));
            });
        }
        let pool = watch.pool(pool(2));
        let leaves = AtomicUsize::new(0);
        let analysis = pool.install(|| blitz::analyze(|| tree(6, &leaves)));
        check(&analysis);
        assert_eq!((leaves.into_inner(), analysis.forks), (64, 2 + 4 + 8 + 16 + 32 + 64));
    });
}

#[test]
fn fifo_jobs_keep_their_order() {
    watched("fifo_jobs_keep_their_order", |watch| {
        let pool = watch.pool(pool(2));
        let order = Mutex::new(Vec::new());
        let push = |number| order.lock().unwrap().push(number);
        let analysis = pool.install(|| {
            blitz::analyze(|| {
                blitz::scope_fifo(|s| (0..5).for_each(|i| s.spawn_fifo(move |_| push(i))));
            })
        });
        check(&analysis);
        assert_eq!(analysis.forks, 5);
        assert_eq!(order.into_inner().unwrap(), [0, 1, 2, 3, 4]);
    });
}

#[test]
fn spawned_jobs_count_and_have_run_at_the_end() {
    watched("spawned_jobs_count_and_have_run_at_the_end", |watch| {
        let pool = watch.pool(pool(2));
        static RAN: AtomicUsize = AtomicUsize::new(0);
        let analysis = pool.install(|| {
            blitz::analyze(|| {
                let jobs: Vec<_> = (0..4).map(|i| blitz::spawn_cpu(move || fib(i + 4))).collect();
                for _ in 0..3 {
                    blitz::spawn_detached(|| {
                        blitz::join(|| RAN.fetch_add(1, Relaxed), || ());
                    });
                }
                blitz::spawn_detached_fifo(|| _ = RAN.fetch_add(1, Relaxed));
                jobs.into_iter().map(|job| job.join().unwrap()).sum::<u64>()
            })
        });
        check(&analysis);
        assert_eq!(RAN.load(Relaxed), 4);
        assert_eq!(analysis.value, 3 + 5 + 8 + 13);
        let in_jobs: u64 = (4..8).map(forks_of_fib).sum();
        assert_eq!(analysis.forks, 4 + in_jobs + 3 * 2 + 1);
    });
}

#[test]
fn parallel_iterators_are_cut_as_for_the_workers_of_the_pool() {
    watched("parallel_iterators_are_cut_as_for_the_workers_of_the_pool", |watch| {
        let pool = watch.pool(pool(4));
        let analysis = pool.install(|| {
            blitz::analyze(|| (0..200_000_u64).into_par_iter().map(|i| i.count_ones()).sum::<u32>())
        });
        check(&analysis);
        assert_eq!(analysis.value, (0..200_000_u64).map(u64::count_ones).sum::<u32>());
        assert!(analysis.forks >= 3, "{analysis}");
        let mut numbers: Vec<u32> = (0..50_000).map(|i: u32| i.wrapping_mul(0x9E37_79B9)).collect();
        let analysis = pool.install(|| blitz::analyze(|| numbers.par_sort_unstable()));
        assert!(numbers.is_sorted() && analysis.forks > 0);
    });
}

#[test]
fn an_analysis_inside_of_another_measures_its_part() {
    let outer = pool(2).install(|| {
        blitz::analyze(|| {
            fib(5);
            let inner = blitz::analyze(|| fib(10));
            fib(5);
            inner
        })
    });
    check(&outer);
    let inner = outer.value;
    check(&inner);
    assert_eq!((inner.value, inner.forks, inner.workers), (55, forks_of_fib(10), 2));
    assert_eq!(outer.forks, inner.forks + 2 * forks_of_fib(5));
    assert!(outer.work >= inner.work && outer.span >= inner.span);
}

#[test]
fn panics_reach_the_caller_and_leave_the_pool_as_it_was() {
    watched("panics_reach_the_caller_and_leave_the_pool_as_it_was", |watch| {
        let pool = watch.pool(pool(2));
        let text = |f: &(dyn Fn() + Sync)| {
            let run = || pool.install(|| blitz::analyze(f));
            *catch_unwind(AssertUnwindSafe(run)).unwrap_err().downcast::<&str>().unwrap()
        };
        assert_eq!(text(&|| panic!("itself")), "itself");
        assert_eq!(text(&|| _ = blitz::join(|| panic!("first"), || ())), "first");
        assert_eq!(text(&|| _ = blitz::join(|| (), || panic!("second"))), "second");
        assert_eq!(text(&|| blitz::scope(|s| s.spawn(|_| panic!("job")))), "job");
        static RAN: AtomicUsize = AtomicUsize::new(0);
        let left = || {
            blitz::spawn_detached(|| _ = RAN.fetch_add(1, Relaxed));
            panic!("with a job left");
        };
        assert_eq!(text(&left), "with a job left");
        assert_eq!(RAN.load(Relaxed), 1);
        // A panic that is caught inside the closure does not end the analysis.
        let analysis = pool.install(|| {
            blitz::analyze(|| {
                let inner =
                    || blitz::join(|| blitz::join(|| panic!("caught"), || fib(3)), || fib(4));
                let caught: Result<((), u64), _> =
                    catch_unwind(AssertUnwindSafe(inner)).map(|((unit, _), b)| (unit, b));
                assert!(caught.is_err());
                fib(5)
            })
        });
        check(&analysis);
        assert_eq!(analysis.forks, 2 + forks_of_fib(3) + forks_of_fib(4) + forks_of_fib(5));
        assert_eq!(pool.install(|| fib(10)), 55);
    });
}

#[test]
fn tasks_in_an_analysis_run_on_the_pool() {
    watched("tasks_in_an_analysis_run_on_the_pool", |watch| {
        let pool = watch.pool(pool(2));
        let analysis = pool.install(|| {
            blitz::analyze(|| {
                assert_eq!(blitz::current_num_workers(), 2);
                assert_eq!(blitz::broadcast(|context| context.index()), [0, 1]);
                blitz::spawn(async {
                    blitz::time::sleep(Duration::from_millis(1)).await;
                    blitz::current_num_workers()
                })
            })
        });
        // The task goes on after the analysis.
        assert_eq!(analysis.value.join().unwrap(), 2);
        assert_eq!(analysis.forks, 0);
        assert_eq!(pool.metrics().tasks.spawned, 1);
    });
}

#[test]
fn a_scope_outside_waits_for_jobs_that_an_analysis_spawned_into_it() {
    watched("a_scope_outside_waits_for_jobs_that_an_analysis_spawned_into_it", |watch| {
        let pool = watch.pool(pool(2));
        let ran = AtomicUsize::new(0);
        pool.scope(|s| {
            let analysis = blitz::analyze(|| s.spawn(|_| _ = ran.fetch_add(1, Relaxed)));
            assert_eq!(analysis.forks, 1);
        });
        assert_eq!(ran.into_inner(), 1);
    });
}
