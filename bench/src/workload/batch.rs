//! Times a computation that forks and joins: wall time and CPU time per repetition.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use super::{Caller, Contest, Metric, Pace, Sample, nanoseconds};
use crate::{
    os,
    rival::{Build as _, Rival, RivalKind, Seq, with_rival},
};

/// A computation that every rival can run, with a result that says whether it ran completely.
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
        Ok(Box::new(Batch {
            pool: R::build(workers)?,
            expected: job.run::<Seq>(&mut ()),
            job,
            caller,
            turn_time: pace.turn_time(),
            repetitions: None,
        }))
    })
}

struct Batch<R, J> {
    pool: R,
    job: J,
    caller: Caller,
    expected: u64,
    turn_time: Duration,
    /// How often a turn repeats the job; unknown before the first turn, since contestants are
    /// opened side by side and only a turn has the machine to itself.
    repetitions: Option<usize>,
}

impl<R: Rival, J: ForkJoin> Batch<R, J> {
    /// Finds how many repetitions fill a turn, which warms everything up as well.
    fn calibrate(&self) -> Result<usize, String> {
        let mut repetitions = 1;
        while self.time(repetitions)? < self.turn_time * 2 / 3 {
            repetitions *= 2;
        }
        Ok(repetitions)
    }

    /// Runs the job `repetitions` times and checks every result.
    fn time(&self, repetitions: usize) -> Result<Duration, String> {
        let (elapsed, wrong) = match self.caller {
            Caller::Outside => {
                let mut wrong = None;
                let start = Instant::now();
                for _ in 0..repetitions {
                    // The twin's calls have no side effect, so without the black box the compiler
                    // may make one call out of all repetitions.
                    let result = self.pool.enter(|ctx| black_box(&self.job).run::<R>(ctx));
                    self.check(result, &mut wrong);
                }
                (start.elapsed(), wrong)
            }
            Caller::Inside => self.pool.enter(|ctx| {
                let mut wrong = None;
                let start = Instant::now();
                for _ in 0..repetitions {
                    let result = black_box(&self.job).run::<R>(ctx);
                    self.check(result, &mut wrong);
                }
                (start.elapsed(), wrong)
            }),
        };
        match wrong {
            None => Ok(elapsed),
            Some(wrong) => Err(format!("computed {wrong} instead of {}", self.expected)),
        }
    }

    #[inline]
    fn check(&self, result: u64, wrong: &mut Option<u64>) {
        if result != self.expected {
            *wrong = Some(result);
        }
    }
}

impl<R: Rival, J: ForkJoin> Contest for Batch<R, J> {
    fn turn(&mut self) -> Result<Sample, String> {
        let repetitions = match self.repetitions {
            Some(repetitions) => repetitions,
            None => *self.repetitions.insert(self.calibrate()?),
        };
        // Another contestant had the caches since the last turn. A repetition that fills a turn
        // on its own is long enough not to notice.
        if repetitions > 1 {
            self.time(repetitions / 8 + 1)?;
        }
        let cpu_before = os::cpu_time();
        let wall = self.time(repetitions)?;
        let cpu_after = os::cpu_time();

        let each = |total: Duration| nanoseconds(total) / repetitions as f64;
        let mut sample = Sample::from([(Metric::Wall, each(wall))]);
        if let (Some(before), Some(after)) = (cpu_before, cpu_after) {
            sample.insert(Metric::Cpu, each(after.saturating_sub(before)));
        }
        Ok(sample)
    }
}
