//! The command line.

use std::{net::SocketAddr, path::PathBuf};

use blitz_bench::{
    load::{Load, Talk},
    workload::Pace,
};
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Benchmarks Blitz beside its rivals and looks inside live processes.
///
/// Without a command it does what `blitz bench --quick` does.
#[derive(Debug, Parser)]
#[command(name = "blitz", version)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum Command {
    /// Measure Blitz beside Rayon, chili, Forte, Tokio, smol and sequential code
    ///
    /// All of them take turns, one at a time and in a shuffled order; every result is checked. The
    /// table at the end gives the ratio of Blitz's cost to the rival's (less than 1: Blitz is
    /// cheaper) with its 10th and 90th percentile. The rows that Blitz loses come first. An HTML
    /// report with plots and a description of the machine is written to target/blitz/report.html.
    Bench(BenchArgs),

    /// Show what a pool sees: processors, affinity, CPU quota, BLITZ_WORKERS, BLITZ_SCHEDULER,
    /// backends
    Doctor(DoctorArgs),

    /// Show what the workers and tasks of a live process are doing
    ///
    /// Keys: c, p, a sort by CPU, polls or tasks alive; / filters; e explains which tasks wait for
    /// what; t saves a trace; Tab goes to the next pool; q quits.
    Top(TopArgs),

    /// Say which tasks of a live process wait for what, and which wait for ever
    Explain(ExplainArgs),

    /// Save what the workers of a live process did in the last seconds
    Trace(TraceArgs),

    /// Print the stack of each worker of a live process. Uses gdb or eu-stack, which stop the
    /// process briefly
    Stacks(StacksArgs),

    /// Serve a page that shows a busy server, with buttons that break it
    Demo(DemoArgs),

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
    /// Instead, read a Cargo.lock (by default the one in this folder) and list which crates run on
    /// Blitz unchanged and which need a Tokio guest
    #[arg(long, value_name = "PATH", num_args = 0..=1, default_missing_value = "Cargo.lock")]
    pub crates: Option<PathBuf>,
}

/// Which process to show, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct TopArgs {
    /// The id of one of your processes, or the address of its page including the part after `#`;
    /// optional if there is only one process
    #[arg(value_name = "PID|URL")]
    pub target: Option<String>,
    /// Show the pool of this name instead of the oldest pool
    #[arg(long, value_name = "NAME")]
    pub pool: Option<String>,
    /// Print one snapshot as text, and exit
    #[arg(long)]
    pub once: bool,
    /// Print the answers of the process as JSON
    #[arg(long, requires = "once")]
    pub json: bool,
}

/// What to explain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct ExplainArgs {
    /// The id of one of your processes, or the address of its page including the part after `#`;
    /// optional if there is only one process
    #[arg(value_name = "PID|URL")]
    pub target: Option<String>,
    /// Explain the pool of this name instead of the oldest one
    #[arg(long, value_name = "NAME")]
    pub pool: Option<String>,
    /// Also wake each waiting task once, up to 1,000 tasks, and print which functions it waits in
    #[arg(long)]
    pub probe: bool,
    /// Print the answer of the process as JSON
    #[arg(long)]
    pub json: bool,
}

/// What to save, and where.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct TraceArgs {
    /// The id of one of your processes, or the address of its page; optional if there is only one
    /// process
    #[arg(value_name = "PID|URL")]
    pub target: Option<String>,
    /// Where to write it; `-` means stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How many seconds the trace covers
    #[arg(long, value_name = "N", default_value_t = 5.0, value_parser = seconds)]
    pub seconds: f64,
    /// The format of the trace
    #[arg(long, value_enum, default_value_t = TraceFormat::Perfetto)]
    pub format: TraceFormat,
    /// Save the trace of the pool of this name instead of the oldest pool
    #[arg(long, value_name = "NAME")]
    pub pool: Option<String>,
}

/// Formats of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TraceFormat {
    /// For ui.perfetto.dev
    Perfetto,
    /// JSON for the Firefox Profiler, speedscope and Chrome
    Chrome,
}

impl TraceFormat {
    /// The server's name for the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Perfetto => "perfetto",
            Self::Chrome => "chrome",
        }
    }

    /// The file extension.
    pub fn end(self) -> &'static str {
        match self {
            Self::Perfetto => "pftrace",
            Self::Chrome => "json",
        }
    }

    /// Which programs read it.
    pub fn readers(self) -> &'static str {
        match self {
            Self::Perfetto => "open it with https://ui.perfetto.dev",
            Self::Chrome => "open it with https://profiler.firefox.com or https://speedscope.app",
        }
    }
}

/// Whose stacks to print.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct StacksArgs {
    /// The id of one of your processes; optional if there is only one process
    pub pid: Option<u32>,
    /// Print the names of functions with all type parameters
    #[arg(long)]
    pub full: bool,
}

/// How long to serve, and where.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct DemoArgs {
    /// Exit after this many seconds instead of when interrupted
    #[arg(long, value_name = "N", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Serve the page on this port of 127.0.0.1; 0 means any free port [default: 6680, if it is
    /// free]
    #[arg(long, value_name = "P")]
    pub port: Option<u16>,
    /// How many workers the server has [default: one per core, at least 4]
    #[arg(long, value_name = "N", value_parser = workers)]
    pub workers: Option<usize>,
    /// Have the page ask for a token, which is part of its address; then the page may also probe
    /// tasks
    #[arg(long)]
    pub token: bool,
}

/// Parses a time in seconds, up to a year.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=3.2e7).contains(&seconds) => Ok(seconds),
        _ => Err("not a number of seconds".to_owned()),
    }
}

/// Parses a number of workers: at least 2, one that gets stuck and one that goes on.
fn workers(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(workers @ 2..=1024) => Ok(workers),
        _ => Err("from 2 to 1024".to_owned()),
    }
}

/// What to measure and how long.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct BenchArgs {
    /// Take about a minute, with only a few of the async and io cases, without the cases of scopes
    /// (fork-join/spawn-*) and without the groups mixed, signal, par, insight and rayon (the
    /// default)
    #[arg(long)]
    quick: bool,

    /// Take about half an hour for everything; use this for numbers you want to quote
    #[arg(long, conflicts_with = "quick")]
    full: bool,

    /// Run only the group NAME, for example `async` or `mixed`; if there is no such group, only
    /// cases with NAME in their names, for example `rayon/sort`
    #[arg(long, value_name = "NAME")]
    pub only: Option<String>,

    /// Also write all samples as JSON to FILE
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Also write a plot of each group as SVG into FOLDER, which exists
    #[arg(long, value_name = "FOLDER")]
    pub svg: Option<PathBuf>,

    /// List the cases and what they measure, and run nothing
    #[arg(long, conflicts_with_all = ["json", "svg"])]
    pub list: bool,

    /// Measure this build beside an older `blitz` program instead of beside the rivals
    #[arg(long, value_name = "PROGRAM")]
    pub before: Option<PathBuf>,

    /// Instead, measure the build of a program with 40 parallel loops, with Blitz's iterators and
    /// with Rayon's: time, LLVM lines, size
    #[arg(long, conflicts_with_all = ["quick", "full", "only", "json", "svg", "list", "before", "seed"])]
    pub build: bool,

    /// Shuffle the turns as in an earlier run: give the seed from its report
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

/// The server, and the load to put on it.
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
    /// Requests per second to send, whether or not earlier ones were answered
    #[arg(long)]
    rate: Option<u32>,
}

impl LoadArgs {
    /// Converts the options to the benchmarks' type.
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
        let args = parse_bench("bench --only fork-join --json out.json --svg out --seed 7");
        assert_eq!(args.only.as_deref(), Some("fork-join"));
        assert_eq!(args.json, Some(PathBuf::from("out.json")));
        assert_eq!(args.svg, Some(PathBuf::from("out")));
        assert_eq!(args.seed, Some(7));
        assert!(parse_bench("bench --list").list);
        assert!(parse_bench("bench --build").build);
    }

    #[test]
    fn contradictions_are_refused() {
        let conflict = Err(ErrorKind::ArgumentConflict);
        assert_eq!(parse("bench --quick --full"), conflict);
        assert_eq!(parse("bench --list --json out.json"), conflict);
        assert_eq!(parse("bench --list --svg out"), conflict);
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
    fn live_processes_are_named_by_number_or_address() {
        let top = |target: Option<&str>, once, json| {
            let target = target.map(str::to_owned);
            Ok(Command::Top(TopArgs { target, pool: None, once, json }))
        };
        assert_eq!(parse("top"), top(None, false, false));
        assert_eq!(parse("top 42 --once --json"), top(Some("42"), true, true));
        assert_eq!(parse("top --json"), Err(ErrorKind::MissingRequiredArgument));
        let Ok(Command::Trace(trace)) = parse("trace 42 -o x --seconds 2 --format chrome") else {
            panic!("not a trace");
        };
        assert_eq!((trace.target.as_deref(), trace.seconds), (Some("42"), 2.0));
        assert_eq!((trace.output, trace.format), (Some(PathBuf::from("x")), TraceFormat::Chrome));
        let explain = ExplainArgs { probe: true, ..ExplainArgs::default() };
        assert_eq!(parse("explain --probe"), Ok(Command::Explain(explain)));
        assert_eq!(
            parse("stacks 42"),
            Ok(Command::Stacks(StacksArgs { pid: Some(42), full: false }))
        );
        assert_eq!(parse("stacks me"), Err(ErrorKind::ValueValidation));
    }

    #[test]
    fn the_demo_has_limits() {
        let demo = DemoArgs { seconds: Some(2.5), port: Some(0), workers: Some(2), token: false };
        assert_eq!(parse("demo --seconds 2.5 --port 0 --workers 2"), Ok(Command::Demo(demo)));
        assert_eq!(parse("demo"), Ok(Command::Demo(DemoArgs::default())));
        for bad in ["--seconds -1", "--seconds=-1", "--seconds nan", "--workers 1", "--port 65536"]
        {
            assert!(parse(&format!("demo {bad}")).is_err(), "{bad}");
        }
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
        for name in ["bench", "doctor", "top", "explain", "trace", "stacks", "demo"] {
            assert!(help.contains(&format!("\n  {name} ")), "{name}: {help}");
        }
        assert!(!help.contains("contestant") && !help.contains("load"));
    }
}
