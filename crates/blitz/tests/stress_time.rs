//! Stress tests of timers: tasks and other threads create, reset and drop them, on few and many
//! workers. No timer is lost, and none is early.

mod common;

use blitz::time::{Duration, Instant, Sleep, sleep, timeout};
use common::{Tally, watched};
use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::Poll;

const MICRO: Duration = Duration::from_micros(1);

/// Returns the next number of a xorshift generator.
fn next(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

async fn poll_once(sleep: &mut Pin<Box<Sleep>>) -> bool {
    poll_fn(|cx| Poll::Ready(sleep.as_mut().poll(cx).is_ready())).await
}

#[test]
fn a_hundred_thousand_real_sleeps() {
    watched("a_hundred_thousand_real_sleeps", |watch| {
        for workers in [1, 8] {
            let runtime = watch.workers(workers);
            let ended = Arc::new(AtomicUsize::new(0));
            let tasks: Vec<_> = (0..100_000u32)
                .map(|n| {
                    let ended = ended.clone();
                    runtime.spawn(async move {
                        let time = MICRO * (1_000 + n * 7_919 % 99_000);
                        let start = Instant::now();
                        sleep(time).await;
                        assert!(start.elapsed() >= time);
                        ended.fetch_add(1, Relaxed);
                    })
                })
                .collect();
            runtime.block_on(async {
                for task in tasks {
                    task.await.unwrap();
                }
            });
            assert_eq!(ended.load(Relaxed), 100_000);
        }
    });
}

/// Tasks and threads hand sleeps over to each other, poll, reset and drop them.
#[test]
fn sleeps_that_wander() {
    watched("sleeps_that_wander", |watch| {
        for workers in [2, 8] {
            let runtime = watch.workers(workers);
            let (send, receive) = std::sync::mpsc::channel::<Pin<Box<Sleep>>>();
            let tally = Tally::default();
            let tasks: Vec<_> = (1..=16u64)
                .map(|task| {
                    let (send, token) = (send.clone(), tally.token());
                    runtime.spawn(async move {
                        let mut seed = task * 0x9E37_79B9;
                        for _ in 0..300 {
                            let time = MICRO * (next(&mut seed) % 3_000) as u32;
                            let start = Instant::now();
                            let mut timer = Box::pin(sleep(time));
                            let _ = poll_once(&mut timer).await;
                            match next(&mut seed) % 6 {
                                0 => drop(timer),
                                1 => send.send(timer).unwrap(),
                                2 => {
                                    let later = start + time + 700 * MICRO;
                                    timer.as_mut().reset(later);
                                    timer.await;
                                    assert!(Instant::now() >= later);
                                }
                                3 => blitz::spawn(timer).await.unwrap(),
                                4 => {
                                    let soon = start + time / 2;
                                    timer.as_mut().reset(soon);
                                    blitz::spawn_blocking(move || blitz::block_on(timer))
                                        .await
                                        .unwrap();
                                    assert!(Instant::now() >= soon);
                                }
                                _ => {
                                    timer.await;
                                    assert!(start.elapsed() >= time);
                                }
                            }
                        }
                        drop(token);
                    })
                })
                .collect();
            drop(send);
            let outside = std::thread::spawn(move || {
                for (number, sleep) in receive.into_iter().enumerate() {
                    if number % 2 == 0 {
                        blitz::block_on(sleep);
                    }
                }
            });
            for task in tasks {
                task.join().unwrap();
            }
            outside.join().unwrap();
            assert!(tally.is_even());
        }
    });
}

/// Runtimes end while their tasks create timers and other timers expire.
#[test]
fn runtimes_that_end_amid_timers() {
    watched("runtimes_that_end_amid_timers", |_| {
        for round in 0..60u32 {
            let runtime = common::runtime(1 + round as usize % 4);
            let tally = Tally::default();
            for n in 0..200u32 {
                let token = tally.token();
                drop(runtime.spawn(async move {
                    let _ = timeout(MICRO * (n * 37 % 5_000), pending::<()>()).await;
                    sleep(MICRO * (n * 91 % 3_000)).await;
                    drop(token);
                }));
            }
            runtime.block_on(sleep(MICRO * (round * 50)));
            drop(runtime);
            assert!(tally.is_even());
        }
    });
}
