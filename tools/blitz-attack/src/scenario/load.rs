//! Very many timers, and very many jobs.

use super::{Scenario, runtime, slower, wait_for};
use crate::allocator;
use blitz::time::{Duration, Instant, sleep_until};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Waker};

pub const ALL: &[Scenario] = &[
    Scenario::new(
        "timer-slot",
        "a million timers in one slot of the wheel delay no other timer by a second",
        timer_slot,
    ),
    Scenario::new(
        "burst-memory",
        "the memory of eight million jobs comes back when the pool is idle",
        burst_memory,
    ),
];

fn timer_slot() {
    const TIMERS: usize = 1_000_000;
    let runtime = runtime(2);
    let _guard = runtime.enter();
    // All timers lie in one slot of a coarse level, which is emptied when its time comes.
    let far = Instant::now() + Duration::from_secs(2) * slower();
    let mut context = Context::from_waker(Waker::noop());
    let mut timers: Vec<_> = (0..TIMERS).map(|_| Box::pin(sleep_until(far))).collect();
    for timer in &mut timers {
        assert!(timer.as_mut().poll(&mut context).is_pending());
    }
    let mut worst = Duration::ZERO;
    while Instant::now() < far + Duration::from_millis(200) {
        let deadline = Instant::now() + Duration::from_millis(2);
        runtime.spawn(sleep_until(deadline)).join().unwrap();
        worst = worst.max(deadline.elapsed());
    }
    assert!(timers.iter().all(|timer| timer.is_elapsed()));
    assert!(worst < Duration::from_secs(1) * slower(), "a timer was {worst:?} late");
}

fn burst_memory() {
    const JOBS: usize = 8_000_000;
    /// Memory that may stay, mostly blocks that workers keep for the next tasks and jobs.
    const KEPT: isize = 8 << 20;
    let runtime = runtime(2);
    runtime.pool().install(|| ());
    allocator::start();
    let done = Arc::new(AtomicUsize::new(0));
    let counter = done.clone();
    let most = runtime.pool().install(move || {
        for _ in 0..JOBS {
            let counter = counter.clone();
            blitz::spawn_detached(move || {
                counter.fetch_add(1, Relaxed);
            });
        }
        allocator::live()
    });
    wait_for(|| done.load(Relaxed) == JOBS);
    let handle = runtime.handle();
    // Let the pool go to sleep several times: it frees memory when it falls asleep.
    for _ in 0..100 {
        if allocator::live() <= KEPT {
            return;
        }
        runtime.spawn(async {}).join().unwrap();
        wait_for(|| handle.dump().all_sleep);
    }
    panic!("{} of {most} bytes are kept", allocator::live());
}
