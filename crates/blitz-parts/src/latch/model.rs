//! The latches under the model checker. The models of workers that sleep are in `sleep/model`.

use super::{CoreLatch, CountLatch, JobLatch, Latch, Notice, OnceLatch};
use crate::prim::{AtomicUsize, Relaxed, Step, canary, check, thread};
use crate::sleep::{Sleep, SleepPolicy};
use core::ptr::NonNull;
use std::sync::Arc;

/// A latch and a word that is written before the latch is set.
struct Rig<L> {
    latch: L,
    written: AtomicUsize,
}

impl<L> Rig<L> {
    fn new(latch: L) -> Arc<Rig<L>> {
        Arc::new(Rig { latch, written: AtomicUsize::new(0) })
    }

    fn write_and_set(&self)
    where
        L: Latch,
    {
        self.written.fetch_add(1, Relaxed);
        // SAFETY: the rig is alive while a thread holds it.
        unsafe { L::set(&raw const self.latch) };
    }
}

fn one_bed() -> Sleep {
    let sleep = Sleep::new(SleepPolicy::impatient(), true, 1);
    sleep.add_bed();
    sleep
}

/// A worker that is awake probes a latch while another thread sets it.
fn job_latch_publishes_earlier_writes() {
    let sleep = one_bed();
    let rig = Rig::new(JobLatch::new(NonNull::from(sleep.bed(0).expect("one bed"))));
    let setter = thread::spawn({
        let rig = rig.clone();
        move || rig.write_and_set()
    });
    if rig.latch.probe() {
        assert_eq!(rig.written.load(Relaxed), 1);
    }
    setter.join().unwrap();
    assert!(rig.latch.probe());
}

#[test]
fn latch_1_a_probe_sees_writes_from_before_set() {
    check(4, None, job_latch_publishes_earlier_writes);
}

#[test]
fn canary_probe_without_acquire() {
    canary(&[Step::LatchProbeAcquire], None, job_latch_publishes_earlier_writes);
}

/// A worker resets the latch and looks: it sees what the setter wrote, or finds the latch set
/// again.
fn reset_against_set() {
    let sleep = one_bed();
    let rig = Rig::new(JobLatch::new(NonNull::from(sleep.bed(0).expect("one bed"))));
    let setter = thread::spawn({
        let rig = rig.clone();
        move || rig.write_and_set()
    });
    rig.latch.reset();
    let seen = rig.written.load(Relaxed);
    setter.join().unwrap();
    assert!(seen == 1 || rig.latch.probe(), "the worker misses the setter's writes");
}

#[test]
fn latch_1_a_reset_sees_writes_from_before_set() {
    check(3, None, reset_against_set);
}

/// The waiter frees a latch as soon as the latch is set. The setter may still be inside `set` then.
/// The checker reports a word that is used while it is freed, or later.
fn the_waiter_frees_the_latch() {
    let latch = Box::into_raw(Box::new(OnceLatch::new()));
    let address = latch as usize;
    let setter = thread::spawn(move || {
        // SAFETY: the latch is alive until it is set.
        unsafe { OnceLatch::set(address as *const OnceLatch) };
    });
    // SAFETY: the latch came from a box, and only this thread frees it.
    let latch = unsafe { Box::from_raw(latch) };
    latch.wait();
    drop(latch);
    setter.join().unwrap();
}

#[test]
fn latch_2_a_latch_may_go_as_soon_as_it_is_set() {
    check(25, None, the_waiter_frees_the_latch);
}

/// A foreign thread blocks for a latch.
fn a_foreign_thread_waits() {
    let rig = Rig::new(OnceLatch::new());
    let setter = thread::spawn({
        let rig = rig.clone();
        move || rig.write_and_set()
    });
    rig.latch.wait();
    assert_eq!(rig.written.load(Relaxed), 1);
    setter.join().unwrap();
}

#[test]
fn latch_3_the_setter_wakes_a_foreign_thread() {
    check(25, None, a_foreign_thread_waits);
}

#[test]
fn canary_the_setter_does_not_wake_a_foreign_thread() {
    canary(&[Step::LatchSetWake], None, a_foreign_thread_waits);
}

/// A latch that counts how often it is set.
struct Sets(AtomicUsize);

impl Latch for Sets {
    unsafe fn set(this: *const Self) {
        // SAFETY: the models keep the latch alive until all threads have ended.
        unsafe { &*this }.0.fetch_add(1, Relaxed);
    }
}

/// Three threads decrement once each.
fn the_last_decrement_sets() {
    let rig = Rig::new(CountLatch::new(3, Sets(AtomicUsize::new(0))));
    let others = [(); 2].map(|()| {
        let rig = rig.clone();
        thread::spawn(move || rig.write_and_set())
    });
    rig.write_and_set();
    others.into_iter().for_each(|other| other.join().unwrap());
    assert_eq!(rig.latch.inner().0.load(Relaxed), 1);
    assert_eq!(rig.latch.left(), 0);
}

#[test]
fn latch_4_exactly_one_decrement_sets() {
    check(700, None, the_last_decrement_sets);
}

/// Two threads each write a word and finish. A foreign thread waits for both.
fn all_finishers_are_seen() {
    let rig = Arc::new((
        CountLatch::new(2, OnceLatch::new()),
        [AtomicUsize::new(0), AtomicUsize::new(0)],
    ));
    let finishers = [0, 1].map(|mine| {
        let rig = rig.clone();
        thread::spawn(move || {
            rig.1[mine].store(1, Relaxed);
            // SAFETY: the rig is alive while a thread holds it.
            unsafe { Latch::set(&raw const rig.0) };
        })
    });
    rig.0.inner().wait();
    assert_eq!(rig.1.each_ref().map(|word| word.load(Relaxed)), [1, 1]);
    finishers.into_iter().for_each(|finisher| finisher.join().unwrap());
}

#[test]
fn latch_4_the_waiter_sees_the_writes_of_all_finishers() {
    check(1_500, None, all_finishers_are_seen);
}

#[test]
fn canary_count_without_acquire() {
    canary(&[Step::CountAcquire], None, all_finishers_are_seen);
}

/// A worker falls asleep while one thread calls `notify` and another calls `set`.
fn one_notifier_has_the_duty() {
    let core = Arc::new(CoreLatch::new());
    let fulfil = |core: &CoreLatch, notice: Notice| {
        let must_wake = notice == Notice::MustWake;
        if must_wake {
            core.unpark();
        }
        usize::from(must_wake)
    };
    let worker = thread::spawn({
        let core = core.clone();
        move || {
            let slept = core.get_sleepy() && core.fall_asleep();
            if slept {
                core.wait();
                assert!(core.probe(), "awake without a notice");
            }
            core.wake_up();
            usize::from(slept)
        }
    });
    let notifier = thread::spawn({
        let core = core.clone();
        move || fulfil(&core, core.notify())
    });
    let duties = fulfil(&core, core.set()) + notifier.join().unwrap();
    assert_eq!(duties, worker.join().unwrap(), "one duty for a worker that slept, else none");
}

#[test]
fn latch_5_one_notifier_wakes_a_sleeping_worker() {
    check(15_000, None, one_notifier_has_the_duty);
}

/// A worker posts something and goes to sleep. An observer that finds it asleep sees the post.
fn an_observer_of_a_sleeper() {
    let rig = Arc::new((CoreLatch::new(), AtomicUsize::new(0)));
    let worker = thread::spawn({
        let rig = rig.clone();
        move || {
            rig.1.store(1, Relaxed);
            assert!(rig.0.get_sleepy() && rig.0.fall_asleep());
        }
    });
    if rig.0.is_sleepy_or_sleeping() {
        assert_eq!(rig.1.load(Relaxed), 1, "what the sleeper posted");
    }
    worker.join().unwrap();
}

#[test]
fn latch_6_an_observer_sees_the_sleepers_writes() {
    check(3, None, an_observer_of_a_sleeper);
}

#[test]
fn canary_the_sleeper_reads_its_word_too_early() {
    canary(&[Step::FutexRecheck], None, one_notifier_has_the_duty);
}
