//! Serving and computing at the same time: one file per workload.

mod beside;
mod hogs;
mod job;
mod limit;
mod waits;

use super::{Contest, Pace};
use crate::{
    load::Talk,
    rival::RivalKind,
    runtime::{Outside as _, with_hybrid, with_outside},
};

pub use job::JobKind;
pub(super) use limit::Limit;

/// One workload with its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MixedWorkload {
    /// Requests at a fixed rate, beside jobs that tasks run repeatedly.
    Beside {
        /// The protocol of the requests.
        talk: Talk,
        /// The kind of job.
        job: JobKind,
        /// How many tasks run jobs.
        in_flight: usize,
    },
    /// Timers of 20 ms beside tasks whose channels are always ready.
    Hogs {
        /// How many timers.
        timers: u64,
    },
    /// Tasks that each wait for a job of 0.3 ms, again and again.
    Waits {
        /// How many tasks.
        tasks: usize,
    },
    /// One task that waits for an empty job, again and again: the cost of a call from a task into
    /// the pool for jobs, and of the way back.
    Bridge,
}

impl MixedWorkload {
    /// Builds the rival's runtime and the workload's data.
    pub(super) fn open(
        self,
        rival: RivalKind,
        workers: usize,
        pace: Pace,
    ) -> Result<Box<dyn Contest>, String> {
        match self {
            Self::Beside { talk, job, in_flight } => {
                let job = job::SizedJob::new(job, pace);
                with_hybrid!(rival, H => beside::open::<H>(workers, talk, job, in_flight, pace))
            }
            Self::Hogs { timers } => with_outside!(rival, R => {
                Ok(hogs::open(R::build_for_outside(workers)?, workers, timers, pace))
            }),
            Self::Waits { tasks } if rival == RivalKind::Limit => waits::even(workers, tasks, pace),
            Self::Waits { tasks } => {
                let job = job::SizedJob::short(pace);
                with_hybrid!(rival, H => waits::open::<H>(workers, tasks, job, pace))
            }
            Self::Bridge => {
                let job = job::SizedJob::EMPTY;
                with_hybrid!(rival, H => waits::open::<H>(workers, 1, job, pace))
            }
        }
    }
}

#[cfg(test)]
mod test;
