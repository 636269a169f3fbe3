//! The driver under the model checker: a worker that sleeps there is woken like any other, and
//! handles its events. A lost wake-up or event shows as a deadlock.

use super::{Driver, Sleep, SleepPolicy};
use crate::latch::{CountLatch, Latch, OnceLatch};
use crate::park::futex;
use crate::prim::{
    AcqRel, AtomicBool, AtomicU32, AtomicUsize, Relaxed, Step, Witness, canary, check, thread,
};
use std::sync::Arc;

const WOKEN: u32 = 1;
const EVENT: u32 = 2;

/// The smallest possible driver: events are one bit.
struct Window {
    word: AtomicU32,
    /// An event that no worker has handled. Only the holder of the lease uses it, so the lease
    /// orders it.
    noted: AtomicBool,
}

impl Window {
    fn new() -> Window {
        Window { word: AtomicU32::new(0), noted: AtomicBool::new(false) }
    }

    fn tell(&self, what: u32) {
        self.word.fetch_or(what, AcqRel);
        futex::wake_one(&self.word);
    }
}

impl Driver for Window {
    fn block(&self) -> bool {
        loop {
            match self.word.swap(0, AcqRel) {
                0 => futex::wait(&self.word, 0),
                seen if seen & EVENT == 0 => return false,
                _ => {
                    self.noted.store(true, Relaxed);
                    return true;
                }
            }
        }
    }

    fn wake(&self) {
        self.tell(WOKEN);
    }

    fn poll(&self) -> bool {
        false
    }

    fn dispatch(&self) -> bool {
        false
    }
}

/// Workers that take jobs, which are only a number, and handle events until they are stopped.
struct Rig {
    sleep: Sleep,
    window: Arc<Window>,
    jobs: AtomicUsize,
    done: CountLatch<OnceLatch>,
}

impl Rig {
    fn new(workers: usize, expected: usize) -> Arc<Rig> {
        let sleep = Sleep::new(SleepPolicy::impatient(), false, 1);
        (0..workers).for_each(|_| {
            sleep.add_bed();
        });
        Arc::new(Rig {
            sleep,
            window: Arc::new(Window::new()),
            jobs: AtomicUsize::new(0),
            done: CountLatch::new(expected, OnceLatch::new()),
        })
    }

    fn plugged(workers: usize, expected: usize) -> Arc<Rig> {
        let rig = Rig::new(workers, expected);
        rig.plug();
        rig
    }

    fn plug(&self) {
        assert!(self.sleep.plug(self.window.clone()));
    }

    fn post(&self) {
        let was_empty = self.jobs.fetch_add(1, Relaxed) == 0;
        self.sleep.new_jobs(1, was_empty);
    }

    fn take(&self) -> bool {
        let mut seen = self.jobs.load(Relaxed);
        while seen > 0 {
            match self.jobs.compare_exchange(seen, seen - 1, Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    fn any(&self) -> bool {
        self.jobs.load(Relaxed) > 0
    }

    fn count(&self) {
        // SAFETY: the rig outlives its threads.
        unsafe { Latch::set(&raw const self.done) };
    }

    /// A worker's main loop; an event counts as a job.
    fn work(&self, index: usize) {
        let bed = self.sleep.own_bed(index);
        let mut idle = self.sleep.start_looking(bed);
        let mut turns = 0;
        while !self.sleep.is_stopping() {
            turns += 1;
            if turns > 3 {
                thread::yield_now();
            }
            if self.take() {
                self.sleep.work_found(bed, idle, || self.any());
                self.count();
                idle = self.sleep.start_looking(bed);
                continue;
            }
            let lease = self.sleep.no_work_found(bed, &mut idle, None, || self.any());
            if lease.is_some() && self.window.noted.load(Relaxed) {
                self.window.noted.store(false, Relaxed);
                self.count();
            }
        }
        self.sleep.work_found(bed, idle, || false);
    }

    fn spawn(self: &Arc<Rig>, index: usize) -> thread::JoinHandle<()> {
        let rig = self.clone();
        thread::spawn(move || rig.work(index))
    }

    /// Waits until all jobs and events are handled, ends the pool and checks the counts.
    fn finish<const N: usize>(&self, workers: [thread::JoinHandle<()>; N]) {
        self.done.inner().wait();
        self.sleep.stop();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        let counts = self.sleep.counters().load();
        assert_eq!((counts.sleeping(), counts.inactive()), (0, 0), "{counts:?}");
        assert!(self.sleep.lease_is_free());
    }
}

/// A job reaches a worker in the driver. Later the pool's end reaches it, too.
fn a_job_for_the_worker_in_the_driver() {
    let rig = Rig::plugged(1, 1);
    let worker = rig.spawn(0);
    rig.post();
    rig.finish([worker]);
}

#[test]
fn sleep_11_a_worker_in_the_driver_is_woken() {
    check(3_000, Some(3), a_job_for_the_worker_in_the_driver);
}

#[test]
fn canary_the_driver_is_chosen_after_falling_asleep() {
    canary(&[Step::SleepDriverFirst], Some(3), a_job_for_the_worker_in_the_driver);
}

/// An event and a job come at the same time.
fn an_event_beside_a_job() {
    let rig = Rig::plugged(1, 2);
    let worker = rig.spawn(0);
    let world = thread::spawn({
        let rig = rig.clone();
        move || rig.window.tell(EVENT)
    });
    rig.post();
    world.join().unwrap();
    rig.finish([worker]);
}

#[test]
fn sleep_11_events_and_wakers_keep_the_books_right() {
    check(3_000, Some(2), an_event_beside_a_job);
}

/// Of two workers that go to sleep, one sleeps in the driver and gets the event.
fn an_event_for_two_workers() {
    let rig = Rig::plugged(2, 1);
    let workers = [rig.spawn(0), rig.spawn(1)];
    rig.window.tell(EVENT);
    rig.finish(workers);
}

#[test]
fn sleep_10_one_of_the_sleepers_is_in_the_driver() {
    check(20_000, Some(2), an_event_for_two_workers);
}

/// The driver comes while the worker goes to sleep.
fn a_driver_for_a_sleeper() {
    let rig = Rig::new(1, 1);
    let worker = rig.spawn(0);
    rig.plug();
    rig.window.tell(EVENT);
    rig.finish([worker]);
}

#[test]
fn sleep_10_a_sleeper_moves_into_a_new_driver() {
    check(1_000, Some(3), a_driver_for_a_sleeper);
}

#[test]
fn canary_a_driver_comes_without_its_fence() {
    canary(&[Step::SleepPlugFence], Some(3), a_driver_for_a_sleeper);
}

/// A driver is plugged in, and two workers use it in turn. Its contents are plain memory.
fn the_lease_is_handed_on() {
    let (rig, inside) = (Rig::new(2, 1), Arc::new(Witness::default()));
    let sit_down = |rig: &Rig, index: usize, inside: &Witness| {
        let bed = rig.sleep.own_bed(index);
        if let Some(lease) = rig.sleep.try_lease(bed) {
            inside.write();
            drop(lease);
        }
    };
    let other = thread::spawn({
        let (rig, inside) = (rig.clone(), inside.clone());
        move || sit_down(&rig, 1, &inside)
    });
    inside.write();
    rig.plug();
    sit_down(&rig, 0, &inside);
    other.join().unwrap();
}

#[test]
fn sleep_14_the_holder_of_the_lease_sees_earlier_work_in_the_driver() {
    check(10, None, the_lease_is_handed_on);
}
