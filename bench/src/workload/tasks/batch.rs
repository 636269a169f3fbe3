//! Times a job made of tasks.

use std::future::Future;

use blitz_contestant::{Clock, Repeat, Repeated, Spent};

use super::{Caller, Contest, Pace, refuse_if};
use crate::runtime::{Runtime, Tasks};

/// A job that every runtime can run, with a result that shows whether it ran completely.
pub(super) trait TaskJob: Copy + Send + Sync + 'static {
    /// How many operations the cost of a run is divided by.
    fn operations(self) -> u64;

    /// The result of a run that is complete.
    fn expected(self) -> u64;

    /// Runs once.
    fn run<T: Tasks>(self, tasks: T) -> impl Future<Output = u64> + Send;
}

pub(super) fn open<R: Runtime, J: TaskJob>(
    runtime: R,
    job: J,
    caller: Caller,
    pace: Pace,
) -> Result<Box<dyn Contest>, String> {
    refuse_if::<R>(caller == Caller::Outside)?;
    Ok(Box::new(Repeated::new(TaskBatch { runtime, job, caller }, pace)))
}

struct TaskBatch<R, J> {
    runtime: R,
    job: J,
    caller: Caller,
}

impl<R: Runtime, J: TaskJob> Repeat for TaskBatch<R, J> {
    fn time(&mut self, repetitions: usize) -> Result<Spent, String> {
        let (job, caller, tasks) = (self.job, self.caller, self.runtime.tasks());
        self.runtime.block_on(async move {
            match caller {
                // The future given to `block_on` is polled by the thread that called it.
                Caller::Outside => repeat(job, tasks, repetitions).await,
                Caller::Inside => tasks.spawn(repeat(job, tasks, repetitions)).await,
            }
        })
    }

    fn operations(&self) -> u64 {
        self.job.operations()
    }
}

async fn repeat<J: TaskJob, T: Tasks>(
    job: J,
    tasks: T,
    repetitions: usize,
) -> Result<Spent, String> {
    let mut wrong = None;
    let clock = Clock::start();
    for _ in 0..repetitions {
        let result = job.run(tasks).await;
        if result != job.expected() {
            wrong = Some(result);
        }
    }
    let spent = clock.stop();
    match wrong {
        None => Ok(spent),
        Some(wrong) => Err(format!("computed {wrong} instead of {}", job.expected())),
    }
}
