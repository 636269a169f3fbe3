//! Signalling, taking and sleeping on the real machine.

use crate::bitmap::arena::SLOTS_PER_LEAF;
use crate::bitmap::{Bitmap, Cursor, Scan, SlotCache, Told};
use crate::prim::{AtomicUsize, Relaxed};
use crate::queue::fixture::{run, task};
use crate::task::Runnable;
use std::sync::{Arc, Condvar, Mutex};

const SETTERS: usize = 3;
const WORKERS: usize = 3;

/// Tasks that count their runs, and workers that sleep on a condition variable.
struct Crowd {
    signals: Bitmap,
    ran: Arc<Vec<AtomicUsize>>,
    /// For each task: a word that is written before the task is signalled.
    written: Arc<Vec<AtomicUsize>>,
    left: AtomicUsize,
    /// For each worker: whether it lies in its bed.
    beds: Mutex<[bool; WORKERS]>,
    woken: Condvar,
}

impl Crowd {
    fn new(count: usize) -> Crowd {
        let counters = || Arc::new((0..count).map(|_| AtomicUsize::new(0)).collect::<Vec<_>>());
        Crowd {
            signals: Bitmap::new(WORKERS),
            ran: counters(),
            written: counters(),
            left: AtomicUsize::new(count),
            beds: Mutex::new([false; WORKERS]),
            woken: Condvar::new(),
        }
    }

    /// Creates a task in a slot of its own. The task counts its run if it sees the word that was
    /// written for it.
    fn task(&self, number: usize, stock: &mut SlotCache) -> Runnable {
        let (ran, written) = (self.ran.clone(), self.written.clone());
        let task = task(move || {
            ran[number].fetch_add(written[number].load(Relaxed), Relaxed);
        });
        task.set_place(self.signals.reserve(stock, WORKERS, task.header()));
        task
    }

    fn signal(&self, number: usize, task: Runnable) {
        self.written[number].store(1, Relaxed);
        self.act_on(self.signals.signal(task, || false).told);
    }

    fn act_on(&self, told: Told) {
        match told {
            Told::Nobody => {}
            Told::WakeOne => {
                let mut beds = self.beds.lock().unwrap();
                if let Some(bed) = beds.iter_mut().find(|bed| **bed) {
                    *bed = false;
                    self.woken.notify_all();
                }
            }
            Told::Closed => unreachable!("no thread closes it"),
        }
    }

    /// Runs tasks until all have been run. The slot of each task goes to the worker's slot cache.
    fn work(&self, worker: usize) {
        let (cursor, mut stock) = (Cursor::default(), SlotCache::of_worker(worker));
        while self.left.load(Relaxed) > 0 {
            let mut scan = self.signals.take_own(&cursor, worker, WORKERS);
            if scan.task.is_none() {
                self.tell(&mut scan);
                scan = self.signals.take_any(&cursor, worker);
            }
            self.tell(&mut scan);
            let Some(task) = scan.task else {
                self.sleep(worker);
                continue;
            };
            let slot = task.place().map(|place| self.signals.identity(place)).unwrap();
            run(task);
            assert!(self.signals.free(&mut stock, slot));
            if self.left.fetch_sub(1, Relaxed) == 1 {
                *self.beds.lock().unwrap() = [false; WORKERS];
                self.woken.notify_all();
            }
        }
    }

    fn tell(&self, scan: &mut Scan) {
        if let Some(marked) = scan.again.take() {
            self.act_on(self.signals.tell(marked, || false));
        }
    }

    /// Sleeps until there is a task, or all tasks have run.
    fn sleep(&self, worker: usize) {
        self.beds.lock().unwrap()[worker] = true;
        let sleeper = self.signals.lie_down();
        let any = self.signals.has_task();
        let mut beds = self.beds.lock().unwrap();
        if any || self.left.load(Relaxed) == 0 {
            beds[worker] = false;
        }
        while beds[worker] {
            beds = self.woken.wait(beds).unwrap();
        }
        drop(beds);
        let _permit = self.signals.get_up(sleeper);
    }

    fn assert_done(&self) {
        assert!(self.ran.iter().all(|times| times.load(Relaxed) == 1));
        assert_eq!((self.signals.count(), self.signals.tenants().len()), (0, 0));
        assert!(self.signals.take_any(&Cursor::default(), 0).task.is_none());
        assert!(!self.signals.has_any());
        let tree = self.signals.tree();
        assert_eq!((tree.sleepers(), tree.permits()), (0, 0));
    }
}

#[test]
fn bitmap_1_setters_and_workers_run_every_task_once() {
    const EACH: usize = 3 * SLOTS_PER_LEAF;
    let crowd = Crowd::new(SETTERS * EACH);
    std::thread::scope(|scope| {
        let crowd = &crowd;
        (0..WORKERS).for_each(|worker| {
            scope.spawn(move || crowd.work(worker));
        });
        for setter in 0..SETTERS {
            scope.spawn(move || {
                let mut stock = SlotCache::of_worker(setter);
                for number in setter * EACH..(setter + 1) * EACH {
                    crowd.signal(number, crowd.task(number, &mut stock));
                }
            });
        }
    });
    crowd.assert_done();
}

#[test]
fn bitmap_2_takers_see_what_was_written_before_the_signal() {
    const COUNT: usize = 2 * SLOTS_PER_LEAF;
    let crowd = Crowd::new(COUNT);
    // All tasks have slots before the first is signalled, so that setters and takers share only the
    // tree.
    let mut stock = SlotCache::of_worker(0);
    let tasks: Vec<_> = (0..COUNT).map(|number| (number, crowd.task(number, &mut stock))).collect();
    std::thread::scope(|scope| {
        let crowd = &crowd;
        (0..WORKERS).for_each(|worker| {
            scope.spawn(move || crowd.work(worker));
        });
        for (number, task) in tasks {
            crowd.signal(number, task);
        }
    });
    // Each task has counted the words that it saw.
    crowd.assert_done();
}

#[test]
fn bitmap_4_no_sleeper_misses_the_only_task() {
    const ROUNDS: usize = 5_000;
    let crowd = Crowd::new(ROUNDS);
    std::thread::scope(|scope| {
        let crowd = &crowd;
        (0..WORKERS).for_each(|worker| {
            scope.spawn(move || crowd.work(worker));
        });
        let mut stock = SlotCache::of_worker(0);
        for number in 0..ROUNDS {
            let task = crowd.task(number, &mut stock);
            crowd.signal(number, task);
            while crowd.left.load(Relaxed) > ROUNDS - 1 - number {
                std::thread::yield_now();
            }
        }
    });
    crowd.assert_done();
}
