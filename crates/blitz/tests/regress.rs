//! Programs on which other pools hang. All must end.

mod common;

use blitz::{Pool, WaitPolicy};
use common::{jitter, watched};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

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
        for workers in [1, 2, 3, 8] {
            let pool = watch.pool(descendants_only(workers));
            let lock = Mutex::new(0u64);
            let work = |item: usize| {
                let mut guard = lock.lock().unwrap();
                let sum = AtomicUsize::new(0);
                // While it waits for stolen halves of this, the holder must not start another item.
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
        let outer = watch.pool(descendants_only(2));
        let inner = watch.pool(descendants_only(2));
        let busy: Vec<_> = (0..2).map(|_| AtomicBool::new(false)).collect();
        let calls = AtomicUsize::new(0);
        let work = |_: usize| {
            // At most one item per outer worker at a time: that is how its memory is bounded.
            let me = blitz::current_worker_index().unwrap();
            assert!(!busy[me].swap(true, SeqCst), "a second item on top of a waiting one");
            inner.install(|| {
                for_each(16, &|_| {
                    calls.fetch_add(1, Relaxed);
                })
            });
            busy[me].store(false, SeqCst);
        };
        outer.install(|| for_each(500, &work));
        assert_eq!(calls.into_inner(), 500 * 16);
    });
}

#[test]
fn rayon_1142_an_iterator_behind_a_lock_may_itself_use_the_pool() {
    // What a bridge from a sequential iterator does: workers take turns at a lock, and `next` forks.
    watched("rayon_1142", |watch| {
        for workers in [2, 4] {
            let pool = watch.pool(descendants_only(workers));
            let items = Mutex::new(0..500usize);
            let forked = AtomicUsize::new(0);
            pool.scope(|s| {
                for _ in 0..workers {
                    s.spawn(|_| {
                        // Others block on the lock while its holder waits for stolen parts of
                        // `next`: none of those parts may be stuck below a blocked one.
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
fn leaf_that_blocks_on_its_sibling_ends_although_the_pool_was_asleep() {
    watched("leaf_that_blocks_on_its_sibling", |watch| {
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
    // Two jobs, each of which needs the other: the second must not wait behind the first.
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
