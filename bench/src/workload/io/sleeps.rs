//! Very many tasks that sleep at once: how late they wake up, and the cost.

use std::time::{Duration, Instant};

use super::Contest;
use crate::{
    os,
    runtime::{Outside, Tasks, Timers},
    stats::distribution,
    workload::{Metric, Sample, nanoseconds},
};

pub(super) fn open<R: Outside>(runtime: R, count: usize) -> Box<dyn Contest> {
    Box::new(Sleeps { runtime, count })
}

struct Sleeps<R> {
    runtime: R,
    count: usize,
}

impl<R: Outside> Contest for Sleeps<R> {
    fn turn(&mut self) -> Result<Sample, String> {
        let (tasks, count) = (self.runtime.tasks(), self.count);
        let before = os::cpu_time();
        let late = self.runtime.block_on(async move {
            let coordinate = tasks.spawn(async move {
                let started: Vec<_> =
                    (0..count).map(|n| tasks.spawn(lateness(tasks, n as u64))).collect();
                let mut late = Vec::with_capacity(count);
                for task in started {
                    late.push(task.await?);
                }
                Ok::<_, String>(late)
            });
            coordinate.await
        })?;
        let after = os::cpu_time();
        let mut sample = distribution(&late, &Metric::LATES);
        if let Some((before, after)) = before.zip(after) {
            let used = nanoseconds(after.saturating_sub(before));
            sample.insert(Metric::Cpu, used / count as f64);
        }
        Ok(sample)
    }
}

/// Sleeps once, for a time that depends on `n`; returns how late the sleep ended.
async fn lateness<T: Timers>(tasks: T, n: u64) -> Result<f64, String> {
    // All times from 1 to 100 ms, so mixed that tasks do not end in the order of their start.
    let time = Duration::from_millis(1 + n * 37 % 100);
    measured_sleep(tasks, time).await
}

/// Sleeps for `time`; returns how late the sleep ended.
pub(in crate::workload) async fn measured_sleep<T: Timers>(
    tasks: T,
    time: Duration,
) -> Result<f64, String> {
    let deadline = Instant::now() + time;
    tasks.sleep(time).await;
    match Instant::now().checked_duration_since(deadline) {
        Some(late) => Ok(nanoseconds(late)),
        None => Err(format!("a sleep of {time:?} was too short")),
    }
}
