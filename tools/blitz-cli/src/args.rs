//! The command line.

use std::{net::SocketAddr, path::PathBuf};

use blitz_bench::{
    load::{Load, Talk},
    workload::Pace,
};
use clap::{Args, Parser, Subcommand};

/// Benchmarks Blitz beside its rivals and shows what a pool sees of this machine.
///
/// Without a command it does what `blitz bench --quick` does.
#[derive(Debug, Parser)]
#[command(name = "blitz", version)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Command {
    /// Measure Blitz beside Rayon, chili, Forte, Tokio, smol and sequential code
    ///
    /// All of them take turns, one at a time and in a shuffled order; every result is checked. The
    /// table at the end gives the ratio of Blitz's cost to the rival's (less than 1: Blitz is
    /// cheaper) with its 10th and 90th percentile, the rows that Blitz loses first. An HTML report
    /// with plots and a description of the machine is written to target/blitz/report.html.
    Bench(BenchArgs),

    /// Show what a pool sees: processors, affinity, CPU quota, BLITZ_WORKERS, BLITZ_SCHEDULER,
    /// backends
    Doctor(DoctorArgs),

    /// Take turns on behalf of `blitz bench`, which starts one such process per contestant
    #[command(hide = true)]
    Contestant(ContestantArgs),

    /// Be the clients of a contestant that is a server
    #[command(hide = true)]
    Load(LoadArgs),
}

/// What to look at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct DoctorArgs {
    /// Instead, read a Cargo.lock (the one in this folder by default) and say which crates run on
    /// Blitz as they are and which need a Tokio guest
    #[arg(long, value_name = "PATH", num_args = 0..=1, default_missing_value = "Cargo.lock")]
    pub crates: Option<PathBuf>,
}

/// What to measure and how long.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct BenchArgs {
    /// Take about a minute, without most async cases and the rayon programs (the default)
    #[arg(long)]
    quick: bool,

    /// Take about half an hour for everything; use this for numbers you want to quote
    #[arg(long, conflicts_with = "quick")]
    full: bool,

    /// Run only what has NAME in its name, for example `async`, `mixed` or `rayon/sort`
    #[arg(long, value_name = "NAME")]
    pub only: Option<String>,

    /// Also write all samples as JSON to FILE
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// List the names and what they measure, and run nothing
    #[arg(long, conflicts_with = "json")]
    pub list: bool,

    /// Measure this build beside an older `blitz` program instead of beside the rivals
    #[arg(long, value_name = "PROGRAM")]
    pub before: Option<PathBuf>,

    /// Instead, measure what a program with 40 parallel loops costs to build, beside Rayon's: time,
    /// LLVM lines, size
    #[arg(long, conflicts_with_all = ["quick", "full", "only", "json", "list", "before", "seed"])]
    pub build: bool,

    /// Shuffle the turns as in the run whose report names this seed
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
}

/// Which contestant to be.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ContestantArgs {
    /// The full name of the case
    #[arg(long)]
    pub case: String,
    /// The name of the rival
    #[arg(long)]
    pub rival: String,
    /// How many workers it gets
    #[arg(long)]
    pub workers: usize,
    /// The name of the pace
    #[arg(long)]
    pub pace: String,
}

/// Whom to ask for what.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct LoadArgs {
    /// Where the server is
    #[arg(long)]
    address: SocketAddr,
    /// How many connections to open
    #[arg(long)]
    connections: usize,
    /// `hello`, or how many bytes to send back and forth
    #[arg(long)]
    talk: Talk,
    /// How often per second to ask, whether there are answers or not
    #[arg(long)]
    rate: Option<u32>,
}

impl LoadArgs {
    /// The same as the benchmarks have it.
    pub fn load(&self) -> Load {
        let Self { address, connections, talk, rate } = *self;
        Load { address, connections, talk, rate }
    }
}

impl Cli {
    /// The command to run, the default one if none is given.
    pub fn into_command(self) -> Command {
        self.command.unwrap_or_else(|| Command::Bench(BenchArgs::default()))
    }
}

impl BenchArgs {
    /// The pace that was asked for.
    pub fn pace(&self) -> Pace {
        if self.full { Pace::Full } else { Pace::Quick }
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, error::ErrorKind};

    use super::*;

    fn parse(line: &str) -> Result<Command, ErrorKind> {
        let words = ["blitz"].into_iter().chain(line.split_whitespace());
        match Cli::try_parse_from(words) {
            Ok(cli) => Ok(cli.into_command()),
            Err(error) => Err(error.kind()),
        }
    }

    fn parse_bench(line: &str) -> BenchArgs {
        match parse(line) {
            Ok(Command::Bench(args)) => args,
            other => panic!("{line:?} gave {other:?}"),
        }
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn nothing_means_a_quick_benchmark() {
        assert_eq!(parse_bench(""), BenchArgs::default());
        assert_eq!(parse_bench("bench"), BenchArgs::default());
        assert_eq!(parse_bench("").pace(), Pace::Quick);
        assert_eq!(parse_bench("bench --quick").pace(), Pace::Quick);
        assert_eq!(parse_bench("bench --full").pace(), Pace::Full);
    }

    #[test]
    fn options_of_bench() {
        let args = parse_bench("bench --only fork-join --json out.json --seed 7");
        assert_eq!(args.only.as_deref(), Some("fork-join"));
        assert_eq!(args.json, Some(PathBuf::from("out.json")));
        assert_eq!(args.seed, Some(7));
        assert!(parse_bench("bench --list").list);
        assert!(parse_bench("bench --build").build);
    }

    #[test]
    fn contradictions_are_refused() {
        let conflict = Err(ErrorKind::ArgumentConflict);
        assert_eq!(parse("bench --quick --full"), conflict);
        assert_eq!(parse("bench --list --json out.json"), conflict);
        assert_eq!(parse("bench --build --only par"), conflict);
        assert_eq!(parse("bench --seed seven"), Err(ErrorKind::ValueValidation));
        assert_eq!(parse("bench --only"), Err(ErrorKind::InvalidValue));
        assert_eq!(parse("measure"), Err(ErrorKind::InvalidSubcommand));
    }

    #[test]
    fn the_other_commands() {
        assert_eq!(parse("doctor"), Ok(Command::Doctor(DoctorArgs::default())));
        let lock = |path: &str| Ok(Command::Doctor(DoctorArgs { crates: Some(path.into()) }));
        assert_eq!(parse("doctor --crates"), lock("Cargo.lock"));
        assert_eq!(parse("doctor --crates ../other"), lock("../other"));
        let contestant = parse("contestant --case a/b --rival seq --workers 3 --pace quick");
        let Ok(Command::Contestant(args)) = contestant else {
            panic!("{contestant:?}");
        };
        assert_eq!((args.case.as_str(), args.workers), ("a/b", 3));
    }

    #[test]
    fn the_load_understands_its_own_command_line() {
        let address = SocketAddr::from(([127, 0, 0, 1], 80));
        for rate in [None, Some(2_000)] {
            let load = Load { address, connections: 7, talk: Talk::Echo(64), rate };
            let command = blitz_bench::load::LoadProcess::command("blitz".as_ref(), load);
            let words = [command.get_program()].into_iter().chain(command.get_args());
            let Command::Load(args) = Cli::try_parse_from(words).unwrap().into_command() else {
                panic!("not a load");
            };
            assert_eq!(args.load(), load);
        }
    }

    #[test]
    fn help_names_what_people_look_for_and_hides_the_rest() {
        let help = Cli::command().render_long_help().to_string();
        assert!(help.contains("bench") && help.contains("doctor"));
        assert!(!help.contains("contestant") && !help.contains("load"));
    }
}
