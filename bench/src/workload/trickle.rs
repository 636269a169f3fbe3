//! CPU time spent on one small job per millisecond: the cost of a pool for a mostly idle program.

use std::{
    hint::black_box,
    thread,
    time::{Duration, Instant},
};

use super::{Contest, Metric, Pace, Sample, nanoseconds};
use crate::{
    os,
    rival::{Rival, Seq},
    rng::mix,
};

pub(super) fn open<R: Rival + 'static>(
    workers: usize,
    pace: Pace,
) -> Result<Box<dyn Contest>, String> {
    Ok(Box::new(Trickle {
        pool: R::build(workers)?,
        expected: Seq.enter(|_| small_job()),
        jobs: pace.latencies(),
    }))
}

struct Trickle<R> {
    pool: R,
    expected: u64,
    jobs: usize,
}

impl<R: Rival> Contest for Trickle<R> {
    fn turn(&mut self) -> Result<Sample, String> {
        // Warm up: another contestant used the caches since the last turn.
        self.serve(self.jobs / 8)?;
        let before = os::cpu_time().ok_or("the CPU time of a process is not known here")?;
        self.serve(self.jobs)?;
        let used = os::cpu_time().unwrap_or_default().saturating_sub(before);
        let each = nanoseconds(used) / self.jobs as f64;
        Ok(Sample::from([(Metric::Cpu, each)]))
    }
}

impl<R: Rival> Trickle<R> {
    fn serve(&self, jobs: usize) -> Result<(), String> {
        let start = Instant::now();
        for job in 1..=jobs {
            let due = PERIOD * job as u32;
            thread::sleep(due.saturating_sub(start.elapsed()));
            let result = self.pool.enter(|_| small_job());
            if result != self.expected {
                return Err(format!("computed {result} instead of {}", self.expected));
            }
        }
        Ok(())
    }
}

/// About two microseconds of arithmetic.
fn small_job() -> u64 {
    (0..500).fold(black_box(1), |hash, _| mix(hash))
}

const PERIOD: Duration = Duration::from_millis(1);
