//! One job from outside into a pool that has fallen asleep: how long until it starts, and until its
//! caller has the result.

use std::{thread, time::Instant};

use super::{Contest, FALL_ASLEEP, Metric, Pace, Sample, nanoseconds};
use crate::{rival::Rival, stats::percentile};

pub(super) fn open<R: Rival + 'static>(
    workers: usize,
    pace: Pace,
) -> Result<Box<dyn Contest>, String> {
    Ok(Box::new(Sleeping { pool: R::build(workers)?, latencies: pace.latencies() }))
}

struct Sleeping<R> {
    pool: R,
    latencies: usize,
}

impl<R: Rival> Contest for Sleeping<R> {
    fn turn(&mut self) -> Result<Sample, String> {
        let mut until_start = Vec::with_capacity(self.latencies);
        let mut until_return = Vec::with_capacity(self.latencies);
        for _ in 0..self.latencies {
            thread::sleep(FALL_ASLEEP);
            let called = Instant::now();
            let started = self.pool.enter(|_| Instant::now());
            until_return.push(nanoseconds(called.elapsed()));
            until_start.push(nanoseconds(started.duration_since(called)));
        }
        let metrics = [
            (Metric::StartP50, &until_start, 50.0),
            (Metric::StartP99, &until_start, 99.0),
            (Metric::ReturnP50, &until_return, 50.0),
            (Metric::ReturnP99, &until_return, 99.0),
        ];
        Ok(metrics
            .into_iter()
            .filter_map(|(metric, samples, percent)| Some((metric, percentile(samples, percent)?)))
            .collect())
    }
}
