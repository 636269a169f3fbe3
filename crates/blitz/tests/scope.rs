//! `scope`, `scope_fifo` and their in-place forms.

mod common;

use common::{pool, watched};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;

#[test]
fn every_job_runs_before_the_scope_ends() {
    for workers in [1, 2, 8] {
        let pool = pool(workers);
        let ran = AtomicUsize::new(0);
        pool.scope(|s| {
            for _ in 0..100 {
                s.spawn(|s| {
                    ran.fetch_add(1, Relaxed);
                    for _ in 0..10 {
                        s.spawn(|_| {
                            ran.fetch_add(1, Relaxed);
                        });
                    }
                });
            }
        });
        assert_eq!(ran.into_inner(), 1_100);
    }
}

#[test]
fn one_worker_runs_newest_first_and_fifo_oldest_first() {
    // A spare would run some of the jobs if the worker has no processor for long.
    let pool = blitz::Pool::builder().workers(1).spares(0).build().unwrap();
    let order = Mutex::new(Vec::new());
    pool.scope(|s| {
        for i in 0..5 {
            let order = &order;
            s.spawn(move |_| order.lock().unwrap().push(i));
        }
    });
    assert_eq!(std::mem::take(&mut *order.lock().unwrap()), [4, 3, 2, 1, 0]);
    pool.scope_fifo(|s| {
        for i in 0..5 {
            let order = &order;
            s.spawn_fifo(move |_| order.lock().unwrap().push(i));
        }
    });
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4]);
}

#[test]
fn in_place_bodies_stay_on_their_thread() {
    watched("in_place_bodies_stay_on_their_thread", |watch| {
        let pool = watch.pool(pool(2));
        let here = std::thread::current().id();
        let ran = AtomicUsize::new(0);
        // The body uses this value, so it cannot be sent to another thread.
        let stays = std::rc::Rc::new(1);
        pool.in_place_scope(|s| {
            assert_eq!(std::thread::current().id(), here);
            for _ in 0..*stays {
                s.spawn(|_| {
                    assert_ne!(std::thread::current().id(), here);
                    ran.fetch_add(1, Relaxed);
                });
            }
        });
        pool.in_place_scope_fifo(|s| {
            s.spawn_fifo(|_| {
                ran.fetch_add(1, Relaxed);
            });
            assert_eq!(std::thread::current().id(), here);
        });
        assert_eq!(ran.into_inner(), 2);
    });
}

#[test]
fn the_first_panic_goes_on_after_all_jobs() {
    for workers in [1, 4] {
        let pool = pool(workers);
        let ran = AtomicUsize::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.scope(|s| {
                for i in 0..50 {
                    let ran = &ran;
                    s.spawn(move |_| {
                        ran.fetch_add(1, Relaxed);
                        assert_ne!(i % 10, 3, "job panics");
                    });
                }
            });
        }));
        let text = *result.unwrap_err().downcast::<String>().unwrap();
        assert!(text.contains("job panics"), "{text}");
        assert_eq!(ran.into_inner(), 50);
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.scope(|s| {
                s.spawn(|_| panic!("job"));
                panic!("body");
            })
        }));
        assert_eq!(result.unwrap_err().downcast_ref::<&str>(), Some(&"body"));
    }
}

#[test]
fn jobs_spawned_from_other_pools_and_threads_count() {
    for policy in [blitz::WaitPolicy::StealAnything, blitz::WaitPolicy::DescendantsOnly] {
        watched("jobs_spawned_from_other_pools_and_threads_count", |watch| {
            let builder = || blitz::Pool::builder().workers(1).wait_policy(policy);
            let here = watch.pool(builder().build().unwrap());
            let other = watch.pool(builder().build().unwrap());
            for _ in 0..200 {
                let ran = AtomicUsize::new(0);
                here.scope(|s| {
                    s.spawn(|s| {
                        other.install(|| {
                            s.spawn(|_| {
                                ran.fetch_add(1, Relaxed);
                            });
                        });
                    });
                    std::thread::scope(|threads| {
                        threads.spawn(|| {
                            s.spawn(|_| {
                                ran.fetch_add(1, Relaxed);
                            });
                        });
                    });
                });
                assert_eq!(ran.into_inner(), 2);
            }
        });
    }
}

#[test]
fn broadcast_into_a_scope_reaches_each_worker_once() {
    let pool = pool(4);
    let seen: Vec<_> = (0..4).map(|_| AtomicUsize::new(0)).collect();
    pool.scope(|s| {
        s.spawn_broadcast(|_, context| {
            assert_eq!(context.num_workers(), 4);
            seen[context.index()].fetch_add(1, Relaxed);
        });
    });
    pool.scope_fifo(|s| {
        s.spawn_broadcast(|_, context| {
            seen[context.index()].fetch_add(1, Relaxed);
        });
    });
    assert!(seen.iter().all(|count| count.load(Relaxed) == 2), "{seen:?}");
}

#[test]
fn jobs_of_a_fifo_scope_start_in_order_on_a_spare() {
    watched("a fifo scope on a spare", |watch| {
        let pool = watch.pool(pool(1));
        let ((release, released), (begun, has_begun)) = (channel::<()>(), channel());
        let blocks = pool.spawn_cpu(move || {
            begun.send(()).unwrap();
            released.recv().unwrap();
        });
        has_begun.recv().unwrap();
        let order = Mutex::new(Vec::new());
        pool.scope_fifo(|s| {
            for i in 0..4 {
                let order = &order;
                s.spawn_fifo(move |_| order.lock().unwrap().push(i));
            }
        });
        release.send(()).unwrap();
        blocks.join().unwrap();
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3]);
    });
}
