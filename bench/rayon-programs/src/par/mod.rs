//! The same loops with the iterators of several crates: Blitz, Rayon, orx-parallel, paralight.
//!
//! The iterators of Blitz and Rayon have the same names. So one source, `loops.rs`, is compiled for
//! both, and once more for each with counters.

mod counted;
mod data;
mod orx;
mod paralight;
mod seq;

use blitz_contestant::{Caller, Pace, ParProgram, Sample};

use crate::program::{How, Opened, Program, Running};
use data::Data;

/// Passes a parallel iterator to a loop unchanged.
macro_rules! probe {
    ($counts:expr, $iter:expr) => {
        $iter
    };
}

macro_rules! prelude {
    () => {
        use blitz::prelude::*;
    };
}
#[path = "loops.rs"]
mod blitz_loops;

macro_rules! prelude {
    () => {
        use rayon::prelude::*;
    };
}
#[path = "loops.rs"]
mod rayon_loops;

/// A function that computes with the data.
pub type Run = fn(&mut Data);

/// The crate whose iterators are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Iterators {
    Seq,
    Blitz,
    Rayon,
    Orx,
    Paralight,
}

impl Iterators {
    /// All that compute in parallel.
    pub const PARALLEL: [Self; 4] = [Self::Rayon, Self::Blitz, Self::Orx, Self::Paralight];

    /// Whether they have what `program` needs.
    pub fn have(self, program: ParProgram) -> bool {
        self.run(program).is_some()
    }

    /// Returns the iterators of the rival called `rival`. It does not matter which core runs those
    /// of Rayon.
    pub fn of_rival(rival: &str) -> Option<Self> {
        match rival {
            "seq" => Some(Self::Seq),
            "blitz" => Some(Self::Blitz),
            "rayon" | "rayon-on-blitz" => Some(Self::Rayon),
            "orx-parallel" => Some(Self::Orx),
            "paralight" => Some(Self::Paralight),
            _ => None,
        }
    }

    /// The code for `program`, if these iterators have what it needs.
    fn run(self, program: ParProgram) -> Option<Run> {
        match self {
            Self::Seq => Some(seq::of(program)),
            Self::Blitz => Some(blitz_loops::of(program)),
            Self::Rayon => Some(rayon_loops::of(program)),
            Self::Orx => orx::of(program),
            Self::Paralight => paralight::of(program),
        }
    }

    /// Runs `op` on a worker, or on this thread if the pool lets no caller run on its workers.
    pub fn inside<R: Send>(self, op: impl FnOnce() -> R + Send) -> R {
        match self {
            Self::Blitz => blitz::install(op),
            Self::Rayon => rayon::scope(|_| op()),
            _ => op(),
        }
    }

    /// Starts the pool, if there is one for the whole process.
    pub fn start(self, workers: usize) -> Result<(), String> {
        match self {
            Self::Blitz => {
                let pool = blitz::Pool::builder().workers(workers);
                pool.build_global().map_err(|error| error.to_string())
            }
            Self::Rayon => crate::start_pool(workers),
            // Either the pool is part of the data, or each loop gets the number of threads.
            Self::Seq | Self::Orx | Self::Paralight => Ok(()),
        }
    }
}

/// A program with the iterators of one crate.
pub struct Par {
    program: ParProgram,
    iterators: Iterators,
    run: Run,
    data: Data,
}

/// Sets `program` up. The expected result is that of the sequential code.
pub fn open(
    program: ParProgram,
    iterators: Iterators,
    workers: usize,
    pace: Pace,
) -> Result<Opened, String> {
    let run = iterators.run(program).ok_or("these iterators cannot do that")?;
    let mut data = Data::new(program, pace);
    if iterators == Iterators::Paralight {
        data.light = Some(paralight::pool(workers)?);
    }
    data.workers = workers;
    let how = if iterators == Iterators::Seq { How::Sequential } else { How::Parallel };
    let par = Par { program, iterators, run, data };
    let caller = match program {
        ParProgram::Loop { caller, .. } => caller,
        _ => Caller::Outside,
    };
    Ok(Running::open_from(caller, par, how, pace))
}

impl Program for Par {
    fn prepare(&mut self) {
        self.data.prepare();
    }

    fn parallel(&mut self) {
        (self.run)(&mut self.data);
    }

    fn sequential(&mut self) {
        seq::of(self.program)(&mut self.data);
    }

    fn fingerprint(&self) -> u64 {
        self.data.fingerprint()
    }

    fn is_tiny(&self) -> bool {
        matches!(self.program, ParProgram::Loop { .. })
    }

    fn iterators(&self) -> Iterators {
        self.iterators
    }

    fn counts(&mut self) -> Sample {
        counted::counts(self.program, self.iterators, &mut self.data)
    }
}
