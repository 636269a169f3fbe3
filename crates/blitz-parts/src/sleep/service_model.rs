//! Spares and the relief worker under the model checker: a sleeper that finds every worker inactive
//! is right, and the relief worker is notified of tasks.

use super::{Driver, Sleep, SleepPolicy};
use crate::park::futex;
use crate::prim::{
    AcqRel, AtomicU32, AtomicUsize, Relaxed, SeqCst, Step, canary, check, fence, thread,
};
use std::sync::Arc;

struct Rig {
    sleep: Sleep,
    /// Jobs that were forked privately, or tasks.
    jobs: AtomicUsize,
}

impl Rig {
    /// Workers in service, and spares.
    fn new(workers: usize, spares: usize) -> Arc<Rig> {
        let sleep = Sleep::new(SleepPolicy::impatient(), true, 1);
        (0..workers).for_each(|_| _ = sleep.add_bed());
        (0..spares).for_each(|_| _ = sleep.add_spare_bed());
        Arc::new(Rig { sleep, jobs: AtomicUsize::new(0) })
    }

    fn any(&self) -> bool {
        self.jobs.load(Relaxed) > 0
    }

    /// Worker 0 registers as a sleeper and looks. Returns whether it relied on every worker being
    /// inactive, and saw no job.
    fn sleep_and_miss(&self) -> bool {
        let counters = self.sleep.counters();
        counters.add_inactive();
        let seen = loop {
            let seen = counters.load();
            if counters.try_add_sleeping(seen) {
                break seen;
            }
        };
        seen.inactive() >= self.sleep.in_service() && !self.any()
    }

    /// A private fork. Returns whether the worker sees a sleeper.
    fn fork(&self) -> bool {
        self.jobs.store(1, Relaxed);
        self.sleep.counters().peek().sleeping() > 0
    }
}

/// A spare comes into service and forks while the only worker goes to sleep.
fn a_spare_comes() {
    let rig = Rig::new(1, 1);
    let spare = thread::spawn({
        let rig = rig.clone();
        move || {
            let bed = rig.sleep.own_bed(1);
            let idle = rig.sleep.enter_service(bed);
            rig.sleep.work_found(bed, idle, || false);
            rig.fork()
        }
    });
    let misses_job = rig.sleep_and_miss();
    assert!(!misses_job || spare.join().unwrap(), "no thread knows of the job");
}

#[test]
fn sleep_15_a_spare_that_comes_is_counted_before_it_forks() {
    check(10, None, a_spare_comes);
}

#[test]
fn canary_a_spare_is_counted_late() {
    canary(&[Step::SleepEntersFirst], None, a_spare_comes);
}

/// A spare leaves while one worker forks and another worker goes to sleep.
fn a_spare_leaves() {
    let rig = Rig::new(3, 0);
    let idle = rig.sleep.start_looking(rig.sleep.own_bed(2));
    let forks = thread::spawn({
        let rig = rig.clone();
        move || rig.fork()
    });
    let leaves = thread::spawn({
        let rig = rig.clone();
        move || {
            let bed = rig.sleep.own_bed(2);
            rig.sleep.leave_service(bed, idle, || false);
        }
    });
    let misses_job = rig.sleep_and_miss();
    assert!(!misses_job || forks.join().unwrap(), "no thread knows of the job");
    leaves.join().unwrap();
    assert_eq!(rig.sleep.in_service(), 2);
}

#[test]
fn sleep_15_a_spare_that_leaves_is_counted_until_it_is_inactive_no_more() {
    check(10, None, a_spare_leaves);
}

#[test]
fn canary_a_spare_is_counted_out_too_soon() {
    canary(&[Step::SleepLeavesLast], None, a_spare_leaves);
}

/// A driver without events.
struct Still(AtomicU32);

impl Driver for Still {
    fn block(&self) -> bool {
        while self.0.swap(0, AcqRel) == 0 {
            futex::wait(&self.0, 0);
        }
        false
    }

    fn wake(&self) {
        self.0.fetch_or(1, AcqRel);
        futex::wake_one(&self.0);
    }

    fn poll(&self) -> bool {
        false
    }

    fn dispatch(&self) -> bool {
        false
    }
}

/// The relief worker waits in the driver until it has taken `tasks` tasks, or the pool ends.
fn relieve(rig: &Rig, tasks: usize) {
    let bed = rig.sleep.own_bed(0);
    assert!(rig.sleep.begin_relief(0) && !rig.sleep.begin_relief(0));
    let mut taken = 0;
    while taken < tasks && !rig.sleep.is_stopping() {
        if rig.any() {
            rig.jobs.store(0, Relaxed);
            taken += 1;
        } else {
            drop(rig.sleep.wait_on_relief(bed, || rig.any()));
        }
    }
    assert!(rig.sleep.end_relief(0));
}

fn with_driver() -> Arc<Rig> {
    let rig = Rig::new(1, 0);
    assert!(rig.sleep.plug(Arc::new(Still(AtomicU32::new(0)))));
    rig
}

/// A task for the relief worker. If it is lost, the worker waits for ever.
fn a_task_for_relief() {
    let rig = with_driver();
    let worker = thread::spawn({
        let rig = rig.clone();
        move || relieve(&rig, 1)
    });
    rig.jobs.store(1, Relaxed);
    fence(SeqCst);
    rig.sleep.tell_relief();
    worker.join().unwrap();
    assert_eq!(rig.sleep.on_relief(), None);
}

#[test]
fn sleep_16_the_relief_worker_is_notified_of_a_task() {
    check(10, Some(3), a_task_for_relief);
}

#[test]
fn canary_the_relief_worker_is_not_notified() {
    canary(&[Step::SleepReliefTold], Some(3), a_task_for_relief);
}

#[test]
fn canary_the_relief_worker_looks_without_its_fence() {
    canary(&[Step::SleepReliefFence], Some(3), a_task_for_relief);
}

/// The pool ends while the relief worker waits.
fn an_end_for_relief() {
    let rig = with_driver();
    let worker = thread::spawn({
        let rig = rig.clone();
        move || relieve(&rig, usize::MAX)
    });
    rig.sleep.stop();
    worker.join().unwrap();
}

#[test]
fn sleep_6_the_relief_worker_leaves_after_stop() {
    check(10, Some(3), an_end_for_relief);
}

/// A worker goes to sleep while the relief worker leaves. Either the worker sleeps in the driver,
/// or the relief worker sees the sleeper, and can wake it.
fn the_driver_is_left_to_a_sleeper() {
    let rig = Rig::new(2, 0);
    assert!(rig.sleep.plug(Arc::new(Still(AtomicU32::new(0)))));
    assert!(rig.sleep.begin_relief(1));
    let worker = thread::spawn({
        let rig = rig.clone();
        move || {
            rig.sleep_and_miss();
            fence(SeqCst);
            rig.sleep.try_lease(rig.sleep.own_bed(0)).is_some()
        }
    });
    assert!(rig.sleep.end_relief(1));
    let is_seen = rig.sleep.counters().load().sleeping() > 0;
    let in_driver = worker.join().unwrap();
    assert!(is_seen || in_driver, "no worker is in the driver");
}

#[test]
fn sleep_10_a_sleeper_sits_down_in_the_driver_when_the_relief_ends() {
    check(5, None, the_driver_is_left_to_a_sleeper);
}

#[test]
fn canary_a_relief_ends_without_its_fence() {
    canary(&[Step::SleepReliefEndFence], None, the_driver_is_left_to_a_sleeper);
}

/// The watch ends the relief of a worker that is about to return: exactly one of the two ends it.
fn relief_is_taken() {
    let rig = with_driver();
    assert!(rig.sleep.begin_relief(0));
    let watch = thread::spawn({
        let rig = rig.clone();
        move || rig.sleep.end_relief(0)
    });
    let ended = rig.sleep.end_relief(0);
    assert!(ended ^ watch.join().unwrap());
    assert!(rig.sleep.begin_relief(0), "the next relief can begin");
}

#[test]
fn sleep_17_a_relief_ends_once() {
    check(2, None, relief_is_taken);
}

/// A worker stands aside for a relief worker that works. Then the relief worker `ends` its relief,
/// or waits in the driver, where it finds a task.
fn a_worker_stands_aside(ends: bool) {
    let rig = with_driver();
    assert!(rig.sleep.begin_relief(0));
    rig.sleep.relief_runs_on(Some(7));
    let aside = thread::spawn({
        let rig = rig.clone();
        move || {
            rig.sleep.stand_aside(8, || unreachable!("the relief worker runs elsewhere"));
            rig.sleep.stand_aside(7, || false);
        }
    });
    if ends {
        assert!(rig.sleep.end_relief(0));
    } else {
        drop(rig.sleep.wait_on_relief(rig.sleep.own_bed(0), || true));
        assert_eq!(rig.sleep.on_relief(), Some(0), "the relief goes on");
        assert!(rig.sleep.end_relief(0));
    }
    aside.join().unwrap();
}

#[test]
fn sleep_18_a_worker_stands_aside_until_the_relief_worker_waits() {
    check(5, Some(3), || a_worker_stands_aside(false));
}

#[test]
fn sleep_18_a_worker_stands_aside_until_the_relief_ends() {
    check(5, Some(3), || a_worker_stands_aside(true));
}

#[test]
fn canary_a_worker_that_stands_aside_is_not_woken() {
    canary(&[Step::SleepAsideWoken], Some(3), || a_worker_stands_aside(true));
}
