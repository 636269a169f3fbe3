//! The workloads: one file each, generic over the rival.
//!
//! [`Workload::open`] builds the pool and the data once; every [`Contest::turn`] after that is one
//! measured sample. Results are checked inside the turn, against the sequential twin or against
//! counts of the turn itself.

mod batch;
mod empty_tree;
mod fib;
mod halves;
mod io;
mod mixed;
mod pick_up;
mod pick_up_floor;
mod post;
mod queens;
mod search;
mod sleeping;
mod spawns;
mod tasks;
mod tree_sum;
mod trickle;
mod uts;

use std::time::Duration;

use blitz_contestant::nanoseconds;

use crate::{
    insight,
    load::Tool,
    rival::{RivalKind, with_rival},
};

pub use blitz_contestant::{Caller, Contest, Metric, Pace, ParProgram, RayonProgram, Sample, Unit};
pub use io::{IoWorkload, Stall};
pub use mixed::{JobKind, MixedWorkload};
pub use spawns::SpawnShape;
pub use tasks::{Fan, TaskWorkload};
pub use uts::Shape as UtsShape;

/// One workload with its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// The n-th Fibonacci number, a fork at every call: nothing but overhead.
    Fib {
        /// Which Fibonacci number.
        n: u32,
    },
    /// A full binary tree of forks with nothing in it.
    EmptyTree {
        /// Levels of forks; there are 2^depth leaves.
        depth: u32,
        /// Where it is called from.
        caller: Caller,
    },
    /// The sum over a full binary tree of heap-allocated nodes, called from outside.
    TreeSum {
        /// Levels of nodes; there are 2^levels - 1 nodes.
        levels: u32,
    },
    /// All solutions of the n-queens problem, a fork for every square.
    Queens {
        /// The width of the board, at most 16.
        n: u32,
    },
    /// The nodes of a tree whose shape is known only by walking it.
    Uts(UtsShape),
    /// Jobs that are spawned into a scope, called inside the pool.
    Spawns(SpawnShape),
    /// One job from outside into a pool that has fallen asleep.
    Sleeping,
    /// How soon an idle worker takes a job from a worker that computes and does not fork.
    PickUp {
        /// The state of the idle worker.
        idle: Idle,
    },
    /// CPU time spent on one small job per millisecond.
    Trickle,
    /// The cost of handing over one job, for the thread that hands it over.
    Post {
        /// The state of the pool's only worker.
        worker: Idle,
    },
    /// The cost of async tasks.
    Tasks(TaskWorkload),
    /// The cost of a search that finds no task.
    Search,
    /// The cost of sockets and timers.
    Io(IoWorkload),
    /// How tasks and computations delay each other.
    Mixed(MixedWorkload),
    /// A program that uses Rayon, on Rayon's own core and on the drop-in.
    Rayon(RayonProgram),
    /// A program that uses parallel iterators: those of Blitz, or those of another library.
    Par(ParProgram),
}

/// Whether a worker is awake or has fallen asleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// It ran a job a moment ago. In [`Workload::Post`] and [`TaskWorkload::ForeignWake`] it still
    /// runs jobs or tasks.
    Awake,
    /// It had nothing to do for a millisecond, which is enough for every rival's workers to block.
    Asleep,
}

impl Workload {
    /// Builds the rival's pool and the workload's data.
    ///
    /// # Errors
    ///
    /// Returns a message if the pool cannot be built or the rival cannot take part.
    pub fn open(
        self,
        rival: RivalKind,
        workers: usize,
        pace: Pace,
    ) -> Result<Box<dyn Contest>, String> {
        if rival.looks_into_tokio() {
            return Err(format!("{} needs a build with tokio_unstable", rival.name()));
        }
        insight::opened_as(rival, |rival| self.open_for(rival, workers, pace))
    }

    fn open_for(
        self,
        rival: RivalKind,
        workers: usize,
        pace: Pace,
    ) -> Result<Box<dyn Contest>, String> {
        use Caller::Outside;
        match self {
            Self::Fib { n } => batch::open(rival, fib::Fib(n), Outside, workers, pace),
            Self::EmptyTree { depth, caller } => {
                halves::open(rival, empty_tree::EmptyTree(depth), caller, workers, pace)
            }
            Self::TreeSum { levels } => {
                halves::open(rival, tree_sum::TreeSum::new(levels), Outside, workers, pace)
            }
            Self::Queens { n } => {
                batch::open(rival, queens::Queens::new(n)?, Outside, workers, pace)
            }
            Self::Uts(shape) => batch::open(rival, uts::Uts(shape), Outside, workers, pace),
            Self::Spawns(shape) => spawns::open(rival, shape, workers, pace),
            Self::Sleeping => with_rival!(rival, R => sleeping::open::<R>(workers, pace)),
            Self::PickUp { idle: Idle::Awake } if rival == RivalKind::Floor => {
                pick_up_floor::open(pace)
            }
            Self::PickUp { idle } => {
                with_rival!(rival, R => pick_up::open::<R>(workers, idle, pace))
            }
            Self::Trickle => with_rival!(rival, R => trickle::open::<R>(workers, pace)),
            Self::Post { worker } => post::open(rival, workers, worker, pace),
            Self::Tasks(workload) => workload.open(rival, workers, pace),
            Self::Search => search::open(rival, workers, pace),
            Self::Io(workload) => workload.open(rival, workers, pace),
            Self::Mixed(workload) => workload.open(rival, workers, pace),
            Self::Rayon(_) | Self::Par(_) => {
                Err("this process has one rayon-core; the comparison needs two".to_owned())
            }
        }
    }

    /// How many forks one repetition makes, for workloads whose cost is given per fork.
    #[must_use]
    pub fn forks(self) -> Option<u64> {
        match self {
            Self::Fib { n } => Some(fib::forks(n)),
            Self::EmptyTree { depth, .. } => Some((1 << depth) - 1),
            _ => None,
        }
    }

    /// How much memory one contestant's data takes, so that a small machine can skip the case.
    #[must_use]
    pub fn memory_bytes(self) -> u64 {
        match self {
            Self::TreeSum { levels } => tree_sum::memory_bytes(levels),
            Self::Tasks(workload) => workload.memory_bytes(),
            Self::Io(workload) => workload.memory_bytes(),
            Self::Rayon(program) => program.memory_bytes(),
            Self::Par(program) => program.memory_bytes(),
            _ => 0,
        }
    }

    /// The program that has to be installed for it, if there is one.
    #[must_use]
    pub fn tool(self) -> Option<Tool> {
        match self {
            Self::Io(IoWorkload::Driven { tool, .. }) => Some(tool),
            _ => None,
        }
    }

    /// After how many turns the contestants' processes are replaced by new ones, if at all.
    #[must_use]
    pub fn turns_of_a_process(self) -> Option<usize> {
        match self {
            Self::Tasks(workload) if workload.uses_up_its_process() => Some(1),
            // The memory of a process and the placement of its threads stay the same for all of its
            // turns. They matter more than the choice between Rayon's `rayon-core` and the drop-in.
            Self::Rayon(_) | Self::Par(_) => Some(1),
            // The same holds for these workloads, but fewer of their processes differ: with the
            // same empty tree, one of six took 13 % more time than the others, in all of its 30
            // turns.
            Self::Fib { .. }
            | Self::EmptyTree { .. }
            | Self::TreeSum { .. }
            | Self::Queens { .. }
            | Self::Spawns(_)
            | Self::Uts(_) => Some(5),
            _ => None,
        }
    }

    /// Returns the least time limit that the case may have.
    ///
    /// Returns `None` if a few turns are enough. The turns of other cases differ so much that a few
    /// of them mean nothing.
    #[must_use]
    pub fn settles_after(self, pace: Pace) -> Option<Duration> {
        match self {
            // The waking threads of a storm fill the processors, so the kernel decides when workers
            // run. If two threads wake each other, it decides on which processors they run.
            Self::Tasks(workload) if workload.keeps_its_luck() => Some(Duration::from_secs(9)),
            // The clients need the same processors as the server, and the kernel decides which of
            // them runs when.
            Self::Io(IoWorkload::Serving { .. }) => Some(Duration::from_secs(7)),
            // The same holds here, and a turn takes a second.
            Self::Io(IoWorkload::Driven { .. }) => Some(Duration::from_secs(10)),
            // If the kernel runs a thread a little late, hundreds of sleeps are late.
            Self::Io(IoWorkload::Sleeps { .. }) => Some(Duration::from_secs(5)),
            // A turn takes more than a second, and there are up to ten contestants.
            Self::Mixed(MixedWorkload::Beside { .. }) => Some(match pace {
                Pace::Full => Duration::from_secs(90),
                Pace::Quick | Pace::Smoke => Duration::from_secs(15),
            }),
            // The hogs and jobs keep all workers busy, so the kernel decides what else runs.
            Self::Mixed(_) => Some(Duration::from_secs(5)),
            // Most of these cases are a draw. There are many cases, so each gets little time.
            Self::Rayon(_) => Some(Duration::from_secs(4)),
            // The same holds here, and there are up to eight contestants instead of three.
            Self::Par(_) => Some(Duration::from_secs(8)),
            _ => None,
        }
    }
}

/// Long enough for the idle workers of every rival to stop yielding and block.
const FALL_ASLEEP: Duration = Duration::from_millis(1);

#[cfg(test)]
mod test;
