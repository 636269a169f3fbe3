//! Calls from outside, and between pools.

mod common;

use common::{fib, pool, watched};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn foreign_threads_call_in_all_at_once() {
    watched("foreign_threads_call_in_all_at_once", |watch| {
        let pool = watch.pool(pool(2));
        std::thread::scope(|s| {
            for _ in 0..8 {
                s.spawn(|| {
                    for n in 0..100 {
                        assert_eq!(
                            pool.install(|| fib(n % 10)),
                            pool.join(|| fib(n % 10), || ()).0
                        );
                    }
                });
            }
        });
        assert_eq!(pool.metrics().total().queued, 0);
    });
}

#[test]
fn inside_a_pool_install_runs_on_the_spot() {
    let pool = pool(2);
    let (outer, inner) = pool
        .install(|| (std::thread::current().id(), pool.install(|| std::thread::current().id())));
    assert_eq!(outer, inner);
}

#[test]
fn panics_come_back_to_the_caller() {
    let pool = pool(2);
    let payload = catch_unwind(AssertUnwindSafe(|| pool.install(|| panic!("inside")))).unwrap_err();
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"inside"));
    assert_eq!(pool.install(|| 1), 1);
}

#[test]
fn two_pools_call_into_each_other_both_ways_at_once() {
    for policy in [blitz::WaitPolicy::StealAnything, blitz::WaitPolicy::DescendantsOnly] {
        watched("two_pools_call_into_each_other_both_ways_at_once", |watch| {
            let build = |workers| {
                let builder = blitz::Pool::builder().workers(workers).wait_policy(policy);
                watch.pool(builder.build().unwrap())
            };
            for (left, right) in [(1, 1), (1, 2), (2, 2)] {
                let (left, right) = (build(left), build(right));
                // At each level, a worker of one pool waits for a worker of the other pool.
                fn to_and_fro(here: &blitz::Pool, there: &blitz::Pool, depth: u32) -> u32 {
                    if depth == 0 {
                        return 0;
                    }
                    here.install(|| to_and_fro(there, here, depth - 1)) + 1
                }
                for _ in 0..50 {
                    std::thread::scope(|s| {
                        let a = s.spawn(|| to_and_fro(&left, &right, 20));
                        let b = s.spawn(|| to_and_fro(&right, &left, 20));
                        assert_eq!((a.join().unwrap(), b.join().unwrap()), (20, 20));
                    });
                }
            }
        });
    }
}

#[test]
fn a_sleeping_pool_is_woken_by_another_pools_worker() {
    watched("a_sleeping_pool_is_woken_by_another_pools_worker", |watch| {
        let (awake, asleep) = (watch.pool(pool(2)), watch.pool(pool(2)));
        for _ in 0..200 {
            // Wait until every worker of the second pool sleeps: its counters say so.
            while !asleep.dump().all_sleep {
                std::thread::yield_now();
            }
            assert_eq!(awake.install(|| asleep.install(|| fib(5))), 5);
        }
    });
}

#[test]
fn one_worker_is_enough_for_everything() {
    watched("one_worker_is_enough_for_everything", |watch| {
        let pool = watch.pool(pool(1));
        let total = pool.install(|| {
            let mut total = 0;
            blitz::scope(|s| s.spawn(|s| s.spawn(|_| total += fib(10))));
            let spawned = blitz::spawn_cpu(|| fib(10)).join().unwrap();
            total + spawned + blitz::broadcast(|_| fib(10)).iter().sum::<u64>()
        });
        assert_eq!(total, 3 * 55);
    });
}
