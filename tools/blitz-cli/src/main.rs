//! `blitz`: benchmarks Blitz beside its rivals, looks inside live processes, and shows what a
//! pool sees of the machine.

#![forbid(unsafe_code)]

mod args;
mod ask;
mod bench;
mod chains;
mod contestant;
mod crates;
mod demo;
mod doctor;
mod explain;
mod programs;
mod progress;
mod report;
mod stacks;
mod table;
mod target;
mod top;
mod trace;
mod units;

use std::{
    fmt::Display,
    io::{self, ErrorKind, Write},
    process::ExitCode,
};

use clap::Parser;

use args::{Cli, Command, DoctorArgs};

fn main() -> ExitCode {
    let done = match Cli::parse().into_command() {
        Command::Bench(args) if args.build => chains::run(),
        Command::Bench(args) => bench::run(&args),
        Command::Doctor(DoctorArgs { crates: Some(path) }) => crates::run(&path),
        Command::Doctor(_) => doctor::run(),
        Command::Top(args) => top::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Trace(args) => trace::run(&args),
        Command::Stacks(args) => stacks::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Contestant(args) => contestant::run(&args),
        Command::Load(args) => contestant::load(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(message)) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// A message for the user; ends the program with code 2.
#[derive(Debug)]
struct Failure(String);

impl Failure {
    /// Says what was attempted and why it failed.
    fn new(attempt: impl Display, cause: impl Display) -> Self {
        Self(format!("{attempt}: {cause}"))
    }
}

/// Writes `text` to stdout. It is no failure if the reader has gone (`blitz doctor | head -1`).
fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new("cannot write to stdout", error))
        }
        _ => Ok(()),
    }
}
