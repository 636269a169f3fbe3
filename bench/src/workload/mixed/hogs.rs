//! Timers beside tasks whose channels are always ready: how late the timers fire.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::mpsc;

use super::{Contest, Pace};
use crate::{
    runtime::{Outside, Tasks},
    stats::distribution,
    workload::{Metric, Sample, io::sleeps::measured_sleep, tasks::arrivals::Arrivals},
};

pub(super) fn open<R: Outside>(
    runtime: R,
    workers: usize,
    timers: u64,
    pace: Pace,
) -> Box<dyn Contest> {
    let nap = match pace {
        Pace::Smoke => Duration::from_millis(1),
        Pace::Quick | Pace::Full => Duration::from_millis(20),
    };
    // Start twice as many hogs as workers, so that every worker gets at least one.
    Box::new(Hogs { runtime, hogs: workers * 2, begun: Arrivals::leaked(timers), nap })
}

struct Hogs<R> {
    runtime: R,
    hogs: usize,
    begun: &'static Arrivals,
    nap: Duration,
}

impl<R: Outside> Contest for Hogs<R> {
    fn turn(&mut self) -> Result<Sample, String> {
        let (tasks, hogs, begun, nap) = (self.runtime.tasks(), self.hogs, self.begun, self.nap);
        let enough = Arc::new(AtomicBool::new(false));
        let late = self.runtime.block_on(async move {
            let all_begun = begun.expect();
            let sleep = move |_| {
                tasks.spawn(async move {
                    begun.arrive();
                    measured_sleep(tasks, nap).await
                })
            };
            let sleeps: Vec<_> = (0..begun.expected()).map(sleep).collect();
            // Every timer has to start before the first hog. The wait cannot fail, because the
            // counter is never dropped.
            let _ = all_begun.await;
            let feed = |_| tasks.spawn(hog(Arc::clone(&enough), nap * LONGEST));
            let hogs: Vec<_> = (0..hogs).map(feed).collect();
            let mut late = Vec::with_capacity(sleeps.len());
            for sleep in sleeps {
                late.push(sleep.await?);
            }
            enough.store(true, Ordering::Relaxed);
            for hog in hogs {
                hog.await?;
            }
            Ok::<_, String>(late)
        })?;
        Ok(distribution(&late, &Metric::LATES))
    }
}

/// Sends itself messages and receives them, without a pause.
async fn hog(enough: Arc<AtomicBool>, longest: Duration) -> Result<(), String> {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let start = Instant::now();
    // If the timers starve, they fire after the hogs have ended.
    while !enough.load(Ordering::Relaxed) && start.elapsed() < longest {
        for number in 0..MESSAGES {
            sender.send(number).map_err(|error| error.to_string())?;
            if receiver.recv().await != Some(number) {
                return Err("a message is not the one that was sent".to_owned());
            }
        }
    }
    Ok(())
}

/// Messages between two readings of the clock.
const MESSAGES: u32 = 16;

/// A hog runs at most this many times as long as a timer.
const LONGEST: u32 = 10;
