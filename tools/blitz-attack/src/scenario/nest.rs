//! Nested waits: the jobs that a worker runs while it waits lie on its stack, which is finite.

use super::{Scenario, runtime};
use blitz::time::{Duration, sleep};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;

pub const ALL: &[Scenario] = &[
    Scenario::new("nest-detached", "6,000 detached jobs that wait fit on a stack", detached),
    Scenario::new("nest-scope", "20,000 jobs of a scope that wait fit on a stack", scope),
    Scenario::new("nest-yield", "50,000 jobs that yield fit on a stack", yields),
    Scenario::new("nest-install", "50,000 leaves that call another pool fit on a stack", install),
    Scenario::new("big-frames", "tasks with frames of 400 KiB that wait fit on a stack", frames),
    Scenario::new("small-thread", "a local set works on a stack of 256 KiB", small_thread),
];

const MS: Duration = Duration::from_millis(1);

fn detached() {
    const JOBS: usize = 6_000;
    let runtime = runtime(2);
    let (send, receive) = mpsc::channel();
    for _ in 0..JOBS {
        let send = send.clone();
        runtime.pool().spawn_detached(move || {
            blitz::block_on(sleep(MS));
            send.send(()).unwrap();
        });
    }
    drop(send);
    assert_eq!(receive.iter().count(), JOBS);
}

fn scope() {
    const JOBS: usize = 20_000;
    let done = AtomicUsize::new(0);
    runtime(2).pool().scope(|s| {
        for _ in 0..JOBS {
            s.spawn(|_| {
                blitz::block_on(sleep(MS));
                done.fetch_add(1, SeqCst);
            });
        }
    });
    assert_eq!(done.into_inner(), JOBS);
}

fn yields() {
    const JOBS: usize = 50_000;
    let done = AtomicUsize::new(0);
    runtime(1).pool().scope(|s| {
        for _ in 0..JOBS {
            s.spawn(|_| {
                blitz::yield_job();
                done.fetch_add(1, SeqCst);
            });
        }
    });
    assert_eq!(done.into_inner(), JOBS);
}

fn install() {
    fn halve(low: usize, high: usize, leaf: &(impl Fn() + Sync)) {
        if high - low == 1 {
            return leaf();
        }
        let middle = low.midpoint(high);
        blitz::join(|| halve(low, middle, leaf), || halve(middle, high, leaf));
    }
    const LEAVES: usize = 50_000;
    let (here, other) = (runtime(2), runtime(2));
    let done = AtomicUsize::new(0);
    let leaf = || other.pool().install(|| drop(done.fetch_add(1, SeqCst).to_string()));
    here.pool().install(|| halve(0, LEAVES, &leaf));
    assert_eq!(done.load(SeqCst), LEAVES);
}

fn frames() {
    const TASKS: usize = 200;
    #[inline(never)]
    fn wide() -> u64 {
        let frame = black_box([1u8; 400 << 10]);
        blitz::block_on(sleep(MS));
        black_box(frame).iter().map(|byte| u64::from(*byte)).sum()
    }
    let runtime = runtime(2);
    let tasks: Vec<_> = (0..TASKS).map(|_| runtime.spawn(async { wide() })).collect();
    let sum: u64 = tasks.into_iter().map(|task| task.join().unwrap()).sum();
    assert_eq!(sum, TASKS as u64 * (400 << 10));
}

fn small_thread() {
    const TASKS: usize = 1_000;
    let done = Arc::new(AtomicUsize::new(0));
    let counter = done.clone();
    let small = std::thread::Builder::new().stack_size(256 << 10).spawn(move || {
        let runtime = runtime(1);
        let set = blitz::LocalSet::new();
        for _ in 0..TASKS {
            let counter = counter.clone();
            drop(set.spawn_local(async move {
                blitz::block_on(sleep(MS));
                counter.fetch_add(1, SeqCst);
            }));
        }
        runtime.block_on(set);
    });
    small.unwrap().join().unwrap();
    assert_eq!(done.load(SeqCst), TASKS);
}
