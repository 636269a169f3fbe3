//! A program, and how its turns are timed.

use blitz_contestant::{Caller, Clock, Contest, Pace, Repeat, Repeated, Sample, Spent, rng::mix};

use crate::par::Iterators;

/// One computation, twice: in parallel and sequentially.
pub trait Program: Send + 'static {
    /// Whether one run is too short to be timed alone. Then all runs of a turn are timed together,
    /// including `prepare` and `fingerprint`.
    fn is_tiny(&self) -> bool {
        false
    }

    /// The crate whose iterators it uses.
    fn iterators(&self) -> Iterators {
        Iterators::Rayon
    }

    /// Undoes the last run, if the next one needs that.
    fn prepare(&mut self) {}

    /// Computes in parallel.
    fn parallel(&mut self);

    /// Computes the same sequentially.
    fn sequential(&mut self);

    /// Returns a fingerprint that shows whether the last run was right.
    fn fingerprint(&self) -> u64;

    /// Further counts of a run, if they are known.
    fn counts(&mut self) -> Sample {
        Sample::new()
    }
}

/// How to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// In parallel.
    Parallel,
    /// Sequentially.
    Sequential,
}

/// A program that is ready for its turns.
pub struct Opened {
    pub contest: Box<dyn Contest>,
    /// The fingerprint of what it has to compute.
    pub expected: u64,
}

/// A program that takes turns. Its expected result is that of its sequential half.
pub struct Running<P> {
    program: P,
    how: How,
    caller: Caller,
    expected: u64,
    /// Known after the first turn.
    counts: Option<Sample>,
}

impl<P: Program> Running<P> {
    /// Opens `program` with calls from outside the pool, as in most programs of users.
    pub fn open(program: P, how: How, pace: Pace) -> Opened {
        Self::open_from(Caller::Outside, program, how, pace)
    }

    /// Opens `program` with calls from `caller`.
    pub fn open_from(caller: Caller, mut program: P, how: How, pace: Pace) -> Opened {
        program.prepare();
        program.sequential();
        let expected = program.fingerprint();
        let running = Self { program, how, caller, expected, counts: None };
        Opened { contest: Box::new(Repeated::new(running, pace)), expected }
    }

    fn run(&mut self, repetitions: usize) -> Result<Spent, String> {
        if self.program.is_tiny() {
            let clock = Clock::start();
            for _ in 0..repetitions {
                self.program.prepare();
                self.compute();
                self.check()?;
            }
            return Ok(clock.stop());
        }
        let mut spent = Spent::default();
        for _ in 0..repetitions {
            self.program.prepare();
            let clock = Clock::start();
            self.compute();
            spent += clock.stop();
            self.check()?;
        }
        Ok(spent)
    }

    #[inline]
    fn compute(&mut self) {
        match self.how {
            How::Parallel => self.program.parallel(),
            How::Sequential => self.program.sequential(),
        }
    }

    #[inline]
    fn check(&self) -> Result<(), String> {
        match self.program.fingerprint() {
            right if right == self.expected => Ok(()),
            wrong => Err(format!("computed {wrong} instead of {}", self.expected)),
        }
    }
}

impl<P: Program> Repeat for Running<P> {
    fn time(&mut self, repetitions: usize) -> Result<Spent, String> {
        let iterators = self.program.iterators();
        let is_inside = self.how == How::Parallel && self.caller == Caller::Inside;
        let mut time = || {
            let spent = self.run(repetitions);
            // Count after the first run: before it, nothing is warm.
            if self.how == How::Parallel && self.counts.is_none() {
                self.counts = Some(self.program.counts());
            }
            spent
        };
        if is_inside { iterators.inside(time) } else { time() }
    }

    fn more(&self) -> Sample {
        self.counts.clone().unwrap_or_default()
    }
}

/// A fingerprint of numbers in their order. It takes one multiplication per number, because a check
/// that takes longer than the program would leave few rounds. Each step is reversible. So if
/// exactly one number is wrong, the fingerprint is always wrong, too.
pub fn fingerprint(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, |hash: u64, number| (hash.rotate_left(5) ^ number).wrapping_mul(ODD))
}

/// `count` numbers that look random and are the same in every process.
pub fn numbers(count: usize) -> Vec<u64> {
    (0..count as u64).map(mix).collect()
}

/// The odd number closest to 2^64 divided by the golden ratio: its bits look random.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
