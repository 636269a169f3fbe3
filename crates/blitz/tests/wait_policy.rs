//! The work that a worker may run while it waits, by policy. A wait for something outside the
//! pool ends under every policy.

mod common;

use blitz::{Pool, Runtime, WaitPolicy};
use common::{Watch, wait_for, watched};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

/// Builds a runtime of `workers` workers that run descendants only.
fn descendants_only(watch: &Watch, workers: usize) -> Runtime {
    let pool = Pool::builder().workers(workers).wait_policy(WaitPolicy::DescendantsOnly);
    watch.runtime(pool.build().unwrap())
}

#[test]
fn a_blocking_closure_may_wait_for_a_task_while_every_worker_waits_for_such_a_closure() {
    watched("a blocking closure that waits for a task", |watch| {
        for workers in [1, 2] {
            let runtime = descendants_only(watch, workers);
            let all = runtime.pool().broadcast(|_| {
                blitz::spawn_blocking(|| blitz::spawn(async { 7 }).join().unwrap()).join().unwrap()
            });
            assert_eq!(all, vec![7; workers]);
        }
    });
}

#[test]
fn another_pool_may_wait_for_a_task_of_the_pool_that_waits_for_it() {
    watched("another pool that waits for a task", |watch| {
        let here = descendants_only(watch, 1);
        let other = watch.pool(common::pool(1));
        let handle = here.handle();
        let seven = here.pool().install(|| other.install(|| handle.spawn(async { 7 }).join()));
        assert_eq!(seven.unwrap(), 7);
        // The same holds inside a task.
        let (handle, other) = (here.handle(), other.clone());
        let task = here.spawn(async move { other.install(|| handle.spawn(async { 7 }).join()) });
        assert_eq!(task.join().unwrap().unwrap(), 7);
    });
}

/// The waiting worker does not run the older job: a spare does.
#[test]
fn a_wait_outside_the_pool_may_depend_on_an_older_own_job() {
    watched("an older job of the worker that waits", |watch| {
        let here = descendants_only(watch, 1);
        let other = watch.pool(common::pool(1));
        let seven = here.pool().install(|| {
            let older = blitz::spawn_cpu(|| 7);
            blitz::spawn_blocking(move || older.join()).join()
        });
        assert_eq!(seven.unwrap().unwrap(), 7);
        let seven = here.pool().install(|| {
            let older = blitz::spawn_cpu(|| 7);
            other.install(move || older.join())
        });
        assert_eq!(seven.unwrap(), 7);
    });
}

#[test]
fn a_wait_for_jobs_of_its_own_pool_runs_no_unrelated_job() {
    watched("a wait for jobs of the own pool", |watch| {
        let runtime = descendants_only(watch, 2);
        let (lock, ran) = (Arc::new(Mutex::new(())), Arc::new(AtomicUsize::new(0)));
        let jobs: Vec<_> = (0..200)
            .map(|_| {
                let (lock, ran) = (lock.clone(), ran.clone());
                runtime.pool().spawn_cpu(move || {
                    // A second such job on top of this one would deadlock on the lock.
                    let _held = lock.lock().unwrap();
                    blitz::join(std::thread::yield_now, std::thread::yield_now);
                    blitz::scope(|s| s.spawn(|_| std::thread::yield_now()));
                    ran.fetch_add(1, SeqCst);
                })
            })
            .collect();
        jobs.into_iter().for_each(|job| job.join().unwrap());
        assert_eq!(ran.load(SeqCst), 200);
    });
}

/// A job from outside, which is unrelated, is queued while a worker holds a lock and waits.
#[test]
fn a_lock_may_be_held_across_a_join_or_scope_beside_jobs_from_outside() {
    watched("a lock across a join or scope", |watch| {
        let runtime = descendants_only(watch, 2);
        let handle = runtime.handle();
        // The thread that holds the lock.
        let holder = Arc::new(Mutex::new(None));
        for uses_scope in [false, true] {
            let (is_stolen, seen) = (AtomicBool::new(false), Arc::new(Mutex::new(Vec::new())));
            let stolen = || {
                is_stolen.store(true, SeqCst);
                let (handle, holder, seen) = (handle.clone(), holder.clone(), seen.clone());
                let unrelated = move || {
                    let on_top = *holder.lock().unwrap() == Some(std::thread::current().id());
                    seen.lock().unwrap().push(on_top);
                };
                // Threads of their own, so that the jobs come from outside.
                for _ in 0..20 {
                    let (handle, unrelated) = (handle.clone(), unrelated.clone());
                    std::thread::spawn(move || handle.spawn_detached(unrelated)).join().unwrap();
                    std::thread::yield_now();
                }
            };
            runtime.pool().install(|| {
                *holder.lock().unwrap() = Some(std::thread::current().id());
                if uses_scope {
                    blitz::scope(|s| {
                        s.spawn(|_| stolen());
                        wait_for(|| is_stolen.load(SeqCst));
                    });
                } else {
                    blitz::join(|| wait_for(|| is_stolen.load(SeqCst)), stolen);
                }
                *holder.lock().unwrap() = None;
            });
            wait_for(|| seen.lock().unwrap().len() == 20);
            assert!(seen.lock().unwrap().iter().all(|on_top| !on_top));
        }
    });
}

/// The watch gives the seat of a waiting worker to a spare.
///
/// As soon as the wait ends, the worker gets its seat back, and the spare leaves. The worker's job
/// need not have ended by then.
#[test]
fn a_worker_has_its_seat_again_as_soon_as_its_wait_ends() {
    watched("a wait that loses its seat", |watch| {
        let runtime = descendants_only(watch, 2);
        let handle = runtime.handle();
        let flags: Arc<[AtomicBool; 3]> = Arc::default();
        let [is_stolen, is_relieved, is_back] = &*flags;
        std::thread::scope(|s| {
            s.spawn(|| {
                wait_for(|| is_stolen.load(SeqCst));
                // Both workers are busy, so only a spare can run this job.
                let flags = flags.clone();
                let job = runtime.pool().spawn_cpu(move || {
                    let [_, is_relieved, is_back] = &*flags;
                    is_relieved.store(true, SeqCst);
                    wait_for(|| is_back.load(SeqCst));
                });
                job.join().unwrap();
            });
            runtime.pool().install(|| {
                let stolen = || {
                    is_stolen.store(true, SeqCst);
                    wait_for(|| is_relieved.load(SeqCst));
                };
                blitz::join(|| wait_for(|| is_stolen.load(SeqCst)), stolen);
                is_back.store(true, SeqCst);
                wait_for(|| handle.metrics().spares_in_service == 0);
            });
        });
        assert!(handle.metrics().spares > 0);
    });
}
