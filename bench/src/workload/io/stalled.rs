//! Tasks that sleep for a short time, again and again, beside stuck tasks.
//!
//! A stuck task computes or blocks for long. Before that it sleeps, too, and its timer is due when
//! every worker sleeps. The worker that fires this timer is then busy with the stuck task. So
//! another thread has to fire the timers of the other tasks.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{Contest, Stall, sleeps::measured_sleep};
use crate::{
    runtime::{Outside, Tasks, Timers},
    stats::distribution,
    workload::{Metric, Sample, tasks::busy::compute},
};

pub(super) fn open<R: Outside>(
    runtime: R,
    stall: Stall,
    time: Duration,
    tasks: usize,
) -> Box<dyn Contest> {
    Box::new(Stalled { runtime, stall, time, tasks })
}

struct Stalled<R> {
    runtime: R,
    stall: Stall,
    time: Duration,
    tasks: usize,
}

impl<R: Outside> Contest for Stalled<R> {
    fn turn(&mut self) -> Result<Sample, String> {
        let tasks = self.runtime.tasks();
        let (stall, time, number) = (self.stall, self.time, self.tasks);
        let late = self.runtime.block_on(async move {
            let stuck = |_| {
                tasks.spawn(async move {
                    tasks.sleep(ALONE).await;
                    match stall {
                        Stall::Compute => compute(time),
                        Stall::Block => thread::sleep(time),
                    }
                })
            };
            let stuck: Vec<_> = (0..number).map(stuck).collect();
            let until = Instant::now() + ALONE + time;
            let sleepers: Vec<_> =
                (0..SLEEPERS).map(|_| tasks.spawn(sleep_until(tasks, until))).collect();
            let mut late = Vec::new();
            for sleeper in sleepers {
                late.extend(sleeper.await?);
            }
            for task in stuck {
                task.await;
            }
            Ok::<_, String>(late)
        })?;
        Ok(distribution(&late, &Metric::LATES))
    }
}

/// Sleeps repeatedly, and at least once, even if it begins late. Returns how late each sleep was.
async fn sleep_until<T: Timers>(tasks: T, until: Instant) -> Result<Vec<f64>, String> {
    let mut late = Vec::new();
    // Sleeps at least once, so that there is a measurement even if the first sleep ends too late.
    loop {
        late.push(measured_sleep(tasks, NAP).await?);
        if Instant::now() >= until {
            return Ok(late);
        }
    }
}

const SLEEPERS: usize = 20;
const NAP: Duration = Duration::from_millis(5);
/// How long a stuck task sleeps first. The time lies between two multiples of [`NAP`], so no
/// sleeper wakes up together with a stuck task.
const ALONE: Duration = Duration::from_millis(8);
