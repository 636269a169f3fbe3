//! Models of several parts together: the smallest possible crew of workers.
//!
//! A worker of the crew follows `blitz-core/worker` step by step, on the real deque, injector,
//! jobs, latches and sleep protocol. Statistics, mail, leapfrogging, the driver and the random
//! start of a search are left out; tasks have a crew of their own (`tasks`). A method that follows
//! one function of `blitz-core` names this function. A lost wake-up shows as a deadlock.

mod bitmap_vs_sleep;
mod cascade;
mod latch_set_vs_sleep;
mod post_vs_sleep;
mod private_push_vs_sleep;
mod shutdown_vs_sleep;
mod steal_vs_pop_vs_sleep;
mod tasks;

use crate::barrier;
use crate::deque::{Deque, Mark, Owner, Published, Steal};
use crate::inject::Injector;
use crate::job::{Header, HeapJob, Work};
use crate::latch::{JobLatch, Latch, OnceLatch};
use crate::prim::{AtomicU64, Relaxed, SeqCst, Step, broken, fence, thread};
use crate::sleep::{Bed, Idle, Sleep, SleepPolicy};
use core::ptr::NonNull;
use std::sync::Arc;

/// The workers of a model and what they share.
struct Crew {
    sleep: Sleep,
    injector: Injector,
    deques: Vec<Deque<Header>>,
    /// For each worker: how many jobs it had pushed when a thief last tried to force its deque.
    watched: Vec<AtomicU64>,
}

/// How hard to look for jobs, as in `blitz-core/worker/find`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Public,
    Hard,
}

impl Crew {
    fn new(workers: usize) -> Arc<Crew> {
        let sleep = Sleep::new(SleepPolicy::impatient(), true, 1);
        let deques = (0..workers).map(|_| Deque::new()).collect();
        (0..workers).for_each(|_| {
            sleep.add_bed();
        });
        let watched = (0..workers).map(|_| AtomicU64::new(u64::MAX)).collect();
        Arc::new(Crew { sleep, injector: Injector::new(), deques, watched })
    }

    fn bed(&self, worker: usize) -> &Bed {
        self.sleep.bed(worker).expect("a worker of this crew")
    }

    fn own(&self, worker: usize) -> Owner<'_, Header> {
        // SAFETY: each worker is one thread of the model, and only that thread calls the methods
        // that push to and pop from its deque.
        unsafe { self.deques[worker].owner() }
    }

    /// `Team::inject`: a job from outside.
    fn inject(&self, work: Work) {
        let was_empty = self.injector.push(work);
        self.sleep.new_jobs(1, was_empty);
    }

    /// `Jobs::push`.
    fn push(&self, worker: usize, work: Work) {
        let count = self.own(worker).push(work.into_raw(), self.arm(worker));
        fence(SeqCst);
        if self.sleep.counters().peek().anyone_inactive()
            && self.deques[worker].public_len() <= count
        {
            self.sleep.new_jobs(1, true);
        }
    }

    /// `Jobs::fork`, for a job that another worker takes while the caller waits for it. If a model
    /// forks two jobs, it has to create both before it forks the first. The first job frees its
    /// memory when it runs, so a job created later could get the same address, and two forks must
    /// not have the same address.
    fn fork(&self, worker: usize, work: Work) {
        self.fork_privately(worker, work);
        self.share_if_wanted(worker);
    }

    /// Forks like `fork`, but for a worker whose published jobs were not stolen before. Such a
    /// worker keeps its forks private while another worker searches: that worker will find them.
    fn fork_and_keep(&self, worker: usize, work: Work) {
        self.fork_privately(worker, work);
        if self.sleep.counters().load().awake_but_idle() == 0 {
            self.share_if_wanted(worker);
        }
    }

    fn fork_privately(&self, worker: usize, work: Work) {
        // SAFETY: the job stays where it is until it has run, and the owner waits for that.
        let _ = unsafe { self.own(worker).fork(work.into_raw()) };
        barrier::light();
    }

    fn share_if_wanted(&self, worker: usize) {
        if self.sleep.counters().peek().anyone_inactive() && !self.own(worker).has_public() {
            let idle = self.sleep.counters().load().awake_but_idle();
            let published = self.publish(worker, |private| private.div_ceil(2).max(idle));
            if published.count > 0 {
                self.sleep.new_jobs(1, published.was_empty);
            }
        }
    }

    fn publish(&self, worker: usize, wanted: impl FnOnce(usize) -> usize) -> Published {
        self.own(worker).publish(wanted, self.arm(worker))
    }

    fn arm(&self, worker: usize) -> impl Fn(NonNull<Header>) + '_ {
        let bed = NonNull::from(self.bed(worker));
        // SAFETY: the deque calls this closure for a job that no other thread can see yet (JOB-5).
        move |job| unsafe { Header::arm(job, bed) }
    }

    /// `Owner::find`.
    fn find(&self, worker: usize, look: Look) -> Option<Work> {
        self.pop(worker).or_else(|| self.find_elsewhere(worker, look))
    }

    fn find_elsewhere(&self, worker: usize, look: Look) -> Option<Work> {
        self.take_injected(worker).or_else(|| self.steal(worker, look))
    }

    fn pop(&self, worker: usize) -> Option<Work> {
        self.pop_above(worker, Mark::START)
    }

    fn pop_above(&self, worker: usize, mark: Mark<Header>) -> Option<Work> {
        self.own(worker).pop_above(mark).map(taken)
    }

    fn take_oldest(&self, worker: usize) -> Option<Work> {
        let deque = &self.deques[worker];
        if deque.is_empty() {
            return None;
        }
        if deque.public_len() == 0 {
            let _ = self.publish(worker, |_| 1);
        }
        self.give(worker)
    }

    fn take_injected(&self, worker: usize) -> Option<Work> {
        if self.injector.is_empty() {
            return None;
        }
        let mut batch = self.injector.take_all();
        let first = batch.next()?;
        for work in batch {
            self.push(worker, work);
        }
        Some(first)
    }

    fn steal(&self, worker: usize, look: Look) -> Option<Work> {
        let victims = || (0..self.deques.len()).filter(|&victim| victim != worker);
        let public = victims().find_map(|victim| self.give(victim));
        match look {
            Look::Public => public,
            Look::Hard => public.or_else(|| {
                victims()
                    .find_map(|victim| if self.force(victim) { self.give(victim) } else { None })
            }),
        }
    }

    fn force(&self, victim: usize) -> bool {
        let deque = &self.deques[victim];
        let pushes = deque.pushes();
        deque.has_private()
            && self.watched[victim].swap(pushes, Relaxed) == pushes
            && self.force_and_tell(victim)
    }

    /// The last steps of `Jobs::force`.
    fn force_and_tell(&self, victim: usize) -> bool {
        let forced = self.deques[victim].force(self.arm(victim));
        if forced && !broken(Step::SleepForceTells) {
            self.sleep.new_jobs(1, true);
        }
        forced
    }

    fn give(&self, victim: usize) -> Option<Work> {
        loop {
            match self.deques[victim].steal() {
                Steal::Success(job) => return Some(taken(job)),
                Steal::Empty => return None,
                Steal::Retry => {}
            }
        }
    }

    fn has_work(&self) -> bool {
        !self.injector.is_empty() || self.deques.iter().any(|deque| !deque.is_empty())
    }

    /// `Owner::run_until_stopped`.
    fn work(&self, worker: usize) {
        let bed = self.sleep.own_bed(worker);
        loop {
            while let Some(work) = self.find(worker, Look::Public) {
                work.run(None);
            }
            let mut idle = self.sleep.start_looking(bed);
            let mut turns = 0;
            let found = loop {
                give_way(&mut turns);
                if self.sleep.is_stopping() {
                    break None;
                }
                let look = if idle.is_sleepy() { Look::Hard } else { Look::Public };
                if let Some(work) = self.find(worker, look) {
                    break Some(work);
                }
                self.sleep.no_work_found(bed, &mut idle, None, || self.has_work());
            };
            self.sleep.work_found(bed, idle, || self.has_work());
            match found {
                Some(work) => work.run(None),
                None => return,
            }
        }
    }

    /// Works like `work` until the worker has run one job. Then the worker leaves, even if more
    /// jobs are left.
    fn work_once(&self, worker: usize) {
        let bed = self.sleep.own_bed(worker);
        let mut idle = self.sleep.start_looking(bed);
        let mut turns = 0;
        let work = loop {
            give_way(&mut turns);
            let look = if idle.is_sleepy() { Look::Hard } else { Look::Public };
            if let Some(work) = self.find(worker, look) {
                break work;
            }
            self.sleep.no_work_found(bed, &mut idle, None, || self.has_work());
        };
        self.sleep.work_found(bed, idle, || self.has_work());
        work.run(None);
    }

    /// `Owner::wait_helping_all`.
    fn wait_helping_all(&self, worker: usize, latch: &JobLatch, mark: Mark<Header>) {
        let bed = self.sleep.own_bed(worker);
        let stop_looking = |idle: &mut Option<Idle>| {
            if let Some(idle) = idle.take() {
                self.sleep.work_found(bed, idle, || self.has_work());
            }
        };
        let mut idle: Option<Idle> = None;
        let mut turns = 0;
        while !latch.probe() {
            give_way(&mut turns);
            let look = match &idle {
                Some(idle) if idle.is_sleepy() => Look::Hard,
                _ => Look::Public,
            };
            let found = self
                .pop_above(worker, mark)
                .or_else(|| self.take_oldest(worker))
                .or_else(|| self.find_elsewhere(worker, look));
            if let Some(work) = found {
                stop_looking(&mut idle);
                work.run(None);
                continue;
            }
            let idle = idle.get_or_insert_with(|| self.sleep.start_looking(bed));
            self.sleep.no_work_found(bed, idle, Some(latch), || self.has_work());
        }
        stop_looking(&mut idle);
    }

    /// `Owner::wait_within`, for a job without descendants.
    fn wait_parked(&self, worker: usize, latch: &JobLatch) {
        let mut turns = 0;
        while !latch.probe() {
            give_way(&mut turns);
            self.sleep.wait_parked(self.sleep.own_bed(worker), latch, || false, || self.has_work());
        }
    }

    /// Starts a worker's main loop on a thread of the model.
    fn start(self: &Arc<Crew>, worker: usize) -> thread::JoinHandle<()> {
        let crew = self.clone();
        thread::spawn(move || crew.work(worker))
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
        assert!(!self.has_work(), "work is left");
    }
}

fn taken(job: NonNull<Header>) -> Work {
    // SAFETY: each item of a deque came from `Work::into_raw`, and by DEQUE-1 it leaves once.
    unsafe { Work::new(job) }
}

fn job(closure: impl FnOnce() + 'static) -> Work {
    // SAFETY: the closure borrows nothing, and all threads of a model run on one real thread. It
    // unwinds only where a model has failed.
    unsafe { HeapJob::into_work(closure) }
}

/// An event that one thread waits for: a thread outside the pool, or a job that blocks.
#[derive(Clone)]
struct Event(Arc<OnceLatch>);

impl Event {
    fn new() -> Event {
        Event(Arc::new(OnceLatch::new()))
    }

    fn set(&self) {
        // SAFETY: `self` keeps the latch alive.
        unsafe { OnceLatch::set(&raw const *self.0) };
    }

    fn wait(&self) {
        self.0.wait();
    }

    /// A job that sets this event.
    fn setter(&self) -> Work {
        let event = self.clone();
        job(move || event.set())
    }
}

/// Called in every turn of an idle loop. After a few turns without work, the call lets other
/// threads run (see `sleep/model`).
fn give_way(turns: &mut u32) {
    *turns += 1;
    if *turns > 3 {
        thread::yield_now();
    }
}
