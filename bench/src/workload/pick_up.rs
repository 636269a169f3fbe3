//! How soon an idle worker takes a job from a worker that computes and does not fork again.
//!
//! A scheduler that shares work only at the next fork of the busy worker never shares the job here:
//! the worker that forked the job runs it after its long leaf.

use std::{
    hint,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use super::{Contest, FALL_ASLEEP, Idle, Metric, Pace, Sample, nanoseconds};
use crate::{rival::Rival, stats::percentile};

pub(super) fn open<R: Rival + 'static>(
    workers: usize,
    idle: Idle,
    pace: Pace,
) -> Result<Box<dyn Contest>, String> {
    Ok(Box::new(PickUp { pool: R::build(workers)?, idle, latencies: pace.latencies() }))
}

struct PickUp<R> {
    pool: R,
    idle: Idle,
    latencies: usize,
}

impl<R: Rival> Contest for PickUp<R> {
    fn turn(&mut self) -> Result<Sample, String> {
        let (idle, wanted) = (self.idle, self.latencies);
        let waits: Vec<Option<Duration>> = self.pool.enter(|ctx| {
            let mut waits = Vec::with_capacity(wanted);
            while waits.len() < wanted && !hopeless(&waits) {
                match idle {
                    Idle::Asleep => thread::sleep(FALL_ASLEEP),
                    // After this, the other worker has just finished a job and looks for another
                    // job.
                    Idle::Awake => drop(pick_up::<R>(ctx)),
                }
                waits.push(pick_up::<R>(ctx));
            }
            waits
        });
        Ok(summarise(&waits))
    }
}

/// Forks a job and computes until another thread has taken the job, at most for the length of the
/// leaf. Returns how long that took; `None` if no other thread took the job.
fn pick_up<R: Rival>(ctx: &mut R::Ctx<'_>) -> Option<Duration> {
    let taken = AtomicBool::new(false);
    let leaf_done = AtomicBool::new(false);
    let forked = Instant::now();
    let ((), wait) = R::join(
        ctx,
        |_| {
            while !taken.load(Ordering::Relaxed) && forked.elapsed() < LEAF {
                hint::spin_loop();
            }
            leaf_done.store(true, Ordering::Relaxed);
        },
        |_| {
            let wait = forked.elapsed();
            taken.store(true, Ordering::Relaxed);
            // If the forking thread runs this job itself, it does so after the leaf.
            (!leaf_done.load(Ordering::Relaxed)).then_some(wait)
        },
    );
    wait
}

/// Whether there were at least three attempts and no job was taken.
///
/// Each failed attempt takes a whole leaf. So a rival that always fails would take seconds per
/// turn.
fn hopeless(waits: &[Option<Duration>]) -> bool {
    waits.len() >= 3 && waits.iter().all(Option::is_none)
}

/// Computes percentiles. If a percentile falls among the jobs that no thread took, it is absent.
pub(super) fn summarise(waits: &[Option<Duration>]) -> Sample {
    let waits: Vec<f64> =
        waits.iter().map(|wait| wait.map_or(f64::INFINITY, nanoseconds)).collect();
    [(Metric::StartP50, 50.0), (Metric::StartP99, 99.0)]
        .into_iter()
        .filter_map(|(metric, percent)| Some((metric, percentile(&waits, percent)?)))
        .filter(|(_, value)| value.is_finite())
        .collect()
}

/// How long the forking worker computes without forking again.
const LEAF: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_was_not_taken_has_no_time() {
        let taken = Some(Duration::from_nanos(5));
        assert_eq!(summarise(&[taken; 4])[&Metric::StartP99], 5.0);
        let sample = summarise(&[taken, taken, taken, None]);
        assert_eq!(sample.get(&Metric::StartP50), Some(&5.0));
        assert_eq!(sample.get(&Metric::StartP99), None);
        assert!(summarise(&[None; 3]).is_empty());
    }

    #[test]
    fn gives_up_only_when_nothing_was_ever_taken() {
        assert!(hopeless(&[None; 3]));
        assert!(!hopeless(&[None; 2]));
        assert!(!hopeless(&[None, Some(LEAF), None, None]));
    }
}
