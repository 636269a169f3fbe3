//! Measures how long tasks wait for short jobs: each of some tasks waits for one job after another.

use std::time::Instant;

use super::{Contest, Pace, job::SizedJob, limit::Limit};
use crate::{
    rival::Seq,
    runtime::{Hybrid, Job as _, Jobs, Runtime as _, Tasks as _},
    stats::{distribution, percentile},
    workload::{Metric, Sample, nanoseconds},
};

pub(super) fn open<H: Hybrid>(
    workers: usize,
    tasks: usize,
    job: SizedJob,
    pace: Pace,
) -> Result<Box<dyn Contest>, String> {
    let (runtime, jobs) = H::build(workers)?;
    let expected = job.run::<Seq>(&mut ());
    Ok(Box::new(Waits::<H> { runtime, jobs, job, expected, tasks, rounds: pace.latencies() / 3 }))
}

/// Returns the limit to compare with: how long the workers take for one job of each task if each
/// worker runs an equal part of these jobs.
pub(super) fn even(workers: usize, tasks: usize, pace: Pace) -> Result<Box<dyn Contest>, String> {
    let job = SizedJob::short(pace);
    let time = |_| {
        let start = Instant::now();
        std::hint::black_box(job.run::<Seq>(&mut ()));
        nanoseconds(start.elapsed())
    };
    let times: Vec<f64> = (0..pace.latencies()).map(time).collect();
    let alone = percentile(&times, 50.0).ok_or("nothing was measured")?;
    Ok(Limit::of(Metric::ReturnP99, alone * tasks as f64 / workers as f64))
}

struct Waits<H: Hybrid> {
    runtime: H::Runtime,
    jobs: H::Jobs,
    job: SizedJob,
    expected: u64,
    tasks: usize,
    rounds: usize,
}

impl<H: Hybrid> Contest for Waits<H> {
    fn turn(&mut self) -> Result<Sample, String> {
        let (tasks, jobs, job) = (self.runtime.tasks(), self.jobs, self.job);
        let (number, rounds, expected) = (self.tasks, self.rounds, self.expected);
        let waits = self.runtime.block_on(async move {
            let wait = |_| {
                tasks.spawn(async move {
                    let mut waits = Vec::with_capacity(rounds);
                    for _ in 0..rounds {
                        let start = Instant::now();
                        let result = jobs.run(job).await?;
                        waits.push(nanoseconds(start.elapsed()));
                        if result != expected {
                            return Err(format!("a job resulted in {result}, not {expected}"));
                        }
                    }
                    Ok::<_, String>(waits)
                })
            };
            let started: Vec<_> = (0..number).map(wait).collect();
            let mut waits = Vec::with_capacity(number * rounds);
            for task in started {
                waits.extend(task.await?);
            }
            Ok::<_, String>(waits)
        })?;
        Ok(distribution(&waits, &Metric::RETURNS))
    }
}
