//! Tasks under the model checker: workers with LIFO slot, rings and queue, beside the sleep
//! protocol.
//!
//! A worker follows `blitz-core/sched` step by step; jobs, statistics, fairness between the kinds
//! of work and the limit of polls from the LIFO slot are left out. A task ends in its first poll. A
//! lost wake-up shows as a deadlock.

mod lifo;
mod move_vs_sleep;
mod schedule_vs_sleep;
mod shutdown_vs_schedule;

use super::{Event, give_way};
use crate::lifo::LifoSlot;
use crate::prim::thread;
use crate::queue::fixture::{run, task};
use crate::queue::{Chain, Queue, fair_batch};
use crate::ring::{Pushed, Ring, RingOwner};
use crate::sleep::{Sleep, SleepPolicy};
use crate::task::Runnable;
use crate::tuning::{BATCH_SLOTS, RING_SLOTS};
use std::sync::Arc;

/// The workers of a model and what they share.
struct Crew {
    sleep: Sleep,
    queue: Queue,
    workers: Vec<Queues>,
}

/// One worker's tasks.
struct Queues {
    lifo: LifoSlot,
    batch: Ring<BATCH_SLOTS>,
    ring: Ring<RING_SLOTS>,
}

impl Crew {
    fn new(workers: usize) -> Arc<Crew> {
        Crew::with_fences(workers, true)
    }

    /// `asymmetric`: whether the workers may rely on the asymmetric fence.
    fn with_fences(workers: usize, asymmetric: bool) -> Arc<Crew> {
        let sleep = Sleep::new(SleepPolicy::impatient(), asymmetric, 1);
        let queues = || Queues { lifo: LifoSlot::new(), batch: Ring::new(), ring: Ring::new() };
        let workers = (0..workers).map(|_| queues()).collect();
        let crew = Crew { sleep, queue: Queue::new(), workers };
        crew.workers.iter().for_each(|_| {
            crew.sleep.add_bed();
        });
        Arc::new(crew)
    }

    fn ring(&self, worker: usize) -> RingOwner<'_, RING_SLOTS> {
        // SAFETY: each worker is one thread of the model, and only that thread calls the methods
        // that push to and pop from its rings.
        unsafe { self.workers[worker].ring.owner() }
    }

    fn batch(&self, worker: usize) -> RingOwner<'_, BATCH_SLOTS> {
        // SAFETY: as above.
        unsafe { self.workers[worker].batch.owner() }
    }

    /// `Tasks::schedule`: a task that was woken or spawned on this worker.
    fn schedule(&self, worker: usize, task: Runnable) {
        // SAFETY: as above.
        if let Some(evicted) = unsafe { self.workers[worker].lifo.put(task) } {
            self.put_back(worker, evicted);
            self.sleep.new_task();
        }
    }

    /// Puts a task into the worker's ring, and announces it.
    fn push(&self, worker: usize, task: Runnable) {
        self.put_back(worker, task);
        self.sleep.new_task();
    }

    /// `Tasks::put_back`. It does not announce a task in the ring: `schedule` and `push` do.
    fn put_back(&self, worker: usize, task: Runnable) {
        let refused = match self.ring(worker).push(task) {
            Pushed::Ok => return,
            Pushed::Overflow(chain) => self.queue.push_chain(chain).is_err(),
            Pushed::Busy(task) => self.queue.push(task).is_err(),
        };
        assert!(!refused, "no thread closes the queue while a worker schedules");
        self.sleep.new_jobs(1, true);
    }

    /// `sched::share::schedule_from_outside`; a task that comes too late is cancelled.
    fn schedule_from_outside(&self, task: Runnable) {
        if self.queue.push(task).is_ok() {
            self.sleep.new_jobs(1, true);
        }
    }

    /// `Owner::find`. If `search`, it also looks into the rings of other workers.
    fn find(&self, worker: usize, search: bool) -> Option<Runnable> {
        self.next_task(worker)
            .or_else(|| self.take_queued(worker))
            .or_else(|| if search { self.steal_tasks(worker) } else { None })
    }

    /// `Tasks::next`.
    fn next_task(&self, worker: usize) -> Option<Runnable> {
        let batched = self.batch(worker).pop();
        batched.or_else(|| self.workers[worker].lifo.take()).or_else(|| self.ring(worker).pop())
    }

    /// `Tasks::take_queued`.
    fn take_queued(&self, worker: usize) -> Option<Runnable> {
        let len = self.queue.len();
        if len == 0 {
            return None;
        }
        let room = self.batch(worker).room();
        let wanted = fair_batch(len, self.workers.len()).min(room + 1);
        self.keep_batch(worker, self.queue.pop_batch(wanted))
    }

    /// The second half of `take_queued`: returns one task to run, and puts the others into the
    /// batch buffer.
    fn keep_batch(&self, worker: usize, mut taken: Chain) -> Option<Runnable> {
        let first = taken.next()?;
        let more = !taken.is_empty();
        self.batch(worker).push_from(&mut taken);
        assert!(taken.is_empty(), "there is room");
        if more {
            self.sleep.new_task();
        }
        Some(first)
    }

    /// The search of other workers' rings.
    fn steal_tasks(&self, worker: usize) -> Option<Runnable> {
        let mut victims = (0..self.workers.len()).filter(|&victim| victim != worker);
        victims.find_map(|victim| self.steal_from(worker, victim))
    }

    /// `Tasks::steal_from`.
    fn steal_from(&self, worker: usize, victim: usize) -> Option<Runnable> {
        let theirs = &self.workers[victim];
        let stolen = self.steal_half(worker, &theirs.ring);
        stolen.or_else(|| self.steal_half(worker, &theirs.batch))
    }

    fn steal_half<const N: usize>(&self, worker: usize, ring: &Ring<N>) -> Option<Runnable> {
        let stolen = ring.steal_into(self.ring(worker))?;
        if stolen.count > 1 {
            self.sleep.new_task();
        }
        Some(stolen.first)
    }

    fn has_work(&self) -> bool {
        let has_public = |queues: &Queues| !queues.ring.is_empty() || !queues.batch.is_empty();
        !self.queue.is_empty() || self.workers.iter().any(has_public)
    }

    /// `Owner::run_until_stopped`.
    fn work(&self, worker: usize) {
        loop {
            while let Some(task) = self.find(worker, true) {
                run(task);
            }
            match self.look(worker) {
                Some(task) => run(task),
                None => return,
            }
        }
    }

    /// The idle part of `work`, until there is a task or the pool ends.
    fn look(&self, worker: usize) -> Option<Runnable> {
        let bed = self.sleep.own_bed(worker);
        let mut idle = self.sleep.start_looking(bed);
        let mut turns = 0;
        let found = loop {
            give_way(&mut turns);
            let found = self.find(worker, idle.may_search());
            if found.is_some() || self.sleep.is_stopping() {
                break found;
            }
            self.sleep.no_work_found(bed, &mut idle, None, || self.has_work());
        };
        self.sleep.work_found(bed, idle, || self.has_work());
        found
    }

    /// Starts a worker's main loop on a thread of the model.
    fn start(self: &Arc<Crew>, worker: usize) -> thread::JoinHandle<()> {
        let crew = self.clone();
        thread::spawn(move || crew.work(worker))
    }

    /// Starts a worker that leaves after one task, even if more are left.
    fn start_once(self: &Arc<Crew>, worker: usize) -> thread::JoinHandle<()> {
        let crew = self.clone();
        thread::spawn(move || crew.look(worker).into_iter().for_each(run))
    }

    /// Ends the pool, waits for its workers and checks the counts.
    fn finish<const N: usize>(&self, workers: [thread::JoinHandle<()>; N]) {
        self.sleep.stop();
        self.wait_for(workers);
    }

    /// Waits for workers that leave by themselves, and checks the counts.
    fn wait_for<const N: usize>(&self, workers: [thread::JoinHandle<()>; N]) {
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        let counts = self.sleep.counters().load();
        assert_eq!((counts.sleeping(), counts.inactive()), (0, 0), "{counts:?}");
        assert_eq!(self.sleep.parked_word(0), 0);
        assert!(!self.has_work(), "a task is left");
    }
}

impl Event {
    /// A task that sets this event.
    fn task(&self) -> Runnable {
        let event = self.clone();
        task(move || event.set())
    }

    /// A task that blocks until this event is set.
    fn waiting_task(&self) -> Runnable {
        let event = self.clone();
        task(move || event.wait())
    }
}
