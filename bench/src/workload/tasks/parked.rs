//! Tasks that wait and are all woken at the end. Measures their memory, and their CPU time while
//! nothing happens.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
    thread,
    time::Duration,
};

use super::{Contest, Pace, arrivals::Arrivals};
use crate::{
    machine, os,
    runtime::{Runtime, Tasks},
    workload::{Metric, Sample, nanoseconds},
};

/// Measures the memory of one of `tasks` tasks that wait.
pub(super) fn memory<R: Runtime>(runtime: R, tasks: usize) -> Box<dyn Contest> {
    Box::new(Memory { lot: Lot::leaked(tasks), runtime })
}

/// Measures the CPU time of a process in which `tasks` tasks wait.
pub(super) fn idle<R: Runtime>(runtime: R, tasks: usize, pace: Pace) -> Box<dyn Contest> {
    Box::new(Idle { lot: Lot::leaked(tasks), runtime, time: pace.turn_time() * 4 })
}

struct Memory<R> {
    lot: &'static Lot,
    runtime: R,
}

impl<R: Runtime> Contest for Memory<R> {
    fn turn(&mut self) -> Result<Sample, String> {
        let resident =
            || machine::resident_bytes().ok_or("the memory of a process is not known here");
        self.lot.close();
        let before = resident()?;
        self.lot.fill(&self.runtime);
        let after = resident()?;
        self.lot.release(&self.runtime)?;
        let each = after.saturating_sub(before) as f64 / self.lot.slots.len() as f64;
        Ok(Sample::from([(Metric::Memory, each)]))
    }
}

struct Idle<R> {
    lot: &'static Lot,
    runtime: R,
    time: Duration,
}

impl<R: Runtime> Contest for Idle<R> {
    fn turn(&mut self) -> Result<Sample, String> {
        self.lot.close();
        self.lot.fill(&self.runtime);
        // Let the workers, which have just been busy, go to sleep.
        thread::sleep(self.time);
        let used = idle_cpu(self.time).ok_or("the CPU time of a process is not known here")?;
        self.lot.release(&self.runtime)?;
        let per_second = nanoseconds(used) / self.time.as_secs_f64();
        Ok(Sample::from([(Metric::IdleCpu, per_second.max(1.0))]))
    }
}

/// The CPU time of other threads of this process while this one sleeps.
///
/// The clocks are read in such an order that the time for reading them counts as this thread's.
fn idle_cpu(time: Duration) -> Option<Duration> {
    let own_before = os::thread_cpu_time()?;
    let all_before = os::cpu_time()?;
    thread::sleep(time);
    let all = os::cpu_time()?.saturating_sub(all_before);
    let own = os::thread_cpu_time()?.saturating_sub(own_before);
    Some(all.saturating_sub(own))
}

/// A place for each task to leave its waker, allocated before the memory is measured.
///
/// Why not `pending()`? A task without a waker can never run again, and some runtimes drop it.
struct Lot {
    slots: Vec<Mutex<Option<Waker>>>,
    open: AtomicBool,
    parked: &'static Arrivals,
    left: &'static Arrivals,
}

impl Lot {
    fn leaked(tasks: usize) -> &'static Self {
        // Tasks are started in portions, so that the queues of a runtime do not grow with their
        // number.
        let portion = PORTION.min(tasks);
        let tasks = tasks - tasks % portion;
        Box::leak(Box::new(Self {
            slots: (0..tasks).map(|_| Mutex::new(None)).collect(),
            open: AtomicBool::new(false),
            parked: Arrivals::leaked(portion as u64),
            left: Arrivals::leaked(tasks as u64),
        }))
    }

    fn close(&self) {
        self.open.store(false, Ordering::Relaxed);
    }

    /// Starts a task for every slot and returns when all of them wait.
    fn fill<R: Runtime>(&'static self, runtime: &R) {
        let tasks = runtime.tasks();
        runtime.block_on(async move {
            tasks.spawn(self.fill_with(tasks)).await;
        });
    }

    async fn fill_with<T: Tasks>(&'static self, tasks: T) {
        for portion in (0..self.slots.len()).step_by(PORTION) {
            let parked = self.parked.expect();
            let end = self.slots.len().min(portion + PORTION);
            for slot in portion..end {
                tasks.detach(async move {
                    Parked { lot: self, slot, waits: false }.await;
                    self.left.arrive();
                });
            }
            // This cannot fail, because the counter is never dropped.
            let _ = parked.await;
        }
    }

    /// Wakes every task and waits until all have ended.
    fn release<R: Runtime>(&'static self, runtime: &R) -> Result<(), String> {
        let tasks = runtime.tasks();
        runtime.block_on(async move { tasks.spawn(self.wake_all()).await })?;
        match self.left.arrived() {
            arrived if arrived == self.left.expected() => Ok(()),
            arrived => Err(format!("{arrived} of {} tasks have ended", self.left.expected())),
        }
    }

    async fn wake_all(&'static self) -> Result<(), String> {
        let left = self.left.expect();
        self.open.store(true, Ordering::Relaxed);
        for slot in &self.slots {
            let waker = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
            waker.ok_or("a task has left no waker")?.wake();
        }
        left.await.map_err(|error| error.to_string())
    }
}

/// Waits in a slot until the lot is opened.
struct Parked {
    lot: &'static Lot,
    slot: usize,
    waits: bool,
}

impl Future for Parked {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let lot = self.lot;
        let mut waker = lot.slots[self.slot].lock().unwrap_or_else(PoisonError::into_inner);
        // The thread that opens the lot takes the waker under the same lock afterwards.
        if lot.open.load(Ordering::Relaxed) {
            return Poll::Ready(());
        }
        *waker = Some(context.waker().clone());
        drop(waker);
        if !self.waits {
            self.waits = true;
            lot.parked.arrive();
        }
        Poll::Pending
    }
}

const PORTION: usize = 1_000;
