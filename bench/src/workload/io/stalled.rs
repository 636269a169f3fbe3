//! Tasks that sleep for a short time, again and again, while a task that has just slept as well
//! computes for long. It wakes up alone, when every other worker sleeps: the worker that found its
//! timer is busy then, and somebody else has to look after those of the others.

use std::time::{Duration, Instant};

use super::{
    Contest,
    sleeps::{late_sample, measured_sleep},
};
use crate::{
    runtime::{Outside, Tasks, Timers},
    workload::Sample,
};

pub(super) fn open<R: Outside>(runtime: R, stall: Duration) -> Box<dyn Contest> {
    Box::new(Stalled { runtime, stall })
}

struct Stalled<R> {
    runtime: R,
    stall: Duration,
}

impl<R: Outside> Contest for Stalled<R> {
    fn turn(&mut self) -> Result<Sample, String> {
        let (tasks, stall) = (self.runtime.tasks(), self.stall);
        let late = self.runtime.block_on(async move {
            let computing = tasks.spawn(async move {
                tasks.sleep(ALONE).await;
                let start = Instant::now();
                while start.elapsed() < stall {
                    std::hint::spin_loop();
                }
            });
            let until = Instant::now() + ALONE + stall;
            let sleepers: Vec<_> =
                (0..SLEEPERS).map(|_| tasks.spawn(sleep_until(tasks, until))).collect();
            let mut late = Vec::new();
            for sleeper in sleepers {
                late.extend(sleeper.await?);
            }
            computing.await;
            Ok::<_, String>(late)
        })?;
        Ok(late_sample(&late))
    }
}

/// Sleeps again and again, and once however late it begins; by how much each sleep was late.
async fn sleep_until<T: Timers>(tasks: T, until: Instant) -> Result<Vec<f64>, String> {
    let mut late = Vec::new();
    // However late they are, there is one sleep that begins before the computing and one that is
    // measured.
    loop {
        late.push(measured_sleep(tasks, NAP).await?);
        if Instant::now() >= until {
            return Ok(late);
        }
    }
}

const SLEEPERS: usize = 20;
const NAP: Duration = Duration::from_millis(5);
/// Between two moments at which the others wake up.
const ALONE: Duration = Duration::from_millis(8);
