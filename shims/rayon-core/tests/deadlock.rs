//! Programs on which Rayon deadlocks. With `BLITZ_WAIT=descendants` they must end. Each runs in a
//! process of its own, which aborts if the program hangs.

use rayon_core::{ThreadPool, ThreadPoolBuilder};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

fn must_end(test: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", test]).env("BLITZ_WAIT", "descendants");
    let status = command.stdout(Stdio::null()).status().unwrap();
    assert!(status.success(), "{test}: {status}");
}

/// Runs `program`; ends the process if that takes too long.
fn watched(program: impl FnOnce() + Send + 'static) {
    let (done, wait) = channel();
    let thread = std::thread::spawn(move || {
        program();
        done.send(()).unwrap();
    });
    if wait.recv_timeout(Duration::from_secs(120)) == Err(RecvTimeoutError::Timeout) {
        eprintln!("the program hangs");
        std::process::abort();
    }
    thread.join().unwrap();
}

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

/// Calls `f(0) … f(n - 1)`, with a fork that halves the range at each step.
fn for_each(n: usize, f: &(impl Fn(usize) + Sync)) {
    fn go(low: usize, high: usize, f: &(impl Fn(usize) + Sync)) {
        if high - low == 1 {
            return f(low);
        }
        let middle = low.midpoint(high);
        rayon_core::join(|| go(low, middle, f), || go(middle, high, f));
    }
    go(0, n, f);
}

#[test]
fn rayon_592_a_lock_held_across_a_join() {
    must_end("lock_held_across_a_join");
}

#[test]
#[ignore = "run by another test"]
fn lock_held_across_a_join() {
    watched(|| {
        for threads in [1, 2, 3, 8, 64] {
            let lock = Mutex::new(0);
            pool(threads).install(|| {
                for_each(300, &|_| {
                    let mut guard = lock.lock().unwrap();
                    let sum = AtomicUsize::new(0);
                    for_each(8, &|part| {
                        std::thread::yield_now();
                        sum.fetch_add(part, Relaxed);
                    });
                    *guard += sum.into_inner();
                });
            });
            assert_eq!(lock.into_inner().unwrap(), 28 * 300);
        }
    });
}

#[test]
fn rayon_1105_a_call_into_another_pool_starts_no_other_item() {
    must_end("call_into_another_pool");
}

#[test]
#[ignore = "run by another test"]
fn call_into_another_pool() {
    watched(|| {
        for threads in [1, 2, 64] {
            let (outer, inner) = (pool(threads), pool(threads));
            // Pools of this crate start no spares, so all indices are below `threads`.
            let busy: Vec<_> = (0..threads).map(|_| AtomicBool::new(false)).collect();
            let calls = AtomicUsize::new(0);
            outer.install(|| {
                for_each(500, &|_| {
                    let me = rayon_core::current_thread_index().unwrap();
                    assert!(!busy[me].swap(true, SeqCst), "a second item on top of a waiting one");
                    inner.install(|| {
                        for_each(16, &|_| {
                            calls.fetch_add(1, Relaxed);
                        });
                    });
                    busy[me].store(false, SeqCst);
                });
            });
            assert_eq!(calls.into_inner(), 500 * 16);
        }
    });
}

#[test]
fn rayon_1142_an_iterator_behind_a_lock_uses_the_pool() {
    must_end("iterator_behind_a_lock");
}

#[test]
#[ignore = "run by another test"]
fn iterator_behind_a_lock() {
    watched(|| {
        for threads in [1, 2, 4, 64] {
            let items = Mutex::new(0..500);
            let forked = AtomicUsize::new(0);
            pool(threads).scope(|s| {
                for _ in 0..threads {
                    s.spawn(|_| {
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
            assert_eq!(forked.into_inner(), (500 + threads) * 4);
        }
    });
}
