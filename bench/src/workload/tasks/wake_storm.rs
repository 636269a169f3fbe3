//! Foreign threads that wake the same tasks again and again, in bursts: most wakes come while the
//! task is still queued because of an earlier wake. After a burst all threads wait until every task
//! has run. Otherwise the runtime that lets the tasks wait longest would win.

use std::{
    array,
    sync::{
        Barrier,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    task::Waker,
};

use blitz_contestant::{Metric, Repeat, Repeated, Sample, Spent};

use super::{
    Contest, Pace,
    arrivals::Arrivals,
    crowd::{Crowd, Member, from_threads},
    refuse_if,
};
use crate::runtime::Runtime;

/// How many threads wake tasks.
pub(super) const THREADS: usize = 4;

pub(super) fn open<R: Runtime>(
    runtime: R,
    tasks: usize,
    rounds: usize,
    pace: Pace,
) -> Result<Box<dyn Contest>, String> {
    refuse_if::<R>(true)?;
    let crowd = Crowd::leaked(tasks, Arrivals::leaked(tasks as u64));
    crowd.gather(&runtime);
    let wakers = array::from_fn(|_| crowd.wakers());
    let storm = Storm { crowd, wakers, rounds, turn: 0, polls_per_wake: 0.0, _runtime: runtime };
    Ok(Box::new(Repeated::new(storm, pace).longer(3)))
}

/// A task, with data that shows whether it was polled after the last wake of every thread.
#[derive(Default)]
struct Woken {
    /// For each thread, the turn of its last wake in a burst. The thread writes this before that
    /// wake.
    last: [AtomicU32; THREADS],
    /// The turn in which the task was last counted. Only polls use this word.
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
    /// One list for each thread.
    wakers: [Vec<Waker>; THREADS],
    /// How often a thread wakes each task in a burst.
    rounds: usize,
    turn: u32,
    polls_per_wake: f64,
    _runtime: R,
}

impl<R: Runtime> Repeat for Storm<R> {
    /// A repetition is one burst.
    fn time(&mut self, repetitions: usize) -> Result<Spent, String> {
        let (crowd, wakers, rounds) = (self.crowd, &self.wakers, self.rounds);
        let turns = self.turn + 1..=self.turn + repetitions as u32;
        self.turn += repetitions as u32;
        let before = self.crowd.polls();
        let start = Barrier::new(THREADS);
        let strays = AtomicU64::new(0);
        let clock = from_threads(THREADS, |thread| {
            for turn in turns.clone() {
                // The first thread waits for the tasks, and the others wait for the first.
                let settled = (thread == 0).then(|| crowd.common.expect());
                start.wait();
                burst(crowd, &wakers[thread], thread, rounds, turn);
                if let Some(settled) = settled {
                    // The sender exists until it has sent, so this cannot fail.
                    let _ = settled.blocking_recv();
                    let stray = crowd.common.arrived().abs_diff(crowd.len() as u64);
                    strays.fetch_add(stray, Ordering::Relaxed);
                }
            }
        });
        let spent = clock.stop();

        match strays.into_inner() {
            0 => {}
            strays => {
                return Err(format!(
                    "{strays} tasks were counted twice after the last wake of a burst"
                ));
            }
        }
        let wakes = repetitions as u64 * self.operations();
        self.polls_per_wake = f64::from(self.crowd.polls().wrapping_sub(before)) / wakes as f64;
        Ok(spent)
    }

    fn operations(&self) -> u64 {
        (THREADS * self.rounds * self.crowd.len()) as u64
    }

    fn more(&self) -> Sample {
        Sample::from([(Metric::Polls, self.polls_per_wake)])
    }
}

/// Wakes all tasks `rounds` times. Each thread begins at a place of its own.
fn burst(crowd: &Crowd<Woken>, wakers: &[Waker], thread: usize, rounds: usize, turn: u32) {
    let first = thread * crowd.len() / THREADS;
    for _ in 1..rounds {
        let (later, sooner) = wakers.split_at(first);
        sooner.iter().chain(later).for_each(Waker::wake_by_ref);
    }
    for index in (first..crowd.len()).chain(0..first) {
        crowd.member(index).last[thread].store(turn, Ordering::Release);
        wakers[index].wake_by_ref();
    }
}
