//! The lowest possible cost of a pick-up: one thread stores a word, and another thread only reads
//! it in a loop.

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
            // A panic was already reported on stderr.
            let _ = taker.join();
        }
    }
}

/// The words that the two threads share. Each thread reads the clock where
/// [`pick_up`](super::pick_up) does: one before the fork, the other after it has taken the fork.
struct Words {
    epoch: Instant,
    /// When the last fork was made, in nanoseconds.
    forked: Line,
    /// When the last fork was taken, in nanoseconds; until then, a time before that fork.
    taken: Line,
}

/// A word alone in the pair of cache lines that a core fetches together.
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

/// A value that ends the taker. No fork has this time.
const END: u64 = u64::MAX;
