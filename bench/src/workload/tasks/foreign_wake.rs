//! The time until a task runs after a foreign thread wakes it.

use std::{
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::{Contest, Pace, busy::BusyTasks, refuse_if};
use crate::{
    runtime::{Runtime, Tasks},
    stats::percentile,
    workload::{FALL_ASLEEP, Metric, Sample, nanoseconds},
};

/// Opens the workload. The workers run the tasks of `busy`; without such tasks they sleep.
pub(super) fn open<R: Runtime>(
    runtime: R,
    busy: Option<BusyTasks>,
    pace: Pace,
) -> Result<Box<dyn Contest>, String> {
    refuse_if::<R>(true)?;
    let (calls, mut called) = unbounded_channel::<Instant>();
    let (ran, waits) = mpsc::channel();
    let tasks = runtime.tasks();
    runtime.block_on(async move {
        tasks.detach(async move {
            while let Some(call) = called.recv().await {
                // The last answers have no receiver when the contest ends.
                let _ = ran.send(call.elapsed());
            }
        });
    });
    Ok(Box::new(ForeignWake { calls, waits, latencies: pace.latencies(), busy, runtime }))
}

/// The channels are dropped first: the task ends when they are gone, and then the runtime is
/// dropped.
struct ForeignWake<R> {
    calls: UnboundedSender<Instant>,
    waits: Receiver<Duration>,
    latencies: usize,
    busy: Option<BusyTasks>,
    runtime: R,
}

impl<R: Runtime> ForeignWake<R> {
    fn waits(&self) -> Result<Vec<f64>, String> {
        let wait = |_| {
            thread::sleep(FALL_ASLEEP);
            self.calls.send(Instant::now()).map_err(|error| error.to_string())?;
            Ok(nanoseconds(self.waits.recv().map_err(|error| error.to_string())?))
        };
        (0..self.latencies).map(wait).collect()
    }
}

impl<R: Runtime> Contest for ForeignWake<R> {
    fn turn(&mut self) -> Result<Sample, String> {
        let waits = match self.busy {
            Some(busy) => busy.beside(&self.runtime, || self.waits())?,
            None => self.waits()?,
        };
        let metrics = [(Metric::StartP50, 50.0), (Metric::StartP99, 99.0)];
        Ok(metrics
            .into_iter()
            .filter_map(|(metric, percent)| Some((metric, percentile(&waits, percent)?)))
            .collect())
    }
}
