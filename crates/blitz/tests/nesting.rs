//! Jobs and tasks that wait do not pile up on a stack until it overflows: a thread that waits
//! begins something else only while enough of its stack is free. An overflow ends the process, so
//! each program runs in a process of its own.

mod common;

use blitz::time::sleep;
use blitz::{LocalSet, Pool, Runtime, WaitPolicy, block_on};
use common::watched;
use std::cell::Cell;
use std::env;
use std::hint::black_box;
use std::process::Command;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::time::Duration;

/// The environment variable that is set in a child process only.
const ROLE: &str = "BLITZ_NESTING";

/// Runs `program` in a child process. The child runs the test named `test` again.
#[track_caller]
fn in_another_process(test: &str, program: impl FnOnce()) {
    if env::var_os(ROLE).is_some() {
        return program();
    }
    // The path of the test, without the target's name.
    let module = module_path!().split_once("::").map(|(_, module)| format!("{module}::"));
    let test = module.unwrap_or_default() + test;
    let output = Command::new(env::current_exe().unwrap())
        .args([&test, "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE, "child")
        .output()
        .unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let passed = output.status.success() && out.contains("1 passed");
    assert!(passed, "{:?}\n{out}\n{err}", output.status);
}

/// Runs `program` on a runtime of one worker and on one of two, in another process.
#[track_caller]
fn on_one_and_two(test: &'static str, program: impl Fn(&Runtime)) {
    in_another_process(test, || {
        for workers in [1, 2] {
            watched(test, |watch| program(&watch.workers(workers)));
        }
    });
}

/// Waits until a timer fires, after a millisecond.
fn nap() {
    block_on(sleep(Duration::from_millis(1)));
}

/// Calls `start` with a sender, and waits for `count` messages.
///
/// Each of `count` jobs sends one.
fn expect(count: usize, start: impl FnOnce(mpsc::Sender<()>)) {
    let (send, receive) = mpsc::channel();
    start(send);
    assert_eq!(receive.iter().count(), count);
}

#[test]
fn detached_jobs_that_wait_in_deep_nesting() {
    on_one_and_two("detached_jobs_that_wait_in_deep_nesting", |runtime| {
        let start = |send: mpsc::Sender<()>| {
            let pool = runtime.pool();
            let spawn_all = || {
                for _ in 0..6_000 {
                    let send = send.clone();
                    pool.spawn_detached(move || {
                        nap();
                        send.send(()).unwrap();
                    });
                }
            };
            // Spawn the jobs from outside, and then from a job.
            spawn_all();
            pool.install(spawn_all);
        };
        expect(12_000, start);
    });
}

#[test]
fn jobs_of_a_scope_that_wait_in_deep_nesting() {
    on_one_and_two("jobs_of_a_scope_that_wait_in_deep_nesting", |runtime| {
        let ran = AtomicUsize::new(0);
        runtime.pool().scope(|s| {
            for _ in 0..20_000 {
                s.spawn(|_| {
                    nap();
                    ran.fetch_add(1, SeqCst);
                });
            }
        });
        assert_eq!(ran.into_inner(), 20_000);
    });
}

#[test]
fn jobs_that_wait_for_a_task_each_in_deep_nesting() {
    on_one_and_two("jobs_that_wait_for_a_task_each_in_deep_nesting", |runtime| {
        let ran = AtomicUsize::new(0);
        runtime.pool().scope(|s| {
            for n in 0..20_000 {
                let ran = &ran;
                s.spawn(move |_| {
                    let task = blitz::spawn(async move {
                        sleep(Duration::from_millis(1)).await;
                        1
                    });
                    let value = if n % 2 == 0 { task.join() } else { block_on(task) };
                    ran.fetch_add(value.unwrap(), SeqCst);
                });
            }
        });
        assert_eq!(ran.into_inner(), 20_000);
    });
}

#[test]
fn jobs_that_yield_in_deep_nesting() {
    on_one_and_two("jobs_that_yield_in_deep_nesting", |runtime| {
        let ran = AtomicUsize::new(0);
        runtime.pool().scope(|s| {
            for n in 0..50_000 {
                let ran = &ran;
                s.spawn(move |_| {
                    if n % 2 == 0 {
                        blitz::yield_job()
                    } else {
                        blitz::yield_local()
                    };
                    ran.fetch_add(1, SeqCst);
                });
            }
        });
        assert_eq!(ran.into_inner(), 50_000);
    });
}

/// Calls `leaf` `count` times, by forks.
fn for_each(count: usize, leaf: &(dyn Fn() + Sync)) {
    if count == 1 {
        return leaf();
    }
    blitz::join(|| for_each(count / 2, leaf), || for_each(count - count / 2, leaf));
}

#[test]
fn forks_that_wait_for_another_pool_in_deep_nesting() {
    on_one_and_two("forks_that_wait_for_another_pool_in_deep_nesting", |runtime| {
        let (other, ran) = (common::pool(1), AtomicUsize::new(0));
        let leaf = || {
            other.install(|| ran.fetch_add(1, SeqCst));
        };
        runtime.pool().install(|| for_each(50_000, &leaf));
        assert_eq!(ran.load(SeqCst), 50_000);
    });
}

#[test]
fn jobs_that_spawn_the_next_and_wait_in_deep_nesting() {
    fn step(left: usize, send: mpsc::Sender<()>) {
        send.send(()).unwrap();
        if left > 0 {
            blitz::spawn_detached(move || step(left - 1, send));
            nap();
        }
    }
    on_one_and_two("jobs_that_spawn_the_next_and_wait_in_deep_nesting", |runtime| {
        expect(6_001, |send| runtime.pool().install(|| step(6_000, send)));
    });
}

#[test]
fn joins_that_run_what_they_spawn_in_deep_nesting() {
    fn step(left: usize, send: mpsc::Sender<()>) {
        send.send(()).unwrap();
        if left > 0 {
            blitz::join(|| blitz::spawn_detached(move || step(left - 1, send)), || ());
        }
    }
    on_one_and_two("joins_that_run_what_they_spawn_in_deep_nesting", |runtime| {
        expect(50_001, |send| runtime.pool().install(|| step(50_000, send)));
    });
}

#[test]
fn mail_that_waits_in_deep_nesting() {
    on_one_and_two("mail_that_waits_in_deep_nesting", |runtime| {
        let workers = runtime.pool().num_workers();
        expect(6_000 * workers, |send| {
            let send = Arc::new(std::sync::Mutex::new(send));
            for _ in 0..6_000 {
                let send = send.clone();
                runtime.pool().spawn_broadcast(move |_| {
                    nap();
                    send.lock().unwrap().send(()).unwrap();
                });
            }
        });
    });
}

#[test]
fn handles_of_jobs_that_join_each_other_in_deep_nesting() {
    in_another_process("handles_of_jobs_that_join_each_other_in_deep_nesting", || {
        watched("handles_of_jobs_that_join_each_other", |watch| {
            // One worker begins at the last job and the other at the first. With another policy, a
            // worker might run a job on top of a job that the other worker waits for.
            let policy = WaitPolicy::DescendantsOnly;
            let builder = Pool::builder().workers(2).wait_policy(policy);
            let pool = watch.pool(builder.build().unwrap());
            let sum = pool.install(|| {
                let last = (0..50_000).fold(blitz::spawn_cpu(|| 0), |before, _| {
                    blitz::spawn_cpu(move || before.join().unwrap() + 1)
                });
                last.join().unwrap()
            });
            assert_eq!(sum, 50_000);
        });
    });
}

/// Waits on top of a frame of 400 KiB.
fn nap_in_a_large_frame() -> usize {
    let mut frame = [1u8; 400 << 10];
    black_box(&mut frame);
    nap();
    usize::from(frame[4_711])
}

#[test]
fn tasks_with_large_frames_that_wait_in_deep_nesting() {
    on_one_and_two("tasks_with_large_frames_that_wait_in_deep_nesting", |runtime| {
        let tasks: Vec<_> =
            (0..40).map(|_| runtime.spawn(async { nap_in_a_large_frame() })).collect();
        let sum: usize = tasks.into_iter().map(|task| task.join().unwrap()).sum();
        assert_eq!(sum, 40);
        let jobs: Vec<_> =
            (0..40).map(|_| runtime.pool().spawn_cpu(nap_in_a_large_frame)).collect();
        let sum: usize = jobs.into_iter().map(|job| job.join().unwrap()).sum();
        assert_eq!(sum, 40);
    });
}

#[test]
fn a_wait_beyond_half_of_the_stack_still_polls_in_deep_nesting() {
    fn dig(levels: usize) -> usize {
        let mut frame = [1u8; 64 << 10];
        black_box(&mut frame);
        let below = match levels {
            0 => blitz::spawn(async { 7 }).join().unwrap(),
            _ => dig(levels - 1),
        };
        below + usize::from(frame[9]) - 1
    }
    in_another_process("a_wait_beyond_half_of_the_stack_still_polls_in_deep_nesting", || {
        watched("a wait beyond half of the stack", |watch| {
            let pool = Pool::builder().workers(1).stack_size(2 << 20);
            let runtime = watch.runtime(pool.build().unwrap());
            assert_eq!(runtime.pool().install(|| dig(20)), 7);
        });
    });
}

#[test]
fn local_tasks_that_wait_on_a_small_stack_in_deep_nesting() {
    in_another_process("local_tasks_that_wait_on_a_small_stack_in_deep_nesting", || {
        watched("local tasks that wait on a small stack", |watch| {
            let runtime = watch.workers(1);
            let small = std::thread::Builder::new().stack_size(256 << 10);
            let thread = small.spawn(move || {
                let (set, ran) = (LocalSet::new(), Rc::new(Cell::new(0)));
                for _ in 0..1_000 {
                    let ran = ran.clone();
                    drop(set.spawn_local(async move {
                        nap();
                        ran.set(ran.get() + 1);
                    }));
                }
                runtime.block_on(set);
                ran.get()
            });
            assert_eq!(thread.unwrap().join().unwrap(), 1_000);
        });
    });
}

#[test]
fn a_thread_that_a_pool_has_adopted_and_that_is_small_in_deep_nesting() {
    in_another_process(
        "a_thread_that_a_pool_has_adopted_and_that_is_small_in_deep_nesting",
        || {
            watched("an adopted thread", |_| {
                let small = std::thread::Builder::new().stack_size(256 << 10);
                let thread = small.spawn(move || {
                    let pool = Pool::builder().workers(1).use_current_thread();
                    let pool = pool.build().unwrap();
                    let ran = AtomicUsize::new(0);
                    pool.scope(|s| {
                        for _ in 0..1_000 {
                            s.spawn(|_| {
                                nap();
                                ran.fetch_add(1, SeqCst);
                            });
                        }
                    });
                    ran.into_inner()
                });
                assert_eq!(thread.unwrap().join().unwrap(), 1_000);
            });
        },
    );
}
