//! Tasks that keep every worker busy: each computes for 10 us and yields.

use std::{
    hint,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use super::arrivals::Arrivals;
use crate::runtime::{Runtime, Tasks};

/// Tasks that can be started again and again.
///
/// Their shared state is leaked once per contest, so that tasks count no references.
#[derive(Debug, Clone, Copy)]
pub(super) struct BusyTasks {
    ended: &'static Arrivals,
    enough: &'static AtomicBool,
}

impl BusyTasks {
    /// Creates enough tasks to keep `workers` workers busy.
    pub(super) fn new(workers: usize) -> Self {
        let ended = Arrivals::leaked((workers * PER_WORKER) as u64);
        Self { ended, enough: Box::leak(Box::default()) }
    }

    /// Runs `measure` on this thread while the tasks run, then ends them.
    pub(super) fn beside<R: Runtime, T>(self, runtime: &R, measure: impl FnOnce() -> T) -> T {
        let Self { ended, enough } = self;
        enough.store(false, Ordering::Relaxed);
        let all = ended.expect();
        let tasks = runtime.tasks();
        runtime.block_on(async move {
            for _ in 0..ended.expected() {
                tasks.detach(async move {
                    while !enough.load(Ordering::Relaxed) {
                        compute(WORK);
                        tasks.yield_now().await;
                    }
                    ended.arrive();
                });
            }
        });
        let measured = measure();
        enough.store(true, Ordering::Relaxed);
        // This cannot fail, because the counter is never dropped.
        let _ = runtime.block_on(all);
        measured
    }
}

/// Keeps a processor busy for `time`.
pub(in crate::workload) fn compute(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        hint::spin_loop();
    }
}

const PER_WORKER: usize = 4;
const WORK: Duration = Duration::from_micros(10);
