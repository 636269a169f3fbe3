//! The workloads of the async rivals: one file each, generic over the runtime.
//!
//! All contestants use Tokio's channels. These channels depend on no runtime, and Blitz re-exports
//! them.

mod actor_ring;
pub(super) mod arrivals;
mod batch;
pub(super) mod busy;
mod busy_spawns;
mod chained_spawn;
mod crowd;
mod fan;
mod foreign_wake;
mod parked;
mod ping_pong;
mod random_wakes;
mod spawn_join;
mod spawn_many;
mod wake_storm;
mod yield_many;

pub use fan::Fan;

use super::{Caller, Contest, Idle, Pace};
use crate::{
    rival::{Build as _, RivalKind},
    runtime::with_runtime,
};

/// One workload with its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskWorkload {
    /// Starts many empty tasks and waits until all have run.
    SpawnMany {
        /// How many.
        tasks: u64,
        /// Where they are started.
        caller: Caller,
    },
    /// Starts a task and waits for its output, again and again.
    SpawnJoin {
        /// How often in one repetition.
        joins: u64,
        /// Where the caller is.
        caller: Caller,
    },
    /// Tasks that do nothing but yield.
    YieldMany {
        /// How many tasks.
        tasks: u64,
        /// How often each yields.
        yields: u64,
    },
    /// Pairs of tasks: one sends the other a message and waits for the answer.
    PingPong {
        /// How many pairs.
        pairs: u64,
    },
    /// A chain of tasks: each starts the next.
    ChainedSpawn {
        /// How many.
        links: u64,
    },
    /// The time until a task runs after a foreign thread wakes it.
    ForeignWake {
        /// The state of the workers: idle, or busy with tasks that yield.
        workers: Idle,
    },
    /// The cost of starting a task from a foreign thread while all workers are busy.
    BusySpawns,
    /// The memory of a waiting task.
    ParkedMemory {
        /// How many wait.
        tasks: usize,
    },
    /// CPU time while tasks wait and nothing happens.
    ParkedIdle {
        /// How many wait.
        tasks: usize,
    },
    /// Foreign threads wake the same tasks again and again, and wait for them.
    WakeStorm {
        /// How many tasks.
        tasks: usize,
        /// How often each thread wakes them before it waits.
        rounds: usize,
    },
    /// Foreign threads wake tasks at random. Each task runs before the same thread wakes it again.
    RandomWakes {
        /// How many tasks.
        tasks: usize,
    },
    /// Tasks in a ring that hand on tokens.
    ActorRing {
        /// How many tasks.
        actors: usize,
        /// How many tokens.
        tokens: usize,
        /// How often the first task hands on a token in one repetition.
        laps: u64,
    },
    /// A task wakes others that wait and goes on when all have run.
    Fan {
        /// How many others.
        tasks: usize,
        /// Which task they notify.
        fan: Fan,
    },
}

impl TaskWorkload {
    /// Builds the rival's runtime and the workload's data.
    pub(super) fn open(
        self,
        rival: RivalKind,
        workers: usize,
        pace: Pace,
    ) -> Result<Box<dyn Contest>, String> {
        let setting = Setting { rival, workers, pace };
        match self {
            Self::SpawnMany { tasks, caller } => {
                setting.open(spawn_many::SpawnMany::new(tasks), caller)
            }
            Self::SpawnJoin { joins, caller } => setting.open(spawn_join::SpawnJoin(joins), caller),
            Self::YieldMany { tasks, yields } => {
                setting.open(yield_many::YieldMany { tasks, yields }, Caller::Inside)
            }
            Self::PingPong { pairs } => {
                setting.open(ping_pong::PingPong::new(pairs), Caller::Inside)
            }
            Self::ChainedSpawn { links } => {
                setting.open(chained_spawn::ChainedSpawn(links), Caller::Inside)
            }
            Self::ForeignWake { workers: idle } => {
                let busy = (idle == Idle::Awake).then(|| busy::BusyTasks::new(workers));
                with_runtime!(rival, R => foreign_wake::open(R::build(workers)?, busy, pace))
            }
            Self::BusySpawns => {
                with_runtime!(rival, R => busy_spawns::open(R::build(workers)?, workers, pace))
            }
            Self::ParkedMemory { tasks } => {
                with_runtime!(rival, R => Ok(parked::memory(R::build(workers)?, tasks)))
            }
            Self::ParkedIdle { tasks } => {
                with_runtime!(rival, R => Ok(parked::idle(R::build(workers)?, tasks, pace)))
            }
            Self::WakeStorm { tasks, rounds } => {
                with_runtime!(rival, R => wake_storm::open(R::build(workers)?, tasks, rounds, pace))
            }
            Self::RandomWakes { tasks } => {
                with_runtime!(rival, R => random_wakes::open(R::build(workers)?, tasks, pace))
            }
            Self::ActorRing { actors, tokens, laps } => with_runtime!(rival, R => {
                let runtime = R::build(workers)?;
                let ring = actor_ring::ActorRing::new(&runtime, actors, tokens, laps);
                batch::open(runtime, ring, Caller::Inside, pace)
            }),
            Self::Fan { tasks, fan } => with_runtime!(rival, R => {
                let runtime = R::build(workers)?;
                let fanning = fan::Fanning::new(&runtime, tasks, fan);
                batch::open(runtime, fanning, Caller::Inside, pace)
            }),
        }
    }

    /// Whether each process takes one turn only.
    pub(super) fn uses_up_its_process(self) -> bool {
        // An allocator keeps freed memory, so a second turn would reuse it.
        matches!(self, Self::ParkedMemory { .. }) || self.keeps_its_luck()
    }

    /// Whether turns of one process are similar and those of two processes are not: the kernel
    /// rarely moves the threads of a storm, or two threads that wake each other.
    pub(super) fn keeps_its_luck(self) -> bool {
        matches!(self, Self::WakeStorm { .. } | Self::SpawnJoin { caller: Caller::Outside, .. })
    }

    /// How much memory one contestant takes at most.
    pub(super) fn memory_bytes(self) -> u64 {
        match self {
            Self::ParkedMemory { tasks } => tasks as u64 * 512,
            _ => 0,
        }
    }
}

/// The settings of a batch.
struct Setting {
    rival: RivalKind,
    workers: usize,
    pace: Pace,
}

impl Setting {
    fn open<J: batch::TaskJob>(&self, job: J, caller: Caller) -> Result<Box<dyn Contest>, String> {
        with_runtime!(self.rival, R => {
            batch::open(R::build(self.workers)?, job, caller, self.pace)
        })
    }
}

/// Refuses a runtime that runs tasks on the calling thread, if the workload needs a hand-over.
fn refuse_if<R: crate::runtime::Runtime>(needs_hand_over: bool) -> Result<(), String> {
    match needs_hand_over && R::CALLER_RUNS_TASKS {
        true => Err("a task that a foreign thread starts or wakes runs on that thread".to_owned()),
        false => Ok(()),
    }
}

#[cfg(test)]
mod test;
