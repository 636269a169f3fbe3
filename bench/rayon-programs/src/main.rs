//! Programs that use Rayon as its users do. The build decides which core runs them: Rayon's own or
//! Blitz's drop-in. `blitz bench` builds both. The loops in [`par`] exist with the iterators of
//! other crates, too.
//!
//! Each program is a contestant of `blitz bench`; `rayon-programs check` runs all of them, at a
//! small size, and prints what they computed.

// `par/loops.rs` is four modules: for Blitz and for Rayon, each with and without counters.
#![allow(clippy::duplicate_mod)]

mod find;
mod iterators;
mod matrix;
mod par;
mod program;
mod sort;

use std::process::ExitCode;

use blitz_contestant::{
    Contest, Order, Pace, ParProgram, RayonProgram,
    rayon_program::RayonProgram::{
        Collect, FindAny, FindFirst, MatrixRows, MatrixZip, Nested, SmallLoop, Sort, Sum,
    },
};

use par::Iterators;
use program::{How, Opened, Running};

fn main() -> ExitCode {
    blitz_contestant::program(check, contest)
}

/// Sets up the contest that the runner has ordered.
fn contest(order: Order<'_>) -> Result<Box<dyn Contest>, String> {
    let Order { case, rival, workers, pace } = order;
    let unknown = |what| move || format!("there is no such {what}");
    match ParProgram::of_case(case) {
        Some(program) => {
            let iterators = Iterators::of_rival(rival).ok_or_else(unknown("rival"))?;
            iterators.start(workers)?;
            if iterators == Iterators::Rayon {
                check_core(rival, "rayon-on-blitz")?;
            }
            Ok(par::open(program, iterators, workers, pace)?.contest)
        }
        None => {
            let program = RayonProgram::of_case(case).ok_or_else(unknown("case"))?;
            let how = if rival == "seq" { How::Sequential } else { How::Parallel };
            if how == How::Parallel {
                start_pool(workers)?;
                check_core(rival, "blitz")?;
            }
            Ok(open(program, how, pace).contest)
        }
    }
}

/// Checks that the drop-in is below Rayon if and only if `rival` is the rival named in `drop_in`.
fn check_core(rival: &str, drop_in: &str) -> Result<(), String> {
    match on_blitz() == (rival == drop_in) {
        true => Ok(()),
        false => Err(format!("was built on the wrong core for {rival}")),
    }
}

/// Runs every program a few times, with its results checked against sequential code.
fn check() -> Result<(), String> {
    start_pool(2)?;
    for program in RayonProgram::all() {
        let expected = take_turns(&program.case(), open(program, How::Parallel, Pace::Smoke))?;
        println!("{} {expected:016x}", program.case());
    }
    // With the drop-in, Rayon's global pool is Blitz's global pool, which has been built already.
    if !on_blitz() {
        Iterators::Blitz.start(2)?;
    }
    for program in ParProgram::all() {
        let mut expected = 0;
        for iterators in Iterators::PARALLEL.into_iter().filter(|one| one.have(program)) {
            let opened = par::open(program, iterators, 2, Pace::Smoke)?;
            expected = take_turns(&format!("{}, {iterators:?}", program.case()), opened)?;
        }
        println!("{} {expected:016x}", program.case());
    }
    Ok(())
}

/// Takes a few turns and returns the expected result.
fn take_turns(case: &str, mut opened: Opened) -> Result<u64, String> {
    for _ in 0..TURNS {
        opened.contest.turn().map_err(|error| format!("{case}: {error}"))?;
    }
    Ok(opened.expected)
}

fn start_pool(workers: usize) -> Result<(), String> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(workers)
        .build_global()
        .map_err(|error| error.to_string())
}

/// Whether the drop-in is below Rayon. Its threads have names; those of Rayon's own core have none.
fn on_blitz() -> bool {
    let names = rayon::broadcast(|_| std::thread::current().name().map(str::to_owned));
    names.iter().flatten().any(|name| name.starts_with("blitz-"))
}

fn open(program: RayonProgram, how: How, pace: Pace) -> Opened {
    // Small enough for a check to take no time, and large enough to fork.
    let size = |items: usize| if pace == Pace::Smoke { items / 100 } else { items };
    match program {
        Sum => Running::open(iterators::Sum::new(size(TEN_MILLION)), how, pace),
        Collect => Running::open(iterators::Collect::new(size(TEN_MILLION)), how, pace),
        Sort { order, stable } => {
            Running::open(sort::Sort::new(size(MILLION), order, stable), how, pace)
        }
        FindFirst => Running::open(find::Find::first(size(TEN_MILLION)), how, pace),
        FindAny => Running::open(find::Find::any(size(TEN_MILLION)), how, pace),
        Nested => Running::open(iterators::Nested::new(size(MILLION).isqrt()), how, pace),
        SmallLoop { items, caller } => {
            Running::open_from(caller, iterators::SmallLoop::new(items), how, pace)
        }
        MatrixZip => Running::open(matrix::Distances::new(size(MILLION).isqrt()), how, pace),
        MatrixRows => Running::open(matrix::Softmax::new(size(MILLION).isqrt()), how, pace),
    }
}

/// How many turns a check takes. A turn has only a few repetitions, during which all workers may be
/// busy. With several turns, the program probably also runs while a worker is idle, and forks.
const TURNS: usize = 10;
const MILLION: usize = 1_000_000;
const TEN_MILLION: usize = 10 * MILLION;
