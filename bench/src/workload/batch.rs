//! Times a computation that forks and joins.

use std::hint::black_box;

use blitz_contestant::{Clock, Repeat, Repeated, Spent};

use super::{Caller, Contest, Pace};
use crate::rival::{Build as _, Rival, RivalKind, Seq, with_rival};

/// A computation that every rival can run, with a result that shows whether it ran completely.
pub(super) trait ForkJoin: Send + Sync + 'static {
    /// Computes the result, forking with `R`.
    fn run<R: Rival>(&self, ctx: &mut R::Ctx<'_>) -> u64;
}

/// Opens `job` for `rival`. The expected result is the sequential twin's.
pub(super) fn open<J: ForkJoin>(
    rival: RivalKind,
    job: J,
    caller: Caller,
    workers: usize,
    pace: Pace,
) -> Result<Box<dyn Contest>, String> {
    with_rival!(rival, R => {
        let pool = R::build(workers)?;
        let expected = job.run::<Seq>(&mut ());
        Ok(Box::new(Repeated::new(Batch { pool, job, caller, expected }, pace)))
    })
}

struct Batch<R, J> {
    pool: R,
    job: J,
    caller: Caller,
    expected: u64,
}

impl<R: Rival, J: ForkJoin> Repeat for Batch<R, J> {
    fn time(&mut self, repetitions: usize) -> Result<Spent, String> {
        let (spent, wrong) = match self.caller {
            Caller::Outside => {
                let mut wrong = None;
                let clock = Clock::start();
                for _ in 0..repetitions {
                    // The twin's calls have no side effect, so without the black box the compiler
                    // might merge all repetitions into one call.
                    let result = self.pool.enter(|ctx| black_box(&self.job).run::<R>(ctx));
                    self.check(result, &mut wrong);
                }
                (clock.stop(), wrong)
            }
            Caller::Inside => self.pool.enter(|ctx| {
                let mut wrong = None;
                let clock = Clock::start();
                for _ in 0..repetitions {
                    let result = black_box(&self.job).run::<R>(ctx);
                    self.check(result, &mut wrong);
                }
                (clock.stop(), wrong)
            }),
        };
        match wrong {
            None => Ok(spent),
            Some(wrong) => Err(format!("computed {wrong} instead of {}", self.expected)),
        }
    }
}

impl<R, J> Batch<R, J> {
    #[inline]
    fn check(&self, result: u64, wrong: &mut Option<u64>) {
        if result != self.expected {
            *wrong = Some(result);
        }
    }
}
