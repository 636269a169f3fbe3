//! Foreign threads that wake the same tasks again and again: most wakes come while the task is
//! still queued because of an earlier one.

use std::sync::atomic::{AtomicU32, Ordering};

use blitz_contestant::{Metric, Repeat, Repeated, Sample, Spent};

use super::{
    Contest, Pace,
    arrivals::Arrivals,
    crowd::{Crowd, Member, from_threads},
    refuse_if,
};
use crate::runtime::Runtime;

/// How many threads wake.
pub(super) const THREADS: usize = 4;

pub(super) fn open<R: Runtime>(
    runtime: R,
    tasks: usize,
    pace: Pace,
) -> Result<Box<dyn Contest>, String> {
    refuse_if::<R>(true)?;
    let crowd = Crowd::leaked(tasks, Arrivals::leaked(tasks as u64));
    crowd.gather(&runtime);
    let storm = Storm { crowd, turn: 0, polls_per_wake: 0.0, _runtime: runtime };
    Ok(Box::new(Repeated::new(storm, pace).longer(3)))
}

/// A task, and what shows that it was polled after the last wake of every thread.
#[derive(Default)]
struct Woken {
    /// The turn in which each thread has woken it for the last time; written before that wake.
    last: [AtomicU32; THREADS],
    /// The turn that it has arrived in. Only polls touch it.
    arrived: AtomicU32,
}

impl Member for Woken {
    type Common = &'static Arrivals;

    #[inline]
    fn polled(crowd: &'static Crowd<Self>, index: usize) {
        let this = crowd.member(index);
        let turn = this.last[0].load(Ordering::Acquire);
        let is_last = this.last.iter().all(|last| last.load(Ordering::Acquire) == turn);
        if is_last && turn != this.arrived.load(Ordering::Relaxed) {
            this.arrived.store(turn, Ordering::Relaxed);
            crowd.common.arrive();
        }
    }
}

struct Storm<R> {
    crowd: &'static Crowd<Woken>,
    turn: u32,
    polls_per_wake: f64,
    _runtime: R,
}

impl<R: Runtime> Repeat for Storm<R> {
    /// A repetition is one round of each thread over all tasks.
    fn time(&mut self, repetitions: usize) -> Result<Spent, String> {
        self.turn += 1;
        let (crowd, turn) = (self.crowd, self.turn);
        let before = self.crowd.polls();
        let settled = crowd.common.expect();
        let clock = from_threads(THREADS, |thread| wake_all(crowd, thread, repetitions, turn));
        settled.blocking_recv().map_err(|error| error.to_string())?;
        let spent = clock.stop();

        let arrived = crowd.common.arrived();
        if arrived != crowd.len() as u64 {
            return Err(format!("{arrived} of {} tasks were polled after all", crowd.len()));
        }
        let wakes = repetitions as u64 * self.operations();
        self.polls_per_wake = f64::from(self.crowd.polls().wrapping_sub(before)) / wakes as f64;
        Ok(spent)
    }

    fn operations(&self) -> u64 {
        (THREADS * self.crowd.len()) as u64
    }

    fn more(&self) -> Sample {
        Sample::from([(Metric::Polls, self.polls_per_wake)])
    }
}

/// Each thread begins at a place of its own.
fn wake_all(crowd: &Crowd<Woken>, thread: usize, rounds: usize, turn: u32) {
    let first = thread * crowd.len() / THREADS;
    let around = || (first..crowd.len()).chain(0..first);
    for _ in 1..rounds {
        around().for_each(|index| crowd.wake(index));
    }
    for index in around() {
        crowd.member(index).last[thread].store(turn, Ordering::Release);
        crowd.wake(index);
    }
}
