//! Tasks with random delays, on few and many workers: every wake-up arrives, every future is
//! dropped once, every result is counted. No test relies on a timeout: if a wake-up is lost, the
//! test hangs, and the watchdog dumps the pools.

mod common;

use blitz::sync::{mpsc, oneshot};
use blitz::task::{shield, yield_now};
use blitz::{JoinHandle, Runtime};
use common::{Tally, Token, fib, jitter, wait_for, wait_for_parked, watched};
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

const WORKERS: [usize; 4] = [1, 2, 8, 64];

/// Returns how many rounds to run: fewer without optimisation.
const fn rounds(optimised: usize) -> usize {
    if cfg!(debug_assertions) { optimised.div_ceil(10) } else { optimised }
}

/// Opens after a number of knocks.
///
/// The gate keeps only the newest waker, as the contract of futures allows.
#[derive(Default)]
struct Gate {
    state: Mutex<(u32, Option<Waker>)>,
}

impl Gate {
    fn knock(&self, by_value: bool) {
        let mut state = self.state.lock().unwrap();
        state.0 += 1;
        let waker = if by_value { state.1.take() } else { state.1.clone() };
        drop(state);
        match waker {
            Some(waker) if by_value => waker.wake(),
            Some(waker) => waker.wake_by_ref(),
            None => {}
        }
    }
}

/// Waits for three knocks at a gate, with pauses in its polls.
struct Waits {
    gate: Arc<Gate>,
    noise: u64,
    token: Option<Token>,
}

impl Future for Waits {
    type Output = Token;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Token> {
        jitter(&mut self.noise);
        let gate = self.gate.clone();
        let mut state = gate.state.lock().unwrap();
        if state.0 >= 3 {
            return Poll::Ready(self.token.take().expect("polled after its end"));
        }
        let before = state.1.replace(cx.waker().clone());
        drop(state);
        drop(before);
        jitter(&mut self.noise);
        Poll::Pending
    }
}

/// Returns once each spawned task is counted as ended.
///
/// A task is counted a moment after its end.
fn wait_until_all_counted(runtime: &Runtime) {
    wait_for(|| {
        let metrics = runtime.metrics().tasks;
        metrics.completed + metrics.cancelled == metrics.spawned
    });
}

#[test]
fn wakes_aborts_ends_and_drops_of_handles_race() {
    watched("wakes_aborts_ends_and_drops_of_handles_race", |watch| {
        for workers in WORKERS {
            let runtime = watch.workers(workers);
            let tally = Tally::default();
            let [mut completed, mut cancelled, mut dropped] = [0; 3];
            let rounds = rounds(1_500);
            for round in 0..rounds as u64 {
                let gate = Arc::new(Gate::default());
                let noise = round.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
                let token = Some(tally.token());
                let task = runtime.spawn(Waits { gate: gate.clone(), noise, token });
                let abort = task.abort_handle();
                let outcome = std::thread::scope(|s| {
                    s.spawn(|| {
                        let mut noise = noise.rotate_left(7);
                        for knock in 0..3 {
                            jitter(&mut noise);
                            gate.knock((noise + knock) % 2 == 0);
                        }
                    });
                    if round % 4 != 0 {
                        s.spawn(|| {
                            let mut noise = noise.rotate_left(19);
                            for _ in 0..round % 5 {
                                jitter(&mut noise);
                            }
                            abort.abort();
                        });
                    }
                    let mut noise = noise.rotate_left(31);
                    jitter(&mut noise);
                    match round % 3 {
                        0 => Some(task.join()),
                        1 => Some(runtime.block_on(task)),
                        _ => {
                            drop(task);
                            None
                        }
                    }
                });
                match outcome {
                    Some(Ok(token)) => {
                        drop(token);
                        completed += 1;
                    }
                    Some(Err(error)) => {
                        assert!(error.is_cancelled());
                        cancelled += 1;
                    }
                    None => dropped += 1,
                }
                wait_for(|| abort.is_finished());
            }
            assert_eq!(completed + cancelled + dropped, rounds);
            assert_eq!(dropped, rounds / 3, "{workers} workers");
            assert!(completed > 0);
            assert!(tally.is_even(), "{} of {}", tally.dropped(), tally.made());
            wait_until_all_counted(&runtime);
            let metrics = runtime.metrics().tasks;
            assert_eq!((metrics.spawned, metrics.waiting), (rounds as u64, 0));
        }
    });
}

#[test]
fn many_gates_at_once() {
    watched("many_gates_at_once", |watch| {
        for workers in WORKERS {
            let runtime = watch.workers(workers);
            let tally = Tally::default();
            for round in 0..rounds(40) as u64 {
                let gates: Vec<Arc<Gate>> = (0..200).map(|_| Arc::default()).collect();
                let tasks: Vec<JoinHandle<Token>> = gates
                    .iter()
                    .zip(1u64..)
                    .map(|(gate, n)| {
                        let token = Some(tally.token());
                        runtime.spawn(Waits { gate: gate.clone(), noise: n * 7 + round, token })
                    })
                    .collect();
                let results = std::thread::scope(|s| {
                    // Three threads knock once at every gate, each thread in an order of its own.
                    for thread in 0..3u64 {
                        let gates = &gates;
                        s.spawn(move || {
                            let mut noise = thread + round + 1;
                            for at in 0..gates.len() {
                                jitter(&mut noise);
                                let step = [1, 7, 13][thread as usize];
                                gates[at * step % gates.len()].knock(noise % 2 == 0);
                            }
                        });
                    }
                    let aborts: Vec<_> =
                        tasks.iter().step_by(3).map(|t| t.abort_handle()).collect();
                    s.spawn(move || {
                        let mut noise = round + 5;
                        for abort in aborts {
                            jitter(&mut noise);
                            abort.abort();
                        }
                    });
                    tasks.into_iter().map(JoinHandle::join).collect::<Vec<_>>()
                });
                for (n, result) in results.into_iter().enumerate() {
                    let fine = result.map_or_else(|error| error.is_cancelled(), |_| true);
                    assert!(fine, "task {n} neither ended nor was cancelled");
                }
            }
            assert!(tally.is_even());
            assert_eq!(runtime.metrics().tasks.waiting, 0);
        }
    });
}

/// Spawns two subtrees and waits for them; returns the number of leaves.
fn tree(depth: u32, noise: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move {
        let mut noise = noise | 1;
        jitter(&mut noise);
        if noise % 5 == 0 {
            yield_now().await;
        }
        if depth == 0 {
            return 1;
        }
        let left = blitz::spawn(tree(depth - 1, noise.wrapping_mul(3)));
        let right = blitz::spawn(tree(depth - 1, noise.wrapping_mul(5)));
        left.await.unwrap() + right.await.unwrap()
    })
}

#[test]
fn trees_of_tasks_from_many_threads() {
    watched("trees_of_tasks_from_many_threads", |watch| {
        for workers in WORKERS {
            let runtime = watch.workers(workers);
            for round in 0..rounds(20) as u64 {
                let leaves: u64 = std::thread::scope(|s| {
                    let callers: Vec<_> = (0..4)
                        .map(|caller| {
                            let runtime = &runtime;
                            s.spawn(move || runtime.block_on(tree(8, round * 4 + caller)))
                        })
                        .collect();
                    callers.into_iter().map(|caller| caller.join().unwrap()).sum()
                });
                assert_eq!(leaves, 4 * 256, "{workers} workers");
            }
            wait_until_all_counted(&runtime);
            assert_eq!(runtime.metrics().tasks.cancelled, 0);
        }
    });
}

#[test]
fn messages_between_tasks_threads_and_jobs() {
    watched("messages_between_tasks_threads_and_jobs", |watch| {
        for workers in WORKERS {
            let runtime = watch.workers(workers);
            let per_sender = rounds(2_000) as u64;
            let (send, mut receive) = mpsc::channel::<u64>(4);
            let sum = runtime.spawn(async move {
                let (mut sum, mut count) = (0, 0);
                while let Some(n) = receive.recv().await {
                    sum += n;
                    count += 1;
                }
                (sum, count)
            });
            for sender in 0..4u64 {
                let send = send.clone();
                drop(runtime.spawn(async move {
                    let mut noise = sender + 1;
                    for n in 0..per_sender {
                        jitter(&mut noise);
                        send.send(n).await.unwrap();
                    }
                }));
            }
            let jobs = send.clone();
            drop(runtime.spawn(async move {
                for n in 0..per_sender {
                    let value = blitz::spawn_cpu(move || n + fib(3) - 2).await.unwrap();
                    jobs.send(value).await.unwrap();
                }
            }));
            let threads: Vec<_> = (0..2u64)
                .map(|thread| {
                    let send = send.clone();
                    std::thread::spawn(move || {
                        let mut noise = thread + 11;
                        for n in 0..per_sender {
                            jitter(&mut noise);
                            send.blocking_send(n).unwrap();
                        }
                    })
                })
                .collect();
            drop(send);
            let one = per_sender * (per_sender - 1) / 2;
            assert_eq!(sum.join().unwrap(), (7 * one, 7 * per_sender));
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        }
    });
}

#[test]
fn sleeping_runtimes_are_woken_every_time() {
    watched("sleeping_runtimes_are_woken_every_time", |watch| {
        for workers in [1, 2, 8] {
            let runtime = watch.workers(workers);
            let handle = runtime.handle();
            let (send, mut receive) = mpsc::unbounded_channel::<oneshot::Sender<u64>>();
            let echo = runtime.spawn(async move {
                let mut count = 0;
                while let Some(reply) = receive.recv().await {
                    count += 1;
                    reply.send(count).unwrap();
                }
                count
            });
            let rounds = rounds(3_000) as u64;
            for round in 1..=rounds {
                // Half of the rounds begin with a runtime that sleeps for certain. The other rounds
                // begin with a runtime that may be anywhere on its way to sleep.
                wait_for(|| round % 2 == 0 || handle.dump().all_sleep);
                let (reply, answer) = oneshot::channel();
                send.send(reply).unwrap();
                assert_eq!(answer.blocking_recv(), Ok(round));
            }
            drop(send);
            assert_eq!(echo.join().unwrap(), rounds);
        }
    });
}

#[test]
fn shields_aborts_and_the_end_race() {
    watched("shields_aborts_and_the_end_race", |_| {
        let (begun, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let tally = Tally::default();
        for round in 0..rounds(600) {
            let runtime = common::runtime(WORKERS[round % 3]);
            let tasks: Vec<_> = (0..16u64)
                .map(|n| {
                    let (begun, ended, token) = (begun.clone(), ended.clone(), tally.token());
                    runtime.spawn(async move {
                        let _token = token;
                        let mut noise = n + round as u64 * 31 + 1;
                        loop {
                            jitter(&mut noise);
                            yield_now().await;
                            shield(async {
                                begun.fetch_add(1, SeqCst);
                                shield(async {
                                    jitter(&mut noise);
                                    yield_now().await;
                                })
                                .await;
                                yield_now().await;
                                ended.fetch_add(1, SeqCst);
                            })
                            .await;
                        }
                    })
                })
                .collect();
            let mut noise = round as u64 + 1;
            for task in tasks.iter().step_by(2) {
                jitter(&mut noise);
                task.abort();
            }
            drop(runtime);
            assert_eq!(begun.load(SeqCst), ended.load(SeqCst), "each section that began has ended");
            assert!(tally.is_even());
            assert!(tasks.into_iter().all(|task| task.join().unwrap_err().is_cancelled()));
        }
    });
}

#[test]
fn runtimes_by_the_thousand() {
    watched("runtimes_by_the_thousand", |_| {
        let tally = Tally::default();
        for round in 0..rounds(3_000) as u64 {
            let runtime = common::runtime(1 + (round % 3) as usize);
            let handle = runtime.handle();
            let gate = Arc::new(Gate::default());
            for n in 0..round % 8 {
                let token = Some(tally.token());
                let task = runtime.spawn(Waits { gate: gate.clone(), noise: n + 1, token });
                match n % 3 {
                    0 => drop(task),
                    1 => task.abort(),
                    _ => drop(std::thread::spawn(move || drop(task.join()))),
                }
            }
            let waking = std::thread::spawn(move || (0..3).for_each(|n| gate.knock(n % 2 == 0)));
            let spawning = {
                let (handle, tally) = (handle.clone(), tally.clone());
                std::thread::spawn(move || {
                    let token = tally.token();
                    handle.spawn(async move { drop(token) }).join().is_ok()
                })
            };
            match round % 4 {
                0 => drop(runtime),
                1 => drop(handle.spawn(async move { drop(runtime) })),
                2 => drop(handle.spawn_blocking(move || drop(runtime))),
                _ => drop(std::thread::spawn(move || drop(runtime)).join()),
            }
            waking.join().unwrap();
            // Whether the task ran or was cancelled depends on which thread was faster.
            let _ran: bool = spawning.join().unwrap();
        }
        wait_for(|| tally.is_even());
        assert!(tally.made() > rounds(3_000));
    });
}

#[test]
fn everything_at_once() {
    watched("everything_at_once", |watch| {
        for workers in WORKERS {
            let runtime = watch.workers(workers);
            let tally = Tally::default();
            let kinds = rounds(400);
            let tasks: Vec<_> = (0..kinds as u64)
                .map(|n| {
                    let token = tally.token();
                    runtime.spawn(async move {
                        let mut noise = n + 1;
                        jitter(&mut noise);
                        let value = match n % 7 {
                            0 => blitz::join(|| fib(7), || fib(8)).0,
                            1 => blitz::spawn_cpu(|| fib(7)).await.unwrap(),
                            2 => blitz::spawn_blocking(|| fib(7)).await.unwrap(),
                            3 => blitz::block_on(blitz::spawn(async { fib(7) })).unwrap(),
                            4 => tree(3, noise).await + 5,
                            5 => {
                                shield(async {
                                    yield_now().await;
                                    fib(7)
                                })
                                .await
                            }
                            _ => {
                                let sum = AtomicUsize::new(0);
                                blitz::scope(|s| {
                                    for _ in 0..13 {
                                        s.spawn(|_| {
                                            sum.fetch_add(1, SeqCst);
                                        });
                                    }
                                });
                                sum.into_inner() as u64
                            }
                        };
                        drop(token);
                        value
                    })
                })
                .collect();
            let parked = runtime.spawn(pending::<()>());
            assert!(tasks.into_iter().all(|task| task.join().unwrap() == 13));
            assert!(tally.is_even());
            drop(runtime);
            assert!(parked.join().unwrap_err().is_cancelled());
        }
    });
}

/// Parks `count` tasks, has each woken once, parks them again and ends the runtime.
fn park(runtime: Runtime, count: usize) {
    let tally = Tally::default();
    let (go, _) = blitz::sync::broadcast::channel::<()>(1);
    let woken = Arc::new(AtomicUsize::new(0));
    for _ in 0..count {
        let (mut wait, woken, token) = (go.subscribe(), woken.clone(), tally.token());
        drop(runtime.spawn(async move {
            let _token = token;
            wait.recv().await.unwrap();
            woken.fetch_add(1, SeqCst);
            pending::<()>().await;
        }));
    }
    let handle = runtime.handle();
    wait_for_parked(&handle, count as u64);
    go.send(()).unwrap();
    wait_for(|| woken.load(SeqCst) == count);
    wait_for(|| handle.metrics().tasks.polled == 2 * count as u64);
    drop(runtime);
    assert!(tally.is_even());
    assert_eq!(tally.made(), count);
}

#[test]
fn a_hundred_thousand_parked_tasks() {
    watched("a_hundred_thousand_parked_tasks", |watch| park(watch.workers(2), 100_000));
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes long without optimisation; the stress step runs it")]
fn a_million_parked_tasks() {
    watched("a_million_parked_tasks", |watch| park(watch.workers(2), 1_000_000));
}

#[test]
fn a_job_that_comes_at_the_moment_of_the_end_may_wait_for_a_task() {
    watched("a_job_that_comes_at_the_moment_of_the_end", |watch| {
        let mut seed = 7;
        for _ in 0..rounds(5_000) {
            let runtime = watch.workers(2);
            let never = runtime.spawn(pending::<()>());
            let (begun, begins) = std::sync::mpsc::channel();
            let mut theirs = seed;
            drop(runtime.spawn(async move {
                begun.send(()).unwrap();
                jitter(&mut theirs);
                // The end of the runtime may begin before this job does.
                drop(blitz::spawn_cpu(move || assert!(never.join().unwrap_err().is_cancelled())));
            }));
            begins.recv().unwrap();
            (0..3).for_each(|_| jitter(&mut seed));
            let handle = runtime.handle();
            drop(runtime);
            assert_eq!(handle.metrics().panics_reported, 0);
        }
    });
}
