//! The cost of a search that finds no task: in the signal tree, or in the queues of all workers.
//! This workload uses the pool's own parts; nothing else runs.

use std::hint::black_box;

use blitz_contestant::{Clock, Repeat, Repeated, Spent, rng::Rng};
use blitz_parts::{
    bitmap::{Bitmap, Cursor},
    queue::Queue,
    ring::Ring,
    slots::Slots,
    tuning::{BATCH_SLOTS, RING_SLOTS},
};

use super::{Contest, Pace};
use crate::rival::RivalKind;

pub(super) fn open(
    rival: RivalKind,
    workers: usize,
    pace: Pace,
) -> Result<Box<dyn Contest>, String> {
    match rival {
        RivalKind::Signal => Ok(repeat(Tree::new(workers), pace)),
        RivalKind::Blitz => Ok(repeat(Queues::new(workers), pace)),
        kind => Err(format!("the search of {} is not known", kind.name())),
    }
}

/// The place where workers search when they have no task of their own.
trait Place: 'static {
    /// One search by worker 0; `random` decides where it begins. Returns false if there is no task.
    fn look(&self, random: u64) -> bool;
}

/// The signal tree, as the signal scheduler looks at it.
struct Tree {
    signals: Bitmap,
    cursor: Cursor,
    workers: usize,
}

impl Tree {
    fn new(workers: usize) -> Self {
        Self { signals: Bitmap::new(workers), cursor: Cursor::default(), workers }
    }
}

impl Place for Tree {
    fn look(&self, random: u64) -> bool {
        if self.signals.take_own(&self.cursor, 0, self.workers).task.is_some() {
            return true;
        }
        let start = below(random, self.signals.tree().leaf_count());
        self.signals.take_any(&self.cursor, start).task.is_some()
    }
}

/// The queue and the others' rings, as the stealing scheduler looks at them.
struct Queues {
    queue: Queue,
    workers: Slots<Box<Worker>>,
}

/// The rings of a worker. They are padded, as in a real worker.
#[derive(Default)]
struct Worker {
    batch: Ring<BATCH_SLOTS>,
    ring: Ring<RING_SLOTS>,
}

impl Queues {
    fn new(workers: usize) -> Self {
        let table = Slots::new();
        for _ in 0..workers {
            table.add(Box::new(Worker::default()));
        }
        Self { queue: Queue::new(), workers: table }
    }
}

impl Place for Queues {
    fn look(&self, random: u64) -> bool {
        if !self.queue.is_empty() {
            return true;
        }
        let workers = self.workers.len();
        let start = below(random, workers);
        let own = self.workers.get(0).map(|worker| &raw const **worker);
        let found = self.workers.find_from(start, |victim| {
            let is_other = own != Some(&raw const **victim);
            (is_other && !(victim.ring.is_empty() && victim.batch.is_empty())).then_some(())
        });
        found.is_some()
    }
}

/// Scales `random` to a number below `bound` without a division, like the pool's own generator.
fn below(random: u64, bound: usize) -> usize {
    ((u128::from(random) * bound as u128) >> 64) as usize
}

fn repeat<P: Place>(place: P, pace: Pace) -> Box<dyn Contest> {
    Box::new(Repeated::new(Search { place, rng: Rng::new(1) }, pace))
}

struct Search<P> {
    place: P,
    rng: Rng,
}

impl<P: Place> Repeat for Search<P> {
    fn time(&mut self, repetitions: usize) -> Result<Spent, String> {
        let mut found = 0;
        let clock = Clock::start();
        for _ in 0..repetitions as u64 * LOOKS {
            let random = self.rng.next_u64();
            found += u64::from(black_box(&self.place).look(random));
        }
        let spent = clock.stop();
        match found {
            0 => Ok(spent),
            found => Err(format!("found {found} tasks where there are none")),
        }
    }

    fn operations(&self) -> u64 {
        LOOKS
    }
}

const LOOKS: u64 = 1_000;
