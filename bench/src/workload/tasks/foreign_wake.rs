//! How soon a task runs that a foreign thread wakes while every worker sleeps.

use std::{
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::{Contest, Pace, refuse_if};
use crate::{
    runtime::{Runtime, Tasks},
    stats::percentile,
    workload::{FALL_ASLEEP, Metric, Sample, nanoseconds},
};

pub(super) fn open<R: Runtime>(runtime: R, pace: Pace) -> Result<Box<dyn Contest>, String> {
    refuse_if::<R>(true)?;
    let (calls, mut called) = unbounded_channel::<Instant>();
    let (ran, waits) = mpsc::channel();
    let tasks = runtime.tasks();
    runtime.block_on(async move {
        tasks.detach(async move {
            while let Some(call) = called.recv().await {
                // Nobody waits for the last answers when the contest ends.
                let _ = ran.send(call.elapsed());
            }
        });
    });
    Ok(Box::new(ForeignWake { calls, waits, latencies: pace.latencies(), _runtime: runtime }))
}

/// The channels come first: the task ends when they are gone, and then the runtime goes.
struct ForeignWake<R> {
    calls: UnboundedSender<Instant>,
    waits: Receiver<Duration>,
    latencies: usize,
    _runtime: R,
}

impl<R: Runtime> Contest for ForeignWake<R> {
    fn turn(&mut self) -> Result<Sample, String> {
        let mut waits = Vec::with_capacity(self.latencies);
        for _ in 0..self.latencies {
            thread::sleep(FALL_ASLEEP);
            self.calls.send(Instant::now()).map_err(|error| error.to_string())?;
            waits.push(nanoseconds(self.waits.recv().map_err(|error| error.to_string())?));
        }
        let metrics = [(Metric::StartP50, 50.0), (Metric::StartP99, 99.0)];
        Ok(metrics
            .into_iter()
            .filter_map(|(metric, percent)| Some((metric, percentile(&waits, percent)?)))
            .collect())
    }
}
