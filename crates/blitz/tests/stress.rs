//! Many more workers than cores, random delays, thousands of pools. No test relies on a timeout: if
//! a wake-up is lost, the test hangs, and the watchdog dumps the pools.

mod common;

use blitz::{Pool, SleepPolicy, WaitPolicy};
use common::{fib, jitter, watched};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

const WORKERS: [usize; 6] = [1, 2, 3, 8, 64, 200];

fn builders() -> impl Iterator<Item = blitz::PoolBuilder> {
    let policies = [WaitPolicy::StealAnything, WaitPolicy::DescendantsOnly];
    let sleeps = [SleepPolicy::adaptive(), SleepPolicy::rayon(), SleepPolicy::low_latency()];
    policies.into_iter().flat_map(move |wait| {
        sleeps.into_iter().flat_map(move |sleep| {
            [false, true].into_iter().map(move |publish_all| {
                let builder = Pool::builder().wait_policy(wait).sleep_policy(sleep);
                if publish_all { builder.publish_all() } else { builder }
            })
        })
    })
}

/// Forks a tree whose nodes pause at random. Returns how many leaves it has.
fn shaky_tree(depth: u32, seed: u64) -> u64 {
    let mut noise = seed | 1;
    jitter(&mut noise);
    if depth == 0 {
        return 1;
    }
    let (a, b) = blitz::join(
        || shaky_tree(depth - 1, noise.wrapping_mul(3)),
        || shaky_tree(depth - 1, noise.wrapping_mul(5)),
    );
    a + b
}

#[test]
fn every_setting_with_few_and_many_workers() {
    watched("every_setting_with_few_and_many_workers", |watch| {
        for (index, builder) in builders().enumerate() {
            let workers = WORKERS[index % WORKERS.len()];
            let pool = watch.pool(builder.workers(workers).build().unwrap());
            for round in 0..10 {
                assert_eq!(pool.install(|| shaky_tree(9, round)), 512);
                assert_eq!(pool.join(|| fib(12), || fib(13)), (144, 233));
            }
        }
    });
}

#[test]
fn calls_from_many_threads_into_pools_of_every_size() {
    watched("calls_from_many_threads_into_pools_of_every_size", |watch| {
        for workers in WORKERS {
            let pool = watch.pool(common::pool(workers));
            let leaves = AtomicU64::new(0);
            std::thread::scope(|s| {
                for caller in 0..6u64 {
                    let (pool, leaves) = (&pool, &leaves);
                    s.spawn(move || {
                        let mut noise = caller + 1;
                        for round in 0..30 {
                            jitter(&mut noise);
                            let found = match round % 3 {
                                0 => pool.install(|| shaky_tree(4, noise)),
                                1 => pool.spawn_cpu(move || shaky_tree(4, noise)).join().unwrap(),
                                _ => {
                                    let sum = AtomicU64::new(0);
                                    pool.scope(|s| {
                                        for i in 0..4 {
                                            let sum = &sum;
                                            s.spawn(move |_| {
                                                sum.fetch_add(shaky_tree(2, noise + i), Relaxed);
                                            });
                                        }
                                    });
                                    sum.into_inner()
                                }
                            };
                            leaves.fetch_add(found, Relaxed);
                        }
                    });
                }
            });
            assert_eq!(leaves.into_inner(), 6 * 30 * 16, "{workers} workers");
        }
    });
}

#[test]
fn sleeping_pools_are_woken_every_time() {
    watched("sleeping_pools_are_woken_every_time", |watch| {
        for workers in [1, 2, 8] {
            let pool = watch.pool(common::pool(workers));
            for round in 0..300u64 {
                // Every second round waits until all workers sleep. In the other rounds the workers
                // may be awake, asleep, or about to sleep.
                while round % 2 == 0 && !pool.dump().all_sleep {
                    std::thread::yield_now();
                }
                assert_eq!(pool.install(|| shaky_tree(3, round)), 8);
            }
        }
    });
}

#[test]
fn thousands_of_pools_come_and_go() {
    watched("thousands_of_pools_come_and_go", |_| {
        let ran = std::sync::Arc::new(AtomicUsize::new(0));
        for round in 0..2_000u64 {
            let pool = common::pool(1 + (round % 3) as usize);
            match round % 4 {
                // This pool is dropped before its threads have had anything to do.
                0 => {}
                1 => assert_eq!(pool.install(|| shaky_tree(2, round)), 4),
                2 => {
                    let ran = ran.clone();
                    drop(pool.spawn_cpu(move || ran.fetch_add(1, Relaxed)));
                }
                _ => {
                    let ran = ran.clone();
                    pool.spawn_broadcast(move |context| {
                        if context.index() == 0 {
                            ran.fetch_add(1, Relaxed);
                        }
                    });
                }
            }
        }
        assert_eq!(ran.load(Relaxed), 1_000);
    });
}

#[test]
fn large_pools_come_and_go() {
    watched("large_pools_come_and_go", |_| {
        for round in 0..10 {
            for workers in [64, 200] {
                let pool = common::pool(workers);
                assert_eq!(pool.install(|| shaky_tree(6, round)), 64);
                assert_eq!(pool.broadcast(|context| context.index()).len(), workers);
            }
        }
    });
}

#[test]
fn a_batch_from_outside_reaches_all_workers() {
    watched("a_batch_from_outside_reaches_all_workers", |watch| {
        for workers in [2, 3, 8, 64] {
            let pool = watch.pool(common::pool(workers));
            for _ in 0..20 {
                // The barrier opens only when all of the jobs run at the same time.
                let barrier = std::sync::Arc::new(std::sync::Barrier::new(workers));
                let handles: Vec<_> = (0..workers)
                    .map(|_| {
                        let barrier = barrier.clone();
                        pool.spawn_cpu(move || barrier.wait().is_leader())
                    })
                    .collect();
                let leaders = handles.into_iter().map(|h| h.join().unwrap());
                assert_eq!(leaders.filter(|&leader| leader).count(), 1);
            }
        }
    });
}
