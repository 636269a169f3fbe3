//! The workloads of runtimes with sockets and timers: one file per workload.

mod bare;
pub(super) mod serving;
pub(super) mod sleeps;
mod stalled;
mod timeouts;

use std::time::Duration;

use super::{Contest, Pace, mixed::Limit};
use crate::{
    load::{Talk, Tool},
    rival::RivalKind,
    runtime::{Outside as _, with_outside},
};

/// One workload with its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoWorkload {
    /// Many clients talk to a server.
    Serving {
        /// Their protocol.
        talk: Talk,
        /// How many connections.
        connections: usize,
    },
    /// An independent program sends requests to a hello server over HTTP/1.1.
    Driven {
        /// Which program.
        tool: Tool,
        /// How many connections it opens.
        connections: usize,
    },
    /// Timers that are started and cancelled before they fire.
    Timeouts {
        /// How many in one repetition.
        count: u64,
    },
    /// Tasks that all sleep at once, for 1 to 100 ms.
    Sleeps {
        /// How many.
        count: usize,
    },
    /// Tasks that sleep for a short time, again and again, beside stuck tasks.
    Stalled {
        /// What the stuck tasks do.
        stall: Stall,
        /// For how long.
        time: Duration,
        /// How many there are.
        tasks: usize,
    },
}

/// What a stuck task does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stall {
    /// It computes.
    Compute,
    /// It blocks its thread.
    Block,
}

impl IoWorkload {
    /// Builds the rival's runtime and the workload's data.
    pub(super) fn open(
        self,
        rival: RivalKind,
        workers: usize,
        pace: Pace,
    ) -> Result<Box<dyn Contest>, String> {
        match self {
            // The rival may be a server without a runtime.
            Self::Serving { talk, connections } => {
                serving::open(rival, workers, talk, connections, pace)
            }
            Self::Driven { tool, connections } => {
                serving::open_driven(rival, workers, tool, connections)
            }
            Self::Timeouts { count } => with_outside!(rival, R => {
                Ok(timeouts::open(R::build_for_outside(workers)?, workers, count, pace))
            }),
            Self::Sleeps { count } => with_outside!(rival, R => {
                Ok(sleeps::open(R::build_for_outside(workers)?, count))
            }),
            Self::Stalled { .. } if rival == RivalKind::Limit => Ok(Limit::of_lateness()),
            Self::Stalled { stall, time, tasks } => with_outside!(rival, R => {
                Ok(stalled::open(R::build_for_outside(workers)?, stall, time, tasks))
            }),
        }
    }

    /// How much memory one contestant takes at most.
    pub(super) fn memory_bytes(self) -> u64 {
        match self {
            Self::Sleeps { count } => count as u64 * 1_024,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod test;
