//! The lowest possible cost of a tree on two threads: the tree is cut in two by hand, and each half
//! runs on its own thread, which is already running and does nothing else.

use std::{
    hint,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
};

use blitz_contestant::{Clock, Repeat, Repeated, Spent};

use super::{
    Caller, Contest, Pace,
    batch::{self, ForkJoin},
};
use crate::rival::{Floor, Rival, RivalKind, Seq};

/// A computation whose first fork cuts it into two equal halves.
pub(super) trait InHalves: ForkJoin {
    /// Computes one half, forking with `R`.
    fn half<R: Rival>(&self, ctx: &mut R::Ctx<'_>, half: Half) -> u64;

    /// Combines the results of both halves, as the first fork would.
    fn whole(&self, halves: [u64; 2]) -> u64;
}

/// Which closure of the first fork.
#[derive(Debug, Clone, Copy)]
pub(super) enum Half {
    First,
    Second,
}

/// Opens `job` for `rival`, which may be a floor.
pub(super) fn open<J: InHalves>(
    rival: RivalKind,
    job: J,
    caller: Caller,
    workers: usize,
    pace: Pace,
) -> Result<Box<dyn Contest>, String> {
    match (rival, workers) {
        (RivalKind::Halves, 2) => by_hand::<J, Seq>(job, pace),
        (RivalKind::Floor, 2) => by_hand::<J, Floor>(job, pace),
        _ => batch::open(rival, job, caller, workers, pace),
    }
}

/// Opens `job` on two threads. Each half forks with `R`, which ignores the other thread.
fn by_hand<J: InHalves, R: Rival + Send + 'static>(
    job: J,
    pace: Pace,
) -> Result<Box<dyn Contest>, String> {
    let expected = job.run::<Seq>(&mut ());
    let (first, second) = (R::build(1)?, R::build(1)?);
    let desk = Arc::new(Desk { job, asked: Line::default(), answered: Line::default() });
    let other = thread::Builder::new()
        .spawn({
            let desk = Arc::clone(&desk);
            move || desk.serve(&second)
        })
        .map_err(|error| error.to_string())?;
    Ok(Box::new(Repeated::new(Halves { first, desk, other: Some(other), expected }, pace)))
}

struct Halves<J: InHalves, R> {
    first: R,
    desk: Arc<Desk<J>>,
    other: Option<JoinHandle<()>>,
    expected: u64,
}

impl<J: InHalves, R: Rival> Repeat for Halves<J, R> {
    fn time(&mut self, repetitions: usize) -> Result<Spent, String> {
        let mut wrong = None;
        let clock = Clock::start();
        for _ in 0..repetitions {
            let result = self.desk.ask(&self.first);
            if result != self.expected {
                wrong = Some(result);
            }
        }
        let spent = clock.stop();
        match wrong {
            None => Ok(spent),
            Some(wrong) => Err(format!("computed {wrong} instead of {}", self.expected)),
        }
    }
}

impl<J: InHalves, R> Drop for Halves<J, R> {
    fn drop(&mut self) {
        self.desk.asked.round.store(CLOSED, Ordering::Release);
        if let Some(other) = self.other.take() {
            // A panic was already reported on stderr.
            let _ = other.join();
        }
    }
}

/// State shared by the thread that wants the result and the thread that computes the second half.
struct Desk<J> {
    job: J,
    asked: Line,
    answered: Line,
}

/// Two words that are alone on their cache lines.
#[derive(Default)]
#[repr(align(128))]
struct Line {
    round: AtomicU64,
    result: AtomicU64,
}

impl<J: InHalves> Desk<J> {
    fn ask<R: Rival>(&self, pool: &R) -> u64 {
        let round = self.asked.round.load(Ordering::Relaxed) + 1;
        self.asked.round.store(round, Ordering::Release);
        let first = pool.enter(|ctx| hint::black_box(&self.job).half::<R>(ctx, Half::First));
        while self.answered.round.load(Ordering::Acquire) != round {
            hint::spin_loop();
        }
        self.job.whole([first, self.answered.result.load(Ordering::Relaxed)])
    }

    fn serve<R: Rival>(&self, pool: &R) {
        let mut served = 0;
        loop {
            let round = self.asked.round.load(Ordering::Acquire);
            if round == CLOSED {
                return;
            }
            if round == served {
                hint::spin_loop();
                continue;
            }
            let second = pool.enter(|ctx| hint::black_box(&self.job).half::<R>(ctx, Half::Second));
            self.answered.result.store(second, Ordering::Relaxed);
            self.answered.round.store(round, Ordering::Release);
            served = round;
        }
    }
}

/// The number of the last round: it ends the other thread.
const CLOSED: u64 = u64::MAX;
