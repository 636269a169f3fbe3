//! Repeats a job for the length of a turn, and measures wall time and CPU time per operation.

use std::{
    ops::AddAssign,
    time::{Duration, Instant},
};

use crate::{Contest, Metric, Pace, Sample, nanoseconds, os};

/// Work that can be repeated, and whose result is checked every time.
pub trait Repeat {
    /// Does the work `repetitions` times and returns the time that this took.
    ///
    /// # Errors
    ///
    /// Returns a message about the wrong result.
    fn time(&mut self, repetitions: usize) -> Result<Spent, String>;

    /// How many operations a repetition has; the report gives the cost per operation.
    fn operations(&self) -> u64 {
        1
    }

    /// Further measurements of the last call of [`time`](Self::time), per operation.
    fn more(&self) -> Sample {
        Sample::new()
    }
}

/// Time that went by between the start of a [`Clock`] and its stop.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    wall: Duration,
    /// Zero if the system cannot tell.
    cpu: Duration,
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.wall += other.wall;
        self.cpu += other.cpu;
    }
}

/// A clock that runs.
#[derive(Debug)]
#[must_use]
pub struct Clock {
    cpu: Option<Duration>,
    start: Instant,
}

impl Clock {
    /// Starts a clock.
    ///
    /// ```
    /// use blitz_contestant::{Clock, Spent};
    /// let mut spent = Spent::default();
    /// for _ in 0..3 {
    ///     let clock = Clock::start();
    ///     spent += clock.stop();
    /// }
    /// ```
    pub fn start() -> Self {
        Self { cpu: os::cpu_time(), start: Instant::now() }
    }

    /// Stops the clock.
    #[must_use]
    pub fn stop(self) -> Spent {
        let wall = self.start.elapsed();
        let cpu = match (self.cpu, os::cpu_time()) {
            (Some(before), Some(after)) => after.saturating_sub(before),
            _ => Duration::ZERO,
        };
        Spent { wall, cpu }
    }
}

/// A contest that repeats a job in each turn, as often as the turn's time allows.
#[derive(Debug)]
pub struct Repeated<J> {
    job: J,
    turn_time: Duration,
    /// How often a turn repeats the job. The first turn finds this number, because contestants are
    /// opened side by side and only a turn has the machine to itself.
    repetitions: Option<usize>,
}

impl<J: Repeat> Repeated<J> {
    /// Takes turns of the length that `pace` asks for.
    ///
    /// ```
    /// use blitz_contestant::{Clock, Contest as _, Metric, Pace, Repeat, Repeated, Spent};
    ///
    /// struct Twos;
    /// impl Repeat for Twos {
    ///     fn time(&mut self, repetitions: usize) -> Result<Spent, String> {
    ///         let clock = Clock::start();
    ///         let sum: usize = (0..repetitions).map(|_| 2).sum();
    ///         let spent = clock.stop();
    ///         (sum == 2 * repetitions).then_some(spent).ok_or_else(|| format!("got {sum}"))
    ///     }
    /// }
    /// let sample = Repeated::new(Twos, Pace::Smoke).turn().unwrap();
    /// assert!(sample.contains_key(&Metric::Wall));
    /// ```
    pub fn new(job: J, pace: Pace) -> Self {
        Self { job, turn_time: pace.turn_time(), repetitions: None }
    }

    /// Makes turns `times` times as long. This is for workloads with more threads than processors:
    /// the system's scheduler alternates between the threads, and a longer turn contains more of
    /// its switches.
    #[must_use]
    pub fn longer(self, times: u32) -> Self {
        Self { turn_time: self.turn_time * times, ..self }
    }

    /// Finds how many repetitions take at least two thirds of a turn's time.
    ///
    /// The search also warms everything up.
    fn calibrate(&mut self) -> Result<usize, String> {
        let mut repetitions = 1;
        while self.job.time(repetitions)?.wall < self.turn_time * 2 / 3 {
            repetitions *= 2;
        }
        Ok(repetitions)
    }
}

impl<J: Repeat> Contest for Repeated<J> {
    fn turn(&mut self) -> Result<Sample, String> {
        let repetitions = match self.repetitions {
            Some(repetitions) => repetitions,
            None => {
                let repetitions = self.calibrate()?;
                *self.repetitions.insert(repetitions)
            }
        };
        // Another contestant has used the caches since the last turn, so warm up. If one repetition
        // fills the turn, cold caches do not matter.
        if repetitions > 1 {
            self.job.time(repetitions / 8 + 1)?;
        }
        let Spent { wall, cpu } = self.job.time(repetitions)?;

        let operations = repetitions as u64 * self.job.operations();
        let each = |total: Duration| nanoseconds(total) / operations as f64;
        let mut sample = self.job.more();
        sample.insert(Metric::Wall, each(wall));
        if cpu > Duration::ZERO {
            sample.insert(Metric::Cpu, each(cpu));
        }
        Ok(sample)
    }
}
