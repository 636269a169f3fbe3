//! Settings, errors, handlers and the end of a pool.

mod common;

use common::{fib, pool, watched};
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

#[test]
fn zero_workers_means_automatic_and_too_many_is_an_error() {
    assert_eq!(pool(0).num_workers(), std::thread::available_parallelism().unwrap().get());
    let error = blitz::Pool::builder().workers(70_000).build().unwrap_err();
    assert!(error.is_invalid_config());
    assert!(error.to_string().contains("70000 workers are too many"), "{error}");
}

#[test]
fn names_and_stacks_are_as_asked() {
    let names = pool(2).broadcast(|_| std::thread::current().name().map(str::to_owned));
    assert_eq!(names, [Some("blitz-0".to_owned()), Some("blitz-1".to_owned())]);
    let pool = blitz::Pool::builder()
        .workers(2)
        .thread_name(|index| format!("w{index}"))
        .stack_size(32 << 20)
        .build()
        .unwrap();
    // The array does not fit into a default stack.
    let used = pool.broadcast(|_| std::hint::black_box([1u8; 4 << 20]).iter().count());
    assert_eq!(used, [4 << 20, 4 << 20]);
    let names = pool.broadcast(|_| std::thread::current().name().map(str::to_owned));
    assert_eq!(names, [Some("w0".to_owned()), Some("w1".to_owned())]);
}

#[test]
fn handlers_run_once_per_worker_and_their_panics_are_reported() {
    let counts = Arc::new([const { AtomicUsize::new(0) }; 3]);
    let (started, ended, panicked) = (counts.clone(), counts.clone(), counts.clone());
    let pool = blitz::Pool::builder()
        .workers(5)
        .start_handler(move |_| {
            started[0].fetch_add(1, Relaxed);
        })
        .exit_handler(move |index| {
            ended[1].fetch_add(1, Relaxed);
            assert_ne!(index, 4, "on purpose");
        })
        .panic_handler(move |_| {
            panicked[2].fetch_add(1, Relaxed);
        })
        .build()
        .unwrap();
    pool.broadcast(|_| ());
    assert_eq!(counts[0].load(Relaxed), 5);
    assert_eq!(counts[1].load(Relaxed), 0);
    drop(pool);
    assert_eq!(counts[1].load(Relaxed), 5);
    assert_eq!(counts[2].load(Relaxed), 1);
}

#[test]
fn drop_waits_for_jobs_threads_and_their_thread_locals() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Local;
    impl Drop for Local {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, SeqCst);
        }
    }
    thread_local! { static LOCAL: RefCell<Option<Local>> = const { RefCell::new(None) }; }
    let ran = Arc::new(AtomicUsize::new(0));
    let pool = pool(4);
    pool.broadcast(|_| LOCAL.with(|local| *local.borrow_mut() = Some(Local)));
    for _ in 0..100 {
        let ran = ran.clone();
        drop(pool.spawn_cpu(move || {
            // This job spawns another one, which has to run before the drop returns, too.
            let ran2 = ran.clone();
            drop(blitz::spawn_cpu(move || ran2.fetch_add(1, Relaxed)));
            ran.fetch_add(1, Relaxed);
        }));
    }
    drop(pool);
    assert_eq!(ran.load(Relaxed), 200);
    assert_eq!(DROPPED.load(SeqCst), 4);
}

#[test]
fn a_pool_may_be_dropped_by_its_own_job() {
    watched("a_pool_may_be_dropped_by_its_own_job", |_| {
        for _ in 0..50 {
            let (send, receive) = channel();
            let pool = Arc::new(pool(2));
            let inside = pool.clone();
            drop(pool.spawn_cpu(move || {
                // The `Arc` outside of the job is dropped first, so this job drops the pool.
                while Arc::strong_count(&inside) > 1 {
                    std::thread::yield_now();
                }
                drop(inside);
                send.send(fib(5)).unwrap();
            }));
            drop(pool);
            assert_eq!(receive.recv(), Ok(5));
        }
    });
}

#[test]
fn a_pool_may_be_dropped_by_another_pools_worker() {
    watched("a_pool_may_be_dropped_by_another_pools_worker", |watch| {
        let outer = watch.pool(pool(1));
        for _ in 0..50 {
            let inner = pool(1);
            let outer2 = outer.clone();
            let (send, receive) = channel();
            // The inner pool's last job needs the outer worker, which waits for the inner pool.
            drop(inner.spawn_cpu(move || send.send(outer2.install(|| fib(5))).unwrap()));
            outer.install(move || drop(inner));
            assert_eq!(receive.try_recv(), Ok(5), "the job has run before the pool's end");
        }
    });
}

#[test]
fn thread_start_failure_is_reported_and_the_started_threads_end() {
    let exited = Arc::new(AtomicUsize::new(0));
    let counter = exited.clone();
    let handles = Arc::new(Mutex::new(Vec::new()));
    let started = handles.clone();
    let error = blitz::Pool::builder()
        .workers(5)
        .exit_handler(move |_| {
            counter.fetch_add(1, Relaxed);
        })
        .spawn_handler(move |thread| {
            if thread.index() == 3 {
                return Err(std::io::Error::from_raw_os_error(11));
            }
            let handle = std::thread::Builder::new().spawn(|| thread.run())?;
            started.lock().unwrap().push(handle);
            Ok(())
        })
        .build()
        .unwrap_err();
    assert!(error.is_thread_spawn());
    assert_eq!(error.io_error().unwrap().raw_os_error(), Some(11));
    assert!(error.to_string().contains("worker 3"), "{error}");
    for handle in std::mem::take(&mut *handles.lock().unwrap()) {
        handle.join().unwrap();
    }
    assert_eq!(exited.load(Relaxed), 3);
}

#[test]
fn a_real_thread_start_failure_is_an_error() {
    // No system gives a thread this much stack.
    let error = blitz::Pool::builder().workers(2).stack_size(1 << 60).build().unwrap_err();
    assert!(error.is_thread_spawn(), "{error}");
    assert!(error.io_error().is_some());
}

#[test]
fn the_current_thread_can_be_worker_0() {
    watched("the_current_thread_can_be_worker_0", |_| {
        for workers in [1, 2, 4] {
            let ran = Arc::new(AtomicUsize::new(0));
            let pool =
                blitz::Pool::builder().workers(workers).use_current_thread().build().unwrap();
            assert_eq!(blitz::current_worker_index(), Some(0));
            assert_eq!(pool.install(|| fib(15)), 610);
            let again = blitz::Pool::builder().workers(1).use_current_thread().build();
            assert!(again.unwrap_err().is_current_thread_already_worker());
            for _ in 0..10 {
                let ran = ran.clone();
                drop(blitz::spawn_cpu(move || ran.fetch_add(1, Relaxed)));
            }
            drop(pool);
            assert_eq!(ran.load(Relaxed), 10, "the drop ran the jobs that were left");
            assert_eq!(blitz::current_worker_index(), None);
        }
    });
}

#[test]
fn the_global_pool_is_initialised_once() {
    blitz::Pool::builder().workers(3).build_global().unwrap();
    assert_eq!(blitz::current_num_workers(), 3);
    let error = blitz::Pool::builder().build_global().unwrap_err();
    assert!(error.is_global_already_initialized());
    assert!(error.to_string().contains("exists already"), "{error}");
    assert_eq!(blitz::global().unwrap().num_workers(), 3);
}

#[test]
fn metrics_add_up() {
    watched("metrics_add_up", |watch| {
        let pool = watch.pool(pool(2));
        pool.install(|| fib(16));
        let total = pool.metrics().total();
        // fib(16) forks 1,596 times.
        assert_eq!(total.pushes, 1_596);
        assert_eq!(total.queued, 0);
        assert!(total.pops <= total.pushes);
        // Each fork is one job, and the call from outside is another.
        assert_eq!(total.jobs, 1_597, "{total:?}");
        assert!(total.steals_succeeded <= total.steals_tried);
        let text = pool.metrics().to_string();
        assert!(text.contains("1596") && text.lines().count() == 4, "{text}");
    });
}

#[test]
fn an_idle_pool_sleeps_and_stays_asleep() {
    watched("an_idle_pool_sleeps_and_stays_asleep", |watch| {
        let pool = watch.pool(pool(8));
        pool.install(|| fib(10));
        while !pool.dump().all_sleep {
            std::thread::yield_now();
        }
        // A thread that wakes a worker counts the wake before the thread itself sleeps or returns
        // from `install`. So while all workers sleep, the number of wakes is exact. The number of
        // parks is not exact: a worker counts as asleep a moment before it counts its park.
        let wakes = pool.metrics().total().wakes_received;
        // Neither another busy pool nor the passing of time wakes this pool.
        let other = watch.pool(common::pool(2));
        for _ in 0..100 {
            other.install(|| fib(15));
        }
        assert_eq!(pool.metrics().total().wakes_received, wakes, "{}", pool.dump());
        assert!(pool.dump().all_sleep, "{}", pool.dump());
    });
}

#[test]
fn a_name_that_no_thread_can_have_is_an_error() {
    let error = blitz::Pool::builder().workers(2).thread_name(|_| "a\0b".to_owned()).build();
    let error = error.unwrap_err();
    assert!(error.is_invalid_config(), "{error}");
    assert!(error.to_string().contains("zero byte"), "{error}");
}
