//! Foreign threads that wake random tasks, many at a time, and wait until these have run.

use std::{
    array,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    thread::{self, Thread},
};

use blitz_contestant::{Metric, Repeat, Repeated, Sample, Spent, rng::Rng};

use super::{
    Contest, Pace,
    crowd::{Crowd, Member, from_threads},
    refuse_if,
};
use crate::runtime::Runtime;

/// How many threads wake tasks.
const THREADS: usize = 2;
/// The maximum number of tasks that one thread has woken and that wait to run.
///
/// At this number the thread waits until half of them have run. The number is small enough that
/// tasks run while others are woken, and large enough that blocking costs little per wake.
const WINDOW: u32 = 1_024;
/// How many tasks each thread wakes in one repetition.
const WAKES: u32 = 1_000;

pub(super) fn open<R: Runtime>(
    runtime: R,
    tasks: usize,
    pace: Pace,
) -> Result<Box<dyn Contest>, String> {
    refuse_if::<R>(true)?;
    let crowd = Crowd::leaked(tasks, array::from_fn(|_| Ran::default()));
    crowd.gather(&runtime);
    let wakes = RandomWakes { crowd, turn: 0, polls_per_wake: 0.0, _runtime: runtime };
    Ok(Box::new(Repeated::new(wakes, pace).longer(2)))
}

/// Counts the runs of tasks that one thread has woken, and unparks that thread at the count for
/// which it waits.
#[repr(align(64))]
#[derive(Default)]
struct Ran {
    count: AtomicU32,
    awaited: AtomicU32,
    thread: Mutex<Option<Thread>>,
}

impl Ran {
    /// Counts a task that has run.
    #[inline]
    fn one_more(&self) {
        // This access and those of `wait_for` are sequentially consistent. So either the waiter
        // sees this count, or this thread sees the count for which the waiter waits.
        let count = self.count.fetch_add(1, Ordering::SeqCst).wrapping_add(1);
        if count == self.awaited.load(Ordering::SeqCst) {
            self.unpark();
        }
    }

    #[cold]
    fn unpark(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        thread.as_ref().expect("a waiter has stored its thread").unpark();
    }

    /// Makes the calling thread the thread that waits.
    fn enter(&self) {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        *thread = Some(thread::current());
    }

    /// Waits until the count has reached `count`.
    fn wait_for(&self, count: u32) {
        self.awaited.store(count, Ordering::SeqCst);
        // The count wraps around, so `count` is still ahead if it is less than half the range away.
        let ahead = || count.wrapping_sub(self.count.load(Ordering::SeqCst));
        while (1..u32::MAX / 2).contains(&ahead()) {
            thread::park();
        }
    }
}

/// The counts of one task, one of each kind per waking thread.
#[derive(Default)]
struct Woken {
    /// How often it was woken; written before the wake.
    asked: [AtomicU32; THREADS],
    /// How many of these wakes it has answered. Only polls write it.
    answered: [AtomicU32; THREADS],
}

impl Member for Woken {
    type Common = [Ran; THREADS];

    #[inline]
    fn polled(crowd: &'static Crowd<Self>, index: usize) {
        let this = crowd.member(index);
        for ((asked, answered), ran) in this.asked.iter().zip(&this.answered).zip(&crowd.common) {
            let asked = asked.load(Ordering::Acquire);
            if asked != answered.load(Ordering::Relaxed) {
                answered.store(asked, Ordering::Release);
                ran.one_more();
            }
        }
    }
}

struct RandomWakes<R> {
    crowd: &'static Crowd<Woken>,
    turn: u64,
    polls_per_wake: f64,
    _runtime: R,
}

impl<R: Runtime> Repeat for RandomWakes<R> {
    fn time(&mut self, repetitions: usize) -> Result<Spent, String> {
        self.turn += 1;
        let (crowd, turn) = (self.crowd, self.turn);
        let before = self.crowd.polls();
        let clock = from_threads(THREADS, |thread| {
            let rng = Rng::new(turn * THREADS as u64 + thread as u64);
            wake_at_random(crowd, thread, repetitions as u32 * WAKES, rng);
        });
        let spent = clock.stop();

        let answers = |task: &Woken| {
            let count = |counts: &[AtomicU32; THREADS]| {
                counts.each_ref().map(|count| count.load(Ordering::Relaxed))
            };
            count(&task.asked) == count(&task.answered)
        };
        if !crowd.members().all(answers) {
            return Err("a task was woken and has not run".to_owned());
        }
        let wakes = repetitions as u64 * self.operations();
        self.polls_per_wake = f64::from(self.crowd.polls().wrapping_sub(before)) / wakes as f64;
        Ok(spent)
    }

    fn operations(&self) -> u64 {
        THREADS as u64 * u64::from(WAKES)
    }

    fn more(&self) -> Sample {
        Sample::from([(Metric::Polls, self.polls_per_wake)])
    }
}

/// Wakes random tasks, `wakes` times, and returns when all of them have run.
fn wake_at_random(crowd: &Crowd<Woken>, thread: usize, wakes: u32, mut rng: Rng) {
    let ran = &crowd.common[thread];
    ran.enter();
    let already = ran.count.load(Ordering::Acquire);
    // How many tasks have run, as far as this thread knows.
    let mut seen = 0;
    for woken in 1..=wakes {
        crowd.wake(ask_one(crowd, thread, &mut rng));
        if woken - seen >= WINDOW {
            seen = ran.count.load(Ordering::Acquire).wrapping_sub(already);
            if woken - seen >= WINDOW {
                seen = woken - WINDOW / 2;
                ran.wait_for(already.wrapping_add(seen));
            }
        }
    }
    ran.wait_for(already.wrapping_add(wakes));
}

/// Chooses a task for the caller to wake, and counts that wake. The task has answered all earlier
/// wakes of this thread, so that a run follows each wake.
fn ask_one(crowd: &Crowd<Woken>, thread: usize, rng: &mut Rng) -> usize {
    loop {
        let index = rng.next_u64() as usize % crowd.len();
        let task = crowd.member(index);
        let asked = task.asked[thread].load(Ordering::Relaxed);
        if task.answered[thread].load(Ordering::Acquire) == asked {
            task.asked[thread].store(asked.wrapping_add(1), Ordering::Release);
            return index;
        }
    }
}
