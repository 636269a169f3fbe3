//! The floor below every pick-up: a thread that does nothing but look at one word, and another that
//! stores it.

use std::{
    hint,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::{Contest, Pace, Sample, pick_up::summarise};

pub(super) fn open(pace: Pace) -> Result<Box<dyn Contest>, String> {
    let words =
        Arc::new(Words { epoch: Instant::now(), forked: Line::default(), taken: Line::default() });
    let taker = thread::Builder::new()
        .spawn({
            let words = Arc::clone(&words);
            move || words.take()
        })
        .map_err(|error| error.to_string())?;
    Ok(Box::new(Bare { words, taker: Some(taker), latencies: pace.latencies() }))
}

struct Bare {
    words: Arc<Words>,
    taker: Option<JoinHandle<()>>,
    latencies: usize,
}

impl Contest for Bare {
    fn turn(&mut self) -> Result<Sample, String> {
        let waits: Vec<Option<Duration>> =
            (0..self.latencies).map(|_| Some(self.words.fork())).collect();
        Ok(summarise(&waits))
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.words.forked.0.store(END, Ordering::Relaxed);
        if let Some(taker) = self.taker.take() {
            // If it panicked it has already said so on stderr.
            let _ = taker.join();
        }
    }
}

/// Clocks are read where [`pick_up`](super::pick_up) reads them: before the fork, and by the thread
/// that has taken it.
struct Words {
    epoch: Instant,
    /// When the last fork was made, in nanoseconds.
    forked: Line,
    /// When it was taken; before that, something earlier.
    taken: Line,
}

/// By itself in what a core fetches at once.
#[derive(Default)]
#[repr(align(128))]
struct Line(AtomicU64);

impl Words {
    fn fork(&self) -> Duration {
        let last = self.taken.0.load(Ordering::Relaxed);
        let forked = self.now().max(last + 1);
        self.forked.0.store(forked, Ordering::Relaxed);
        loop {
            match self.taken.0.load(Ordering::Relaxed).checked_sub(forked) {
                Some(wait) => return Duration::from_nanos(wait),
                None => hint::spin_loop(),
            }
        }
    }

    fn take(&self) {
        let mut last = 0;
        loop {
            let forked = self.forked.0.load(Ordering::Relaxed);
            if forked == last {
                hint::spin_loop();
                continue;
            }
            if forked == END {
                return;
            }
            self.taken.0.store(self.now().max(forked), Ordering::Relaxed);
            last = forked;
        }
    }

    fn now(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }
}

/// No time at which a thread forks.
const END: u64 = u64::MAX;
