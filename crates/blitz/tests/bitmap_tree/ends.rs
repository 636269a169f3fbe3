//! The runtime ends while tasks are in every state: each future is dropped once.

use crate::common::{Tally, Token, jitter, wait_for_parked, watched};
use crate::{Bell, Listens, WORKERS, rounds, signal_runtime, storm, wait_until_empty};
use blitz::task::yield_now;
use blitz::{Handle, JoinSet};
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, mpsc};

async fn listen(bell: Arc<Bell>, token: Token) {
    Listens(bell).await;
    drop(token);
}

async fn yield_for_ever(_token: Token) {
    loop {
        yield_now().await;
    }
}

#[test]
fn tasks_that_are_signalled_wait_and_yield_end_with_their_runtime() {
    watched("tasks end with their runtime", |watch| {
        for workers in WORKERS {
            for _ in 0..rounds(50) {
                let runtime = signal_runtime(watch, workers);
                let tally = Tally::default();
                let bells: Vec<Arc<Bell>> = (0..20).map(|_| Arc::default()).collect();
                for bell in &bells {
                    drop(runtime.spawn(listen(bell.clone(), tally.token())));
                }
                wait_for_parked(&runtime.handle(), 20);
                (0..5).for_each(|_| drop(runtime.spawn(yield_for_ever(tally.token()))));
                std::thread::scope(|s| {
                    s.spawn(|| storm(&bells, 100));
                    drop(runtime);
                });
                assert_eq!((tally.made(), tally.dropped()), (25, 25));
            }
        }
    });
}

#[test]
fn signalled_tasks_that_were_never_polled_end_with_their_runtime() {
    watched("signalled and not polled", |watch| {
        for _ in 0..rounds(200) {
            let runtime = signal_runtime(watch, 1);
            let tally = Tally::default();
            let (go, wait) = mpsc::channel::<()>();
            let (started, is_started) = mpsc::channel();
            let blocks = runtime.spawn(async move {
                started.send(()).unwrap();
                wait.recv().unwrap();
            });
            is_started.recv().unwrap();
            let tasks: Vec<_> =
                (0..100).map(|_| runtime.spawn(yield_for_ever(tally.token()))).collect();
            std::thread::scope(|s| {
                s.spawn(|| drop(runtime));
                go.send(()).unwrap();
            });
            blocks.join().unwrap();
            assert!(tasks.into_iter().all(|task| task.join().unwrap_err().is_cancelled()));
            assert_eq!((tally.made(), tally.dropped()), (100, 100));
        }
    });
}

/// Spawns through a handle until the test stops it.
fn spawn_until(handle: &Handle, tally: &Tally, stop: &AtomicBool) {
    while !stop.load(SeqCst) {
        let token = tally.token();
        drop(handle.spawn(async move {
            let _token = token;
            yield_now().await;
            pending::<()>().await;
        }));
    }
}

#[test]
fn tasks_that_foreign_threads_spawn_at_the_end_are_dropped_once() {
    watched("foreign threads spawn at the end", |watch| {
        for workers in WORKERS {
            for _ in 0..rounds(50) {
                let runtime = signal_runtime(watch, workers);
                let (tally, stop) = (Tally::default(), AtomicBool::new(false));
                let handle = runtime.handle();
                std::thread::scope(|s| {
                    (0..2).for_each(|_| drop(s.spawn(|| spawn_until(&handle, &tally, &stop))));
                    wait_for_parked(&handle, 10);
                    drop(runtime);
                    stop.store(true, SeqCst);
                });
                assert!(tally.is_even(), "{} of {}", tally.dropped(), tally.made());
            }
        }
    });
}

/// Spawns tasks that spawn, yield, wait, ring bells, are aborted and end.
async fn mixture(seed: u64, bells: Arc<Vec<Arc<Bell>>>, tally: Tally) -> usize {
    let mut noise = seed | 1;
    let mut set = JoinSet::new();
    for number in 0..30 {
        jitter(&mut noise);
        let (token, bell) = (tally.token(), bells[number % bells.len()].clone());
        set.spawn(async move {
            let _token = token;
            match number % 3 {
                0 => yield_now().await,
                1 => bell.ring(),
                _ => {
                    let inner = blitz::spawn(yield_now());
                    bell.ring();
                    inner.await.unwrap();
                }
            }
        });
        if number % 10 == 9 {
            blitz::spawn(yield_for_ever(tally.token())).abort();
        }
    }
    let mut ended = 0;
    while let Some(result) = set.join_next().await {
        result.unwrap();
        ended += 1;
    }
    ended
}

#[test]
fn mixtures_on_few_and_many_workers_leave_nothing() {
    watched("mixtures", |watch| {
        for workers in WORKERS {
            let runtime = signal_runtime(watch, workers);
            let tally = Tally::default();
            for round in 0..rounds(50) as u64 {
                let bells: Vec<Arc<Bell>> = (0..10).map(|_| Arc::default()).collect();
                for bell in &bells {
                    drop(runtime.spawn(listen(bell.clone(), tally.token())));
                }
                let bells = Arc::new(bells);
                let mixtures: Vec<_> = (0..8)
                    .map(|n| runtime.spawn(mixture(round << 8 | n, bells.clone(), tally.clone())))
                    .collect();
                storm(&bells, 50);
                mixtures.into_iter().for_each(|task| assert_eq!(task.join().unwrap(), 30));
                crate::common::wait_for(|| bells.iter().all(|bell| bell.is_heard()));
                bells.iter().for_each(|bell| bell.be_silent());
                wait_until_empty(&runtime);
                assert!(tally.is_even(), "{} of {}", tally.dropped(), tally.made());
            }
        }
    });
}
