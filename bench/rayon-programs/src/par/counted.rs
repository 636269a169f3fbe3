//! The loops of `loops.rs` with counters in them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use blitz_contestant::{Metric, ParProgram, Sample};

use super::{Iterators, Run, data::Data};

/// The counters of a loop.
#[derive(Debug, Default)]
pub struct Counts {
    blocks: AtomicU64,
    inits: AtomicU64,
}

impl Counts {
    fn block(&self) {
        self.blocks.fetch_add(1, Relaxed);
    }

    fn init(&self) {
        self.inits.fetch_add(1, Relaxed);
    }
}

/// `map_init` makes a state for each part of the loop, so the number of states is that of parts.
macro_rules! probe {
    ($counts:expr, $iter:expr) => {{
        let counts = &$counts;
        $iter.map_init(|| counts.init(), |(), item| item)
    }};
}

macro_rules! prelude {
    () => {
        use rayon::prelude::*;
    };
}
#[path = "loops.rs"]
mod rayon_loops;

/// Progress is reported after each block.
macro_rules! probe {
    ($counts:expr, $iter:expr) => {{
        let counts = &$counts;
        $iter.on_progress(|_| counts.block()).map_init(|| counts.init(), |(), item| item)
    }};
}

macro_rules! prelude {
    () => {
        use blitz::prelude::*;
    };
}
#[path = "loops.rs"]
mod blitz_loops;

/// Runs `program` a few times and returns the counts per run.
pub fn counts(program: ParProgram, iterators: Iterators, data: &mut Data) -> Sample {
    let run: Run = match iterators {
        Iterators::Blitz => blitz_loops::of(program),
        Iterators::Rayon => rayon_loops::of(program),
        _ => return Sample::new(),
    };
    let forks = || match iterators {
        Iterators::Blitz => blitz::metrics().total().pushes,
        _ => 0,
    };
    data.counts = Counts::default();
    let before = forks();
    for _ in 0..RUNS {
        data.prepare();
        run(data);
    }
    let blocks = data.counts.blocks.load(Relaxed);
    let counted = [
        (Metric::Forks, forks() - before),
        (Metric::Blocks, blocks),
        (Metric::Inits, data.counts.inits.load(Relaxed)),
    ];
    // Zero means unknown, except for Blitz's forks: Rayon does not report blocks, and the code of a
    // sort has no probe.
    let known = |(metric, count): &(Metric, u64)| {
        *count > 0 || (*metric == Metric::Forks && iterators == Iterators::Blitz)
    };
    let per_run = |(metric, count)| (metric, count as f64 / RUNS as f64);
    counted.into_iter().filter(known).map(per_run).collect()
}

/// Few runs, since some programs take long.
const RUNS: u64 = 4;
