//! What the end of a pool waits for, and how.

mod common;

use blitz::sync::oneshot;
use common::{fib, pool, runtime, wait_for, watched};
use std::sync::mpsc;

/// Returns once worker `index` of the pool sleeps.
fn wait_until_asleep(handle: &blitz::Handle, index: usize) {
    wait_for(|| handle.dump().workers[index].word == "SLEEPING");
}

#[test]
fn a_worker_that_drops_another_pool_sleeps_meanwhile() {
    watched("a_worker_that_drops_another_pool_sleeps", |_| {
        for policy in [blitz::WaitPolicy::StealAnything, blitz::WaitPolicy::DescendantsOnly] {
            let own = blitz::Pool::builder().workers(1).wait_policy(policy).build().unwrap();
            let other = pool(2);
            let (go, wait) = mpsc::channel();
            let job = other.spawn_cpu(move || wait.recv().unwrap());
            let dropping = own.spawn_cpu(move || drop(other));
            wait_until_asleep(&own.handle(), 0);
            assert!(!dropping.is_finished());
            go.send(7).unwrap();
            dropping.join().unwrap();
            assert_eq!(job.join().unwrap(), 7);
        }
    });
}

#[test]
fn a_worker_that_drops_another_pool_works_for_its_own_meanwhile() {
    watched("a_worker_that_drops_another_pool_works", |watch| {
        for _ in 0..20 {
            let own = watch.workers(1);
            let other = runtime(2);
            let (go, wait) = mpsc::channel::<()>();
            let handle = own.handle();
            let job = other.spawn_cpu(move || {
                wait.recv().unwrap();
                let job = handle.spawn_cpu(|| fib(10)).join().unwrap();
                let forked = handle.spawn_cpu(|| blitz::join(|| 1, || 2)).join().unwrap();
                let late = async {
                    blitz::time::sleep(std::time::Duration::from_millis(1)).await;
                    blitz::spawn(async { 7 }).await.unwrap()
                };
                (job, forked, handle.spawn(late).join().unwrap())
            });
            let (dropped, is_dropped) = oneshot::channel();
            // One that was there before waits below the frame that drops the pool.
            let before = own.spawn_cpu(move || {
                let before = blitz::spawn_cpu(|| 3);
                drop(other);
                dropped.send(()).unwrap();
                before.join().unwrap()
            });
            wait_until_asleep(&own.handle(), 0);
            go.send(()).unwrap();
            assert_eq!(job.join().unwrap(), (55, (1, 2), 7));
            own.block_on(is_dropped).unwrap();
            assert_eq!(before.join().unwrap(), 3);
        }
    });
}

#[test]
fn a_task_that_drops_another_pool_lets_its_worker_sleep() {
    watched("a_task_that_drops_another_pool", |watch| {
        let own = watch.workers(2);
        let others: Vec<_> = (0..8).map(|_| pool(1)).collect();
        let waits: Vec<_> = others
            .into_iter()
            .map(|other| {
                let (go, wait) = mpsc::channel::<()>();
                drop(other.spawn_cpu(move || wait.recv().unwrap()));
                (go, own.spawn(async move { drop(other) }))
            })
            .collect();
        wait_for(|| own.pool().dump().sleeping == 2);
        // Each that ends lies on top of others that do not, on one of the two stacks.
        for (go, _) in &waits {
            go.send(()).unwrap();
        }
        waits.into_iter().for_each(|(_, dropping)| dropping.join().unwrap());
    });
}

#[test]
fn the_thread_that_built_a_pool_sleeps_while_it_drops_it() {
    watched("the_thread_that_built_a_pool_sleeps", |_| {
        for workers in [1, 2] {
            let (sends, handles) = mpsc::channel();
            let (go, wait) = mpsc::channel::<()>();
            let dropping = std::thread::spawn(move || {
                let builder = blitz::Pool::builder().workers(workers).use_current_thread();
                let pool = builder.build().unwrap();
                let closure = pool.spawn_blocking(move || {
                    wait.recv().unwrap();
                    blitz::spawn_cpu(|| 7).join().unwrap()
                });
                sends.send(pool.handle()).unwrap();
                drop(pool);
                assert_eq!(blitz::current_worker_index(), None);
                closure.join().unwrap()
            });
            let handle = handles.recv().unwrap();
            wait_until_asleep(&handle, 0);
            go.send(()).unwrap();
            assert_eq!(dropping.join().unwrap(), 7);
        }
    });
}
