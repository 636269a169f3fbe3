//! Repeats something for the length of a turn: wall time and CPU time per operation.

use std::time::Duration;

use super::{Contest, Metric, Pace, Sample, nanoseconds};
use crate::os;

/// Something that can be done again and again, with a result that is checked every time.
pub(super) trait Repeat {
    /// Does it `repetitions` times and says how long that took, or which result was wrong.
    fn time(&self, repetitions: usize) -> Result<Duration, String>;

    /// How many operations a repetition consists of; the cost of one is what is reported.
    fn operations(&self) -> u64 {
        1
    }
}

/// A contest whose turns repeat a job as often as fits.
pub(super) struct Repeated<J> {
    job: J,
    turn_time: Duration,
    /// How often a turn repeats the job; unknown before the first turn, since contestants are
    /// opened side by side and only a turn has the machine to itself.
    repetitions: Option<usize>,
}

impl<J: Repeat> Repeated<J> {
    pub(super) fn new(job: J, pace: Pace) -> Self {
        Self { job, turn_time: pace.turn_time(), repetitions: None }
    }

    /// Finds how many repetitions fill a turn, which warms everything up as well.
    fn calibrate(&self) -> Result<usize, String> {
        let mut repetitions = 1;
        while self.job.time(repetitions)? < self.turn_time * 2 / 3 {
            repetitions *= 2;
        }
        Ok(repetitions)
    }
}

impl<J: Repeat> Contest for Repeated<J> {
    fn turn(&mut self) -> Result<Sample, String> {
        let repetitions = match self.repetitions {
            Some(repetitions) => repetitions,
            None => *self.repetitions.insert(self.calibrate()?),
        };
        // Another contestant had the caches since the last turn. A repetition that fills a turn
        // on its own is long enough not to notice.
        if repetitions > 1 {
            self.job.time(repetitions / 8 + 1)?;
        }
        let cpu_before = os::cpu_time();
        let wall = self.job.time(repetitions)?;
        let cpu_after = os::cpu_time();

        let operations = repetitions as u64 * self.job.operations();
        let each = |total: Duration| nanoseconds(total) / operations as f64;
        let mut sample = Sample::from([(Metric::Wall, each(wall))]);
        if let (Some(before), Some(after)) = (cpu_before, cpu_after) {
            sample.insert(Metric::Cpu, each(after.saturating_sub(before)));
        }
        Ok(sample)
    }
}
