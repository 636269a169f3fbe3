//! What it costs a thread to post one job, with and without a sleeper to wake.
//!
//! The pool has one worker, so that the worker and the poster have a core each even on a machine of
//! two cores.

use std::{
    hint,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use super::{Contest, FALL_ASLEEP, Idle, Metric, Pace, Sample, nanoseconds};
use crate::{
    rival::{Blitz, Condvar, Post, Rayon, RivalKind},
    stats::percentile,
};

pub(super) fn open(
    rival: RivalKind,
    workers: usize,
    worker: Idle,
    pace: Pace,
) -> Result<Box<dyn Contest>, String> {
    match rival {
        RivalKind::Blitz => start::<Blitz>(workers, worker, pace),
        RivalKind::Rayon => start::<Rayon>(workers, worker, pace),
        RivalKind::Condvar => start::<Condvar>(workers, worker, pace),
        RivalKind::Seq | RivalKind::SeqRight | RivalKind::Chili | RivalKind::Forte => {
            Err(format!("{} runs posted jobs on the poster", rival.name()))
        }
        RivalKind::Floor | RivalKind::Halves | RivalKind::Bare | RivalKind::Limit => {
            Err(format!("{} runs neither jobs nor tasks", rival.name()))
        }
        _ if rival.newer().is_some() => Err(format!("{} is run by another program", rival.name())),
        _ => Err(format!("{} runs tasks, not jobs", rival.name())),
    }
}

fn start<P: Post + 'static>(
    workers: usize,
    worker: Idle,
    pace: Pace,
) -> Result<Box<dyn Contest>, String> {
    Ok(Box::new(Posting { pool: P::build(workers)?, workers, worker, posts: pace.latencies() }))
}

struct Posting<P> {
    pool: P,
    workers: usize,
    worker: Idle,
    posts: usize,
}

impl<P: Post> Contest for Posting<P> {
    fn turn(&mut self) -> Result<Sample, String> {
        let wall = match self.worker {
            Idle::Awake => self.while_busy(),
            Idle::Asleep => self.while_asleep(),
        };
        Ok(wall.map(|wall| (Metric::Wall, wall)).into_iter().collect())
    }
}

impl<P: Post> Posting<P> {
    /// Keeps every worker busy and posts thousands of jobs, all of which run afterwards.
    fn while_busy(&self) -> Option<f64> {
        let release = Arc::new(AtomicBool::new(false));
        let busy = Arc::new(AtomicUsize::new(0));
        for _ in 0..self.workers {
            let (release, busy) = (Arc::clone(&release), Arc::clone(&busy));
            self.pool.post(move || {
                busy.fetch_add(1, Ordering::Relaxed);
                while !release.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
            });
        }
        wait_for(&busy, self.workers);

        let posts = self.posts * POSTS_PER_LATENCY;
        let done = Arc::new(AtomicUsize::new(0));
        let start = Instant::now();
        for _ in 0..posts {
            self.post_counted(&done);
        }
        let elapsed = start.elapsed();
        release.store(true, Ordering::Relaxed);
        wait_for(&done, posts);
        Some(nanoseconds(elapsed) / posts as f64)
    }

    /// Lets the workers fall asleep before every post.
    fn while_asleep(&self) -> Option<f64> {
        let done = Arc::new(AtomicUsize::new(0));
        let costs: Vec<f64> = (1..=self.posts)
            .map(|posted| {
                thread::sleep(FALL_ASLEEP);
                let start = Instant::now();
                self.post_counted(&done);
                let cost = nanoseconds(start.elapsed());
                wait_for(&done, posted);
                cost
            })
            .collect();
        percentile(&costs, 50.0)
    }

    fn post_counted(&self, done: &Arc<AtomicUsize>) {
        let done = Arc::clone(done);
        self.pool.post(move || {
            done.fetch_add(1, Ordering::Relaxed);
        });
    }
}

/// Waits until `count` jobs have run, which also checks that none was lost.
fn wait_for(counter: &AtomicUsize, count: usize) {
    while counter.load(Ordering::Relaxed) < count {
        thread::yield_now();
    }
}

/// A post to a busy pool is too short to be timed alone.
const POSTS_PER_LATENCY: usize = 100;
