//! dial9: a recorder of polls, spawns, parks and queue depths, fed by Tokio's hooks.
//!
//! It records into memory, as Blitz's recorder does. It records wakes only of tasks that its own
//! `spawn` starts. The workloads use Tokio's `spawn`, so there are no wakes here.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use blitz_bench::insight::Attached;
use dial9::{
    Dial9HandleTokioExt as _, Memory, MemoryBuffer, Recorder, RecorderBuilder, TokioAttachOptions,
    core::pipeline::{ProcessError, SegmentData, SegmentProcessor},
};
use tokio::runtime::{Builder, Runtime};

use crate::{run_tasks, two_workers};

/// Builds a runtime with a recorder.
pub fn build(builder: Builder) -> Result<(Runtime, Attached), String> {
    let (runtime, recorder) = attach(builder, |recorder| recorder)?;
    Ok((runtime, Box::new(recorder)))
}

fn attach(
    builder: Builder,
    more: impl FnOnce(RecorderBuilder<Memory>) -> RecorderBuilder<Memory>,
) -> Result<(Runtime, Recorder), String> {
    let memory = MemoryBuffer::new(BYTES).map_err(|error| error.to_string())?;
    let recorder = more(dial9::recorder(memory)).build();
    let options = TokioAttachOptions::builder().task_tracking_enabled(true).build();
    let runtime = recorder
        .handle()
        .attach_tokio_runtime(builder, options)
        .map_err(|error| error.to_string())?;
    Ok((runtime, recorder))
}

/// The size of the recorder's memory, as in dial9's examples.
const BYTES: u64 = 16 * 1024 * 1024;

/// Shows that the recorder has more than one byte for each of some tasks.
pub fn prove() -> Result<String, String> {
    let bytes = Arc::new(AtomicUsize::new(0));
    let counter = Counter(Arc::clone(&bytes));
    let (runtime, recorder) = attach(two_workers(), |recorder| recorder.pipe(counter))?;
    let tasks = run_tasks(&runtime)?;
    drop(runtime);
    recorder.graceful_shutdown(Duration::from_secs(10));
    match bytes.load(Ordering::Relaxed) {
        bytes if bytes as u64 > tasks => Ok(format!("{bytes} bytes of {tasks} tasks recorded")),
        bytes => Err(format!("only {bytes} bytes of {tasks} tasks recorded")),
    }
}

/// Counts the bytes that the recorder hands on.
struct Counter(Arc<AtomicUsize>);

impl SegmentProcessor for Counter {
    fn name(&self) -> &'static str {
        "counter"
    }

    fn process(
        &mut self,
        data: SegmentData,
    ) -> Pin<Box<dyn Future<Output = Result<SegmentData, ProcessError>> + Send + '_>> {
        self.0.fetch_add(data.payload().clone().into_vec().len(), Ordering::Relaxed);
        Box::pin(async { Ok(data) })
    }
}
