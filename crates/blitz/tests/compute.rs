//! Fork and join inside tasks: the same workers, no bridge.

mod common;

use blitz::{Pool, Runtime, WaitPolicy};
use common::{fib, watched};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

fn runtimes() -> impl Iterator<Item = Runtime> {
    let policies = [WaitPolicy::StealAnything, WaitPolicy::DescendantsOnly];
    policies.into_iter().flat_map(|policy| {
        [1, 2, 8].into_iter().map(move |workers| {
            Runtime::builder().workers(workers).wait_policy(policy).build().unwrap()
        })
    })
}

/// Returns numbers in no order, the same for the same seed.
fn numbers(count: usize, seed: u64) -> Vec<u64> {
    let mut state = seed | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn quicksort(numbers: &mut [u64]) {
    if numbers.len() <= 64 {
        return numbers.sort_unstable();
    }
    let pivot = numbers[numbers.len() / 2];
    let mut middle = 0;
    for at in 0..numbers.len() {
        if numbers[at] < pivot {
            numbers.swap(at, middle);
            middle += 1;
        }
    }
    if middle == 0 {
        // No number is smaller than the pivot: move all numbers that are equal to it to the front.
        let mut equal = 0;
        for at in 0..numbers.len() {
            if numbers[at] == pivot {
                numbers.swap(at, equal);
                equal += 1;
            }
        }
        return quicksort(&mut numbers[equal..]);
    }
    let (low, high) = numbers.split_at_mut(middle);
    blitz::join(|| quicksort(low), || quicksort(high));
}

#[test]
fn a_parallel_sort_in_many_tasks_at_once() {
    watched("a_parallel_sort_in_many_tasks_at_once", |watch| {
        for workers in [2, 8] {
            // The stack is small: the sorts of several tasks must not pile up on it.
            let pool = Pool::builder().workers(workers).stack_size(256 << 10);
            let runtime = watch.runtime(pool.build().unwrap());
            let tasks: Vec<_> = (0..60)
                .map(|seed| {
                    runtime.spawn(async move {
                        let mut sorted = numbers(5_000, seed);
                        quicksort(&mut sorted);
                        blitz::task::yield_now().await;
                        quicksort(&mut sorted);
                        sorted
                    })
                })
                .collect();
            for task in tasks {
                let sorted = task.join().unwrap();
                assert!(sorted.is_sorted() && sorted.len() == 5_000);
            }
        }
    });
}

#[test]
fn join_scope_broadcast_and_jobs_inside_of_tasks() {
    watched("join_scope_broadcast_and_jobs_inside_of_tasks", |watch| {
        for runtime in runtimes() {
            let runtime = watch.runtime(runtime);
            let tasks: Vec<_> = (0..30)
                .map(|n| {
                    runtime.spawn(async move {
                        let forked = fib(8 + n % 4);
                        let sum = AtomicUsize::new(0);
                        blitz::scope(|s| {
                            for _ in 0..4 {
                                s.spawn(|s| {
                                    sum.fetch_add(1, SeqCst);
                                    s.spawn(|_| {
                                        sum.fetch_add(10, SeqCst);
                                    });
                                });
                            }
                        });
                        let everywhere = blitz::broadcast(|context| context.index()).len();
                        let job = blitz::spawn_cpu(move || fib(8)).await.unwrap();
                        assert_eq!(everywhere, blitz::current_num_workers());
                        (forked, sum.into_inner(), job)
                    })
                })
                .collect();
            for (n, task) in tasks.into_iter().enumerate() {
                let expected = [21, 34, 55, 89][n % 4];
                assert_eq!(task.join().unwrap(), (expected, 44, 21));
            }
        }
    });
}

#[test]
fn tasks_inside_of_jobs_inside_of_tasks() {
    watched("tasks_inside_of_jobs_inside_of_tasks", |watch| {
        for runtime in runtimes() {
            let runtime = watch.runtime(runtime);
            let count = runtime.spawn(async {
                fn grow(depth: u32) -> u32 {
                    if depth == 0 {
                        return 1;
                    }
                    let (a, b) = blitz::join(
                        || blitz::spawn(async move { grow(depth - 1) }).join().unwrap(),
                        || blitz::spawn_cpu(move || grow(depth - 1)).join().unwrap(),
                    );
                    a + b
                }
                grow(6)
            });
            assert_eq!(count.join().unwrap(), 64);
        }
    });
}

#[test]
fn a_panic_in_a_half_ends_the_task() {
    watched("a_panic_in_a_half_ends_the_task", |watch| {
        for runtime in runtimes() {
            let runtime = watch.runtime(runtime);
            for _ in 0..50 {
                let task = runtime.spawn(async { blitz::join(|| panic!("half"), || fib(5)).1 });
                assert_eq!(task.join().unwrap_err().to_string(), "the task panicked: half");
            }
            assert_eq!(runtime.metrics().panics_reported, 0);
        }
    });
}

#[test]
fn jobs_feed_tasks_and_tasks_feed_jobs() {
    watched("jobs_feed_tasks_and_tasks_feed_jobs", |watch| {
        for runtime in runtimes() {
            let runtime = watch.runtime(runtime);
            // Jobs feed tasks, tasks feed jobs.
            let total = runtime.spawn(async {
                let (send, mut receive) = blitz::sync::mpsc::unbounded_channel::<u64>();
                for n in 0..20 {
                    let send = send.clone();
                    drop(blitz::spawn_cpu(move || send.send(fib(n % 10)).unwrap()));
                }
                drop(send);
                let mut total = 0;
                while let Some(value) = receive.recv().await {
                    total += blitz::spawn_cpu(move || value * 2).await.unwrap();
                }
                total
            });
            assert_eq!(total.join().unwrap(), 2 * 2 * (0..10).map(fib).sum::<u64>());
        }
    });
}
