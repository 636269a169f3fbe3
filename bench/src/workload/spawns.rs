//! Jobs that are spawned into a scope, which waits for all of them: nothing but overhead.

use std::{
    hint::black_box,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use blitz_contestant::{Clock, Repeat, Repeated, Spent};

use super::{Contest, Pace};
use crate::rival::{Blitz, Rayon, RivalKind, Scoped, Seq};

/// How the jobs are spawned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpawnShape {
    /// The scope's body spawns all jobs, one after the other.
    Flat {
        /// How many there are.
        jobs: u32,
    },
    /// The body spawns one half of a tree and walks down the other half. Each job does the same
    /// with its half.
    Tree {
        /// Levels of the tree; there are 2^depth - 1 jobs.
        depth: u32,
    },
}

impl SpawnShape {
    /// How many jobs are spawned.
    pub(super) fn jobs(self) -> u64 {
        match self {
            Self::Flat { jobs } => u64::from(jobs),
            Self::Tree { depth } => (1 << depth) - 1,
        }
    }

    /// How many places are marked: one by each job, and one by the body of a tree.
    fn places(self) -> usize {
        match self {
            Self::Flat { jobs } => jobs as usize,
            Self::Tree { depth } => 1 << depth,
        }
    }

    fn run<R: Scoped>(self, marks: &[AtomicU32], turn: u32) {
        R::scope(|scope| match self {
            Self::Flat { .. } => {
                for mark in marks {
                    R::spawn(scope, move |_| mark.store(black_box(turn), Relaxed));
                }
            }
            Self::Tree { .. } => halve::<R>(scope, marks, turn),
        });
    }
}

/// Spawns a job for one half of the places, and goes on with the other half.
fn halve<'s, R: Scoped>(scope: &R::Scope<'s>, marks: &'s [AtomicU32], turn: u32) {
    match marks {
        [mark] => mark.store(black_box(turn), Relaxed),
        _ => {
            let (here, there) = marks.split_at(marks.len() / 2);
            R::spawn(scope, move |scope| halve::<R>(scope, there, turn));
            halve::<R>(scope, here, turn);
        }
    }
}

pub(super) fn open(
    rival: RivalKind,
    shape: SpawnShape,
    workers: usize,
    pace: Pace,
) -> Result<Box<dyn Contest>, String> {
    match rival {
        RivalKind::Blitz => open_for::<Blitz>(shape, workers, pace),
        RivalKind::Rayon => open_for::<Rayon>(shape, workers, pace),
        RivalKind::Seq => open_for::<Seq>(shape, workers, pace),
        kind => Err(format!("{} has no scopes whose jobs spawn others", kind.name())),
    }
}

fn open_for<R: Scoped + 'static>(
    shape: SpawnShape,
    workers: usize,
    pace: Pace,
) -> Result<Box<dyn Contest>, String> {
    let marks = (0..shape.places()).map(|_| AtomicU32::new(0)).collect();
    let spawns = Spawns { pool: R::build(workers)?, shape, marks, turn: 0 };
    Ok(Box::new(Repeated::new(spawns, pace)))
}

struct Spawns<R> {
    pool: R,
    shape: SpawnShape,
    /// The turn in which each place was last marked. These are not one counter, because workers
    /// would compete for it.
    marks: Vec<AtomicU32>,
    turn: u32,
}

impl<R: Scoped> Repeat for Spawns<R> {
    fn time(&mut self, repetitions: usize) -> Result<Spent, String> {
        let Self { pool, shape, marks, turn } = self;
        pool.enter(|_| {
            let mut spent = Spent::default();
            for _ in 0..repetitions {
                *turn = turn.wrapping_add(1);
                let clock = Clock::start();
                shape.run::<R>(marks, *turn);
                spent += clock.stop();
                let missing = marks.iter().filter(|mark| mark.load(Relaxed) != *turn).count();
                if missing > 0 {
                    return Err(format!("{missing} jobs did not run"));
                }
            }
            Ok(spent)
        })
    }

    fn operations(&self) -> u64 {
        self.shape.jobs()
    }
}
