//! Sleeps: none ends early, and any thread, task or runtime can use them.

mod common;

use blitz::sync::Notify;
use blitz::time::{Duration, Instant, Sleep, sleep, sleep_until, timeout};
use common::watched;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);

/// Polls the sleep once, with the waker of the current task.
async fn poll_once(mut sleep: std::pin::Pin<&mut Sleep>) -> bool {
    poll_fn(|cx| Poll::Ready(sleep.as_mut().poll(cx).is_ready())).await
}

#[test]
fn no_sleep_ends_early() {
    for workers in [1, 2, 8] {
        watched("no_sleep_ends_early", |watch| {
            let runtime = watch.workers(workers);
            runtime.block_on(async {
                let sleeps: Vec<_> = (0..200u32)
                    .map(|n| {
                        blitz::spawn(async move {
                            let start = std::time::Instant::now();
                            let time = Duration::from_micros(u64::from(n) * 137);
                            sleep(time).await;
                            assert!(start.elapsed() >= time);
                        })
                    })
                    .collect();
                for sleep in sleeps {
                    sleep.await.unwrap();
                }
            });
        });
    }
}

#[test]
fn sleeps_that_have_passed_are_ready_at_once() {
    watched("sleeps_that_have_passed_are_ready_at_once", |watch| {
        watch.workers(1).block_on(async {
            let mut none = pin!(sleep(Duration::ZERO));
            assert!(poll_once(none.as_mut()).await && none.is_elapsed());
            let mut past = pin!(sleep_until(Instant::now() - MS));
            assert!(poll_once(past.as_mut()).await);
            assert!(poll_once(past.as_mut()).await, "the sleep stays ready");
        });
    });
}

#[test]
fn durations_beyond_the_clock_are_as_good_as_for_ever() {
    watched("durations_beyond_the_clock_are_as_good_as_for_ever", |watch| {
        watch.workers(2).block_on(async {
            let (late, later) = (Duration::from_secs(1 << 50), Duration::from_secs(1 << 61));
            for time in [Duration::MAX, late, later, HOUR * 1_000_000] {
                let mut long = pin!(sleep(time));
                assert!(!poll_once(long.as_mut()).await);
                assert!(timeout(time, async { 7 }).await.is_ok());
            }
        });
    });
}

#[test]
fn a_sleep_can_be_moved_either_way_before_and_after_its_end() {
    watched("a_sleep_can_be_moved_either_way_before_and_after_its_end", |watch| {
        watch.workers(2).block_on(async {
            let mut sleep = pin!(sleep(HOUR));
            let start = Instant::now();
            assert!(!poll_once(sleep.as_mut()).await);
            sleep.as_mut().reset(start + 2 * MS);
            assert_eq!(sleep.deadline(), start + 2 * MS);
            sleep.as_mut().await;
            assert!(Instant::now() >= start + 2 * MS && sleep.is_elapsed());

            sleep.as_mut().reset(Instant::now() + HOUR);
            assert!(!sleep.is_elapsed() && !poll_once(sleep.as_mut()).await);
            sleep.as_mut().reset(Instant::now() + MS);
            sleep.as_mut().reset(Instant::now() + HOUR);
            assert!(!poll_once(sleep.as_mut()).await);
            sleep.as_mut().reset(Instant::now());
            sleep.as_mut().await;
        });
    });
}

/// A sleep that was reset wakes the task that polled it last, at the new time.
///
/// The task does not poll the sleep again before that time.
#[test]
fn a_sleep_that_is_moved_still_wakes_its_task() {
    watched("a_sleep_that_is_moved_still_wakes_its_task", |watch| {
        watch.workers(2).block_on(async {
            let mut sleep = Box::pin(sleep(HOUR));
            let mut polls = 0;
            poll_fn(move |cx| {
                polls += 1;
                if polls == 1 {
                    assert!(sleep.as_mut().poll(cx).is_pending());
                    sleep.as_mut().reset(Instant::now() + MS);
                    return Poll::Pending;
                }
                sleep.as_mut().poll(cx)
            })
            .await;
        });
    });
}

#[test]
fn the_waker_of_the_last_poll_is_the_one_that_is_called() {
    watched("the_waker_of_the_last_poll_is_the_one_that_is_called", |watch| {
        watch.workers(2).block_on(async {
            let mut sleep = Box::pin(sleep(HOUR));
            let mut unwoken = Context::from_waker(Waker::noop());
            assert!(sleep.as_mut().poll(&mut unwoken).is_pending());
            sleep.as_mut().reset(Instant::now() + 5 * MS);
            let start = Instant::now();
            blitz::spawn(sleep).await.unwrap();
            assert!(start.elapsed() < HOUR);
        });
    });
}

#[test]
fn a_sleep_may_be_polled_and_dropped_on_any_thread() {
    watched("a_sleep_may_be_polled_and_dropped_on_any_thread", |watch| {
        let runtime = watch.workers(2);
        runtime.block_on(async {
            for round in 0..200u32 {
                let mut sleep = Box::pin(sleep(MS * (round % 3)));
                let _ = poll_once(sleep.as_mut()).await;
                match round % 4 {
                    0 => drop(sleep),
                    1 => std::thread::spawn(move || drop(sleep)).join().unwrap(),
                    2 => blitz::spawn(sleep).await.unwrap(),
                    _ => std::thread::spawn(move || blitz::block_on(sleep)).join().unwrap(),
                }
            }
        });
    });
}

#[test]
fn threads_outside_of_every_runtime_can_sleep() {
    watched("threads_outside_of_every_runtime_can_sleep", |_| {
        let threads: Vec<_> = (0..8u32)
            .map(|n| {
                std::thread::spawn(move || {
                    let start = std::time::Instant::now();
                    blitz::block_on(sleep(MS * n));
                    assert!(start.elapsed() >= MS * n);
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn a_sleep_of_one_runtime_wakes_a_task_of_another() {
    watched("a_sleep_of_one_runtime_wakes_a_task_of_another", |watch| {
        let (one, two) = (watch.workers(2), watch.workers(2));
        let mut sleep = Box::pin(sleep(HOUR));
        one.block_on(async { assert!(!poll_once(sleep.as_mut()).await) });
        sleep.as_mut().reset(Instant::now() + 3 * MS);
        two.block_on(two.spawn(sleep)).unwrap();
        let handle = two.handle();
        one.block_on(one.spawn(async move { handle.spawn(blitz::time::sleep(MS)).await.unwrap() }))
            .unwrap();
    });
}

#[test]
fn blocking_threads_and_local_sets_can_sleep() {
    watched("blocking_threads_and_local_sets_can_sleep", |watch| {
        let runtime = watch.workers(2);
        let handle = runtime.handle();
        runtime.block_on(async {
            let start = Instant::now();
            blitz::spawn_blocking(move || handle.block_on(sleep(2 * MS))).await.unwrap();
            assert!(start.elapsed() >= 2 * MS);

            let local = blitz::LocalSet::new();
            let rc = std::rc::Rc::new(7);
            let slept = local
                .run_until(async move {
                    let handle = blitz::spawn_local(async move {
                        sleep(2 * MS).await;
                        *rc
                    });
                    handle.await.unwrap()
                })
                .await;
            assert_eq!(slept, 7);
            assert!(start.elapsed() >= 4 * MS);
        });
    });
}

/// A worker that computes does not poll the driver, but an idle worker does.
///
/// So other sleeps go on.
#[test]
fn a_worker_that_computes_delays_no_other_sleep() {
    watched("a_worker_that_computes_delays_no_other_sleep", |watch| {
        let runtime = watch.workers(2);
        let done = Arc::new(Notify::new());
        runtime.block_on(async {
            let stop = Arc::new(AtomicUsize::new(0));
            let busy = blitz::spawn({
                let stop = stop.clone();
                async move {
                    // This timer is in the wheel of the worker that computes.
                    let done_too = done.clone();
                    let mut own = Box::pin(sleep(HOUR));
                    assert!(!poll_once(own.as_mut()).await);
                    own.as_mut().reset(Instant::now() + 2 * MS);
                    drop(blitz::spawn(async move {
                        own.await;
                        done_too.notify_one();
                    }));
                    while stop.load(Relaxed) == 0 {
                        std::hint::spin_loop();
                    }
                    done
                }
            });
            let others = blitz::spawn(async { sleep(3 * MS).await });
            others.await.unwrap();
            stop.store(1, Relaxed);
            busy.await.unwrap().notified().await;
        });
    });
}

#[test]
fn a_runtime_may_end_with_sleeps_in_it() {
    for workers in [1, 2] {
        watched("a_runtime_may_end_with_sleeps_in_it", |watch| {
            let runtime = watch.workers(workers);
            let dropped = Arc::new(());
            let mut kept = Box::pin(sleep(HOUR));
            runtime.block_on(async {
                assert!(!poll_once(kept.as_mut()).await);
                for _ in 0..1_000 {
                    let dropped = dropped.clone();
                    drop(blitz::spawn(async move {
                        sleep(HOUR).await;
                        drop(dropped);
                    }));
                }
                blitz::task::yield_now().await;
            });
            drop(runtime);
            assert_eq!(Arc::strong_count(&dropped), 1, "each task is dropped, with its sleep");
            // The sleep goes on in the global runtime.
            kept.as_mut().reset(Instant::now() + MS);
            blitz::block_on(kept);
        });
    }
}

#[test]
fn a_sleep_in_a_runtime_that_has_ended_says_so() {
    watched("a_sleep_in_a_runtime_that_has_ended_says_so", |watch| {
        let runtime = watch.workers(1);
        let handle = runtime.handle();
        runtime.block_on(sleep(MS));
        drop(runtime);
        let outcome = std::thread::spawn(move || handle.block_on(sleep(MS))).join();
        let payload = outcome.unwrap_err();
        let text = payload.downcast_ref::<String>().unwrap();
        assert!(text.contains("has ended"), "{text}");
    });
}

/// When a runtime ends, it wakes a thread that waits in a sleep.
///
/// The thread's next poll panics.
#[test]
fn a_sleep_panics_when_its_runtime_ends() {
    watched("a_sleep_panics_when_its_runtime_ends", |watch| {
        let runtime = watch.workers(1);
        let handle = runtime.handle();
        let (send, receive) = std::sync::mpsc::channel();
        let waiter = std::thread::spawn(move || {
            handle.block_on(async {
                let mut long = pin!(sleep(HOUR));
                assert!(!poll_once(long.as_mut()).await);
                send.send(()).unwrap();
                long.await;
            });
        });
        receive.recv().unwrap();
        drop(runtime);
        assert!(waiter.join().is_err());
    });
}

#[test]
fn sleep_can_be_sent_and_shared() {
    fn check<T: Send + Sync>() {}
    check::<Sleep>();
    check::<blitz::time::Timeout<std::future::Ready<()>>>();
    check::<blitz::time::Interval>();
    check::<Instant>();
}
