//! Workloads of `blitz bench` that have tasks, on Tokio with the tools that look inside of it.
//!
//! The tools need `--cfg tokio_unstable`, which holds for all crates of a build. So the workspace
//! of Blitz cannot have them, and `blitz bench` builds this program when a case needs it. The
//! workloads are those of `blitz-bench`. The program `blitz` itself runs Tokio without a tool, as
//! the reference for each tool.
//!
//! `tokio-programs check` runs the workloads at a small size with each tool, and shows that the
//! tool sees tasks.

#[cfg(all(any(feature = "console", feature = "metrics"), not(tokio_unstable)))]
compile_error!("the tools need RUSTFLAGS=\"--cfg tokio_unstable\"");

#[cfg(feature = "console")]
mod console;
#[cfg(feature = "metrics")]
mod dial9;
#[cfg(feature = "metrics")]
mod metrics;

use std::process::ExitCode;

use blitz_bench::{
    case::{Case, Contestant},
    catalogue,
    insight::{self, BuildTokio},
    rival::RivalKind,
};
use blitz_contestant::{Contest, Order, Pace};
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinError,
};

/// A tool that looks inside of Tokio.
struct Tool {
    rival: RivalKind,
    build: BuildTokio,
    /// Runs some tasks and returns what the tool has seen of them.
    prove: fn() -> Result<String, String>,
}

/// The tools of this build.
const TOOLS: &[Tool] = &[
    #[cfg(feature = "metrics")]
    Tool { rival: RivalKind::TokioMetrics, build: metrics::build, prove: metrics::prove },
    #[cfg(feature = "metrics")]
    Tool { rival: RivalKind::TokioDial9, build: dial9::build, prove: dial9::prove },
    #[cfg(feature = "console")]
    Tool { rival: RivalKind::TokioConsole, build: console::build, prove: console::prove },
];

fn main() -> ExitCode {
    blitz_contestant::program(check, contest)
}

/// Sets up the contest that the runner has ordered.
fn contest(order: Order<'_>) -> Result<Box<dyn Contest>, String> {
    let unknown = |what| move || format!("this build has no such {what}");
    let mut tools = TOOLS.iter();
    let tool = tools.find(|tool| tool.rival.name() == order.rival).ok_or_else(unknown("rival"))?;
    let mut cases = catalogue::cases().into_iter();
    let case = cases.find(|case| case.name == order.case).ok_or_else(unknown("case"))?;
    tool.open(&case, order.workers, order.pace)
}

impl Tool {
    fn open(&self, case: &Case, workers: usize, pace: Pace) -> Result<Box<dyn Contest>, String> {
        insight::with_tokio(self.build, || case.workload.open(RivalKind::Tokio, workers, pace))
    }
}

/// Takes a turn of each workload with each tool, with its results checked.
fn check() -> Result<(), String> {
    for tool in TOOLS {
        let name = tool.rival.name();
        let seen = (tool.prove)().map_err(|error| format!("{name}: {error}"))?;
        let contestant = Contestant::new(tool.rival, 2);
        let has_tool = |case: &Case| case.contestants.contains(&contestant);
        for case in catalogue::cases().into_iter().filter(has_tool) {
            tool.open(&case, contestant.workers, Pace::Smoke)
                .and_then(|mut contest| contest.turn())
                .map_err(|error| format!("{name}, {}: {error}", case.name))?;
        }
        println!("{name}: {seen}");
    }
    Ok(())
}

/// The builder of a runtime for [`Tool::prove`].
fn two_workers() -> Builder {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2);
    builder
}

/// Runs some tasks, one after the other, and returns how many.
fn run_tasks(runtime: &Runtime) -> Result<u64, String> {
    let count = 100;
    let tasks = async {
        for _ in 0..count {
            tokio::spawn(tokio::task::yield_now()).await?;
        }
        Ok::<_, JoinError>(count)
    };
    runtime.block_on(tasks).map_err(|error| error.to_string())
}
