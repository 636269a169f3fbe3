//! The cost of starting a task from a foreign thread while every worker is busy.

use std::{thread, time::Instant};

use super::{Contest, Pace, arrivals::Arrivals, busy::BusyTasks, refuse_if};
use crate::{
    runtime::{Runtime, Tasks},
    stats::percentile,
    workload::{FALL_ASLEEP, Metric, Sample, nanoseconds},
};

pub(super) fn open<R: Runtime>(
    runtime: R,
    workers: usize,
    pace: Pace,
) -> Result<Box<dyn Contest>, String> {
    refuse_if::<R>(true)?;
    let (busy, arrivals) = (BusyTasks::new(workers), Arrivals::leaked(BURST));
    Ok(Box::new(BusySpawns { runtime, busy, arrivals, bursts: pace.latencies() / 2 + 1 }))
}

struct BusySpawns<R> {
    runtime: R,
    busy: BusyTasks,
    arrivals: &'static Arrivals,
    bursts: usize,
}

impl<R: Runtime> Contest for BusySpawns<R> {
    fn turn(&mut self) -> Result<Sample, String> {
        let Self { runtime, busy, arrivals, bursts } = self;
        let bursts = busy.beside(runtime, || {
            (0..*bursts).map(|_| burst(runtime, arrivals)).collect::<Result<Vec<f64>, String>>()
        })?;
        // The median: a foreign thread may lose its processor to a worker in the middle of a burst.
        let burst = percentile(&bursts, 50.0).ok_or("nothing was started")?;
        Ok(Sample::from([(Metric::Wall, burst / BURST as f64)]))
    }
}

/// Starts some tasks and waits for them; returns how long the start took.
fn burst<R: Runtime>(runtime: &R, arrivals: &'static Arrivals) -> Result<f64, String> {
    // Wait until the tasks of the previous burst have left queues and caches.
    thread::sleep(FALL_ASLEEP);
    let complete = arrivals.expect();
    let tasks = runtime.tasks();
    let took = runtime.block_on(async move {
        let start = Instant::now();
        for _ in 0..BURST {
            tasks.detach(async { arrivals.arrive() });
        }
        let took = start.elapsed();
        // An error would show in the count.
        let _ = complete.await;
        took
    });
    match arrivals.arrived() {
        BURST => Ok(nanoseconds(took)),
        others => Err(format!("{others} of {BURST} tasks have run")),
    }
}

const BURST: u64 = 100;
