//! The sleep protocol under the model checker, with the smallest possible queue: a number.
//!
//! The queue has no orderings of its own, so only the protocol can make a sleeper see a job. A lost
//! job shows as a deadlock: a thread waits for it while all workers sleep.

use super::{Bed, Counters, Idle, Sleep, SleepPolicy};
use crate::barrier;
use crate::latch::{CountLatch, JobLatch, Latch, OnceLatch};
use crate::prim::{
    Acquire, AtomicBool, AtomicUsize, Relaxed, Step, canary, check, check_without, fence, thread,
};
use core::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

impl SleepPolicy {
    /// Announces in the first idle round and sleeps in the second.
    pub(crate) fn impatient() -> SleepPolicy {
        SleepPolicy { spins: 0, sleepy_at: 0, patience_min: 0 }
    }
}

/// A pool without deques: jobs are a number, running one is a decrement of `done`.
struct Rig {
    sleep: Sleep,
    jobs: AtomicUsize,
    done: CountLatch<OnceLatch>,
    /// A word that one thread writes before it notifies another.
    written: AtomicUsize,
    /// A word that is written before the pool ends.
    last_words: AtomicUsize,
}

impl Rig {
    fn new(workers: usize, jobs_expected: usize) -> Arc<Rig> {
        let sleep = Sleep::new(SleepPolicy::impatient(), true, 1);
        (0..workers).for_each(|_| {
            sleep.add_bed();
        });
        let done = CountLatch::new(jobs_expected, OnceLatch::new());
        let jobs = AtomicUsize::new(0);
        let (written, last_words) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Rig { sleep, jobs, done, written, last_words })
    }

    fn bed(&self, index: usize) -> &Bed {
        self.sleep.bed(index).expect("a bed of this rig")
    }

    fn push(&self) -> bool {
        self.jobs.fetch_add(1, Relaxed) == 0
    }

    fn post(&self) {
        let was_empty = self.push();
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

    fn run(&self) {
        // SAFETY: the rig outlives its threads.
        unsafe { Latch::set(&raw const self.done) };
    }

    /// The worker's main loop.
    fn work(&self, index: usize) {
        let bed = self.sleep.own_bed(index);
        loop {
            while self.take() {
                self.run();
            }
            let mut idle = self.sleep.start_looking(bed);
            let mut turns = 0;
            let found = loop {
                give_way(&mut turns);
                if self.sleep.is_stopping() {
                    assert_eq!(self.last_words.load(Relaxed), 1, "what was done before the end");
                    break false;
                }
                if self.take() {
                    break true;
                }
                self.sleep.no_work_found(bed, &mut idle, None, || self.any());
                assert_ne!(bed.core().state_name(), "SLEEPING");
            };
            self.sleep.work_found(bed, idle, || self.any());
            if !found {
                return;
            }
            self.run();
        }
    }

    /// Worker 0 gets sleepy and tries to sleep, once; its last look sees `work`.
    fn try_to_sleep(&self, work: bool) -> Idle {
        let bed = self.sleep.own_bed(0);
        let mut idle = self.sleep.start_looking(bed);
        self.sleep.no_work_found(bed, &mut idle, None, || unreachable!("it announces"));
        self.sleep.no_work_found(bed, &mut idle, None, || work);
        idle
    }

    fn spawn(self: &Arc<Rig>, index: usize) -> thread::JoinHandle<()> {
        let rig = self.clone();
        thread::spawn(move || rig.work(index))
    }

    /// Waits until every job has run, ends the pool and checks the counts.
    fn finish<const N: usize>(&self, workers: [thread::JoinHandle<()>; N]) {
        self.done.inner().wait();
        self.stop();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        self.assert_counts_are_zero();
    }

    fn stop(&self) {
        self.last_words.store(1, Relaxed);
        self.sleep.stop();
    }

    fn assert_counts_are_zero(&self) {
        let counts = self.sleep.counters().load();
        assert_eq!((counts.sleeping(), counts.inactive()), (0, 0), "{counts:?}");
        assert_eq!(self.sleep.parked_word(0), 0);
    }
}

/// Called in every turn of an idle loop: after a few turns without work it lets other threads run.
/// After a thread has yielded, Loom runs it only when all other threads are stuck. So an earlier
/// yield would hide most interleavings, and without a yield a waiting loop would never end.
fn give_way(turns: &mut u32) {
    *turns += 1;
    if *turns > 3 {
        thread::yield_now();
    }
}

/// One worker, two jobs posted one after the other: the second may find the event counter odd.
fn posted_jobs() {
    let rig = Rig::new(1, 2);
    let worker = rig.spawn(0);
    rig.post();
    rig.post();
    rig.finish([worker]);
}

#[test]
fn sleep_1_posted_jobs_are_found() {
    check(40_000, Some(3), posted_jobs);
}

#[test]
fn canary_post_without_its_fence() {
    canary(&[Step::SleepPostFence], Some(3), posted_jobs);
}

#[test]
fn canary_last_look_without_its_fence() {
    canary(&[Step::SleepLookFence], Some(3), posted_jobs);
}

#[test]
fn canary_posters_overlook_sleepy_workers() {
    canary(&[Step::SleepNotifySleepy], Some(3), posted_jobs);
}

#[test]
fn canary_the_bit_is_set_after_the_fence() {
    canary(&[Step::SleepBitFirst], Some(3), posted_jobs);
}

/// Two posters at once, one worker.
fn two_posters() {
    let rig = Rig::new(1, 2);
    let worker = rig.spawn(0);
    let poster = thread::spawn({
        let rig = rig.clone();
        move || rig.post()
    });
    rig.post();
    poster.join().unwrap();
    rig.finish([worker]);
}

#[test]
fn sleep_2_two_posters_keep_the_books_right() {
    check(40_000, Some(2), two_posters);
}

#[test]
fn canary_every_notifier_decrements() {
    canary(&[Step::SleepWakerDecrements], Some(2), two_posters);
}

/// Two workers; the first job to run waits until the other has run.
fn first_job_waits_for_second() {
    let rig = Rig::new(2, 1);
    let second_ran = Arc::new(OnceLatch::new());
    let ran = Arc::new(AtomicUsize::new(0));
    let workers = [0, 1].map(|index| {
        let rig = rig.clone();
        let (second_ran, ran) = (second_ran.clone(), ran.clone());
        thread::spawn(move || {
            let bed = rig.sleep.own_bed(index);
            let mut idle = rig.sleep.start_looking(bed);
            let mut turns = 0;
            while !rig.take() {
                give_way(&mut turns);
                rig.sleep.no_work_found(bed, &mut idle, None, || rig.any());
            }
            rig.sleep.work_found(bed, idle, || rig.any());
            if ran.fetch_add(1, Relaxed) == 0 {
                second_ran.wait();
            } else {
                // SAFETY: the latch lives in the `Arc` that this closure holds.
                unsafe { OnceLatch::set(&raw const *second_ran) };
            }
        })
    });
    rig.post();
    rig.post();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    rig.assert_counts_are_zero();
}

#[test]
fn sleep_3_a_worker_that_found_work_wakes_another_first() {
    check(8_000, Some(2), first_job_waits_for_second);
}

#[test]
fn canary_no_cascade() {
    canary(&[Step::SleepCascade], Some(2), first_job_waits_for_second);
}

/// Worker 0 is busy and pushes a job privately. Then it does nothing until worker 1 has run it.
fn private_push() {
    let rig = Rig::new(2, 1);
    let worker = rig.spawn(1);
    let was_empty = rig.push();
    barrier::light();
    if rig.sleep.counters().peek().anyone_inactive() {
        rig.sleep.new_jobs(1, was_empty);
    }
    rig.finish([worker]);
}

#[test]
fn sleep_4_a_private_push_needs_only_a_relaxed_look_at_the_counters() {
    check(6_000, Some(3), private_push);
}

#[test]
fn canary_private_push_without_the_heavy_fence() {
    canary(&[Step::SleepLookFence], Some(3), private_push);
}

#[test]
fn canary_private_push_without_the_light_fence() {
    canary(&[Step::BarrierLight], Some(3), private_push);
}

/// Worker 0 is busy and puts a task where others can take it. Then it does nothing until worker 1
/// has run the task.
fn public_task() {
    let rig = Rig::new(2, 1);
    let worker = rig.spawn(1);
    rig.push();
    rig.sleep.new_task();
    rig.finish([worker]);
}

#[test]
fn sleep_8_a_task_is_found() {
    check(11_000, Some(3), public_task);
    // No poster has stepped the event counter, so no worker can rely on it.
    check_without(Step::SleepJecRecheck, 11_000, Some(3), public_task);
}

#[test]
fn canary_a_task_without_the_heavy_fence() {
    canary(&[Step::SleepLookFence], Some(3), public_task);
}

#[test]
fn canary_a_task_without_the_light_fence() {
    canary(&[Step::BarrierLight], Some(3), public_task);
}

#[test]
fn canary_a_task_is_not_announced() {
    canary(&[Step::SleepTaskWakes], Some(3), public_task);
}

/// Worker 0 waits for a latch and searches for work meanwhile; another thread sets the latch.
fn waits_for_a_latch() {
    let rig = Rig::new(1, 1);
    // An `Rc` is enough: all threads of a model run on one real thread.
    let latch = Rc::new(JobLatch::new(NonNull::from(rig.bed(0))));
    let worker = thread::spawn({
        let (rig, latch) = (rig.clone(), latch.clone());
        move || {
            let bed = rig.sleep.own_bed(0);
            let mut idle = rig.sleep.start_looking(bed);
            let mut turns = 0;
            while !latch.probe() {
                give_way(&mut turns);
                rig.sleep.no_work_found(bed, &mut idle, Some(&latch), || rig.any());
            }
            assert_eq!(rig.written.load(Relaxed), 7, "what the setter wrote");
            rig.sleep.work_found(bed, idle, || false);
            assert_eq!(bed.core().state_name(), "UNSET");
        }
    });
    rig.written.store(7, Relaxed);
    // SAFETY: the latch is alive here and in the thread, and its bed in the rig.
    unsafe { JobLatch::set(&raw const *latch) };
    worker.join().unwrap();
    rig.assert_counts_are_zero();
}

#[test]
fn sleep_5_the_setter_wakes_a_worker_that_looks_for_work() {
    check(100, None, waits_for_a_latch);
}

#[test]
fn canary_the_latch_is_marked_before_the_word() {
    canary(&[Step::SleepLatchAfterWord], None, waits_for_a_latch);
}

#[test]
fn canary_the_setter_does_not_wake() {
    canary(&[Step::LatchSetWake], None, waits_for_a_latch);
    canary(&[Step::LatchSetWake], None, waits_parked_for_a_latch);
}

#[test]
fn canary_the_word_is_not_reset() {
    canary(&[Step::WordReset], None, waits_for_a_latch);
}

/// Worker 0 only blocks for the latch, and does not look for work. Another thread sets the latch.
fn waits_parked_for_a_latch() {
    let rig = Rig::new(1, 1);
    let latch = Rc::new(JobLatch::new(NonNull::from(rig.bed(0))));
    let worker = thread::spawn({
        let (rig, latch) = (rig.clone(), latch.clone());
        move || {
            let mut turns = 0;
            while !latch.probe() {
                give_way(&mut turns);
                rig.sleep.wait_parked(rig.sleep.own_bed(0), &latch, || false, || rig.any());
            }
            assert_eq!(rig.written.load(Relaxed), 7, "what the setter wrote");
            assert_eq!(rig.bed(0).core().state_name(), "UNSET");
        }
    });
    rig.written.store(7, Relaxed);
    // SAFETY: the latch is alive here and in the thread, and its bed in the rig.
    unsafe { JobLatch::set(&raw const *latch) };
    worker.join().unwrap();
    rig.assert_counts_are_zero();
}

#[test]
fn sleep_5_the_setter_wakes_a_parked_worker() {
    check(100, None, waits_parked_for_a_latch);
}

/// Worker 0 is parked for a latch that is never set, and gets mail.
fn mail_for_a_parked_worker() {
    let rig = Rig::new(1, 1);
    let latch = Rc::new(JobLatch::new(NonNull::from(rig.bed(0))));
    let mail = Arc::new(AtomicBool::new(false));
    let parked = thread::spawn({
        let (rig, latch, mail) = (rig.clone(), latch.clone(), mail.clone());
        move || {
            let look = || mail.load(Relaxed);
            while !look() {
                rig.sleep.wait_parked(rig.sleep.own_bed(0), &latch, look, || false);
            }
        }
    });
    mail.store(true, Relaxed);
    rig.sleep.new_mail(rig.bed(0));
    parked.join().unwrap();
    rig.assert_counts_are_zero();
}

#[test]
fn sleep_1_mail_reaches_a_parked_worker() {
    check(20, None, mail_for_a_parked_worker);
}

#[test]
fn canary_mail_without_the_senders_fence() {
    canary(&[Step::SleepPostFence], None, mail_for_a_parked_worker);
}

#[test]
fn canary_mail_without_the_parked_workers_fence() {
    canary(&[Step::SleepLookFence], None, mail_for_a_parked_worker);
}

/// Worker 0 is parked for a latch and gets mail. Meanwhile the counters may show that worker 0
/// looks for work, so that the poster of a job leaves the job to that worker.
fn a_parked_worker_passes_jobs_on() {
    let rig = Rig::new(2, 1);
    let latch = Rc::new(JobLatch::new(NonNull::from(rig.bed(0))));
    let mail = Arc::new(AtomicBool::new(false));
    let parked = thread::spawn({
        let (rig, latch, mail) = (rig.clone(), latch.clone(), mail.clone());
        move || {
            let look = || mail.load(Relaxed);
            let mut turns = 0;
            while !look() {
                give_way(&mut turns);
                rig.sleep.wait_parked(rig.sleep.own_bed(0), &latch, look, || rig.any());
            }
            // Worker 0 has its mail. Now it does nothing until worker 1 has run the posted job.
            rig.done.inner().wait();
        }
    });
    let worker = rig.spawn(1);
    mail.store(true, Relaxed);
    rig.sleep.new_mail(rig.bed(0));
    rig.post();
    parked.join().unwrap();
    rig.finish([worker]);
}

#[test]
fn sleep_3_a_parked_worker_that_wakes_passes_posted_jobs_on() {
    check(18_000, Some(2), a_parked_worker_passes_jobs_on);
}

#[test]
fn canary_a_parked_worker_keeps_posted_jobs_to_itself() {
    canary(&[Step::SleepCascade], Some(2), a_parked_worker_passes_jobs_on);
}

/// A sleeper that finds every worker inactive looks without a heavy fence. Either the sleeper sees
/// everything that the other worker posted before it last became inactive, or the other worker has
/// seen the sleeper. If `busy`, the other worker is inactive once before it posts, and becomes
/// active again.
fn all_are_inactive(busy: bool, become_inactive: fn(&Counters)) {
    let rig = Rig::new(2, 1);
    let worker = thread::spawn({
        let rig = rig.clone();
        move || {
            let counters = rig.sleep.counters();
            if busy {
                become_inactive(counters);
                counters.sub_inactive();
            }
            rig.jobs.store(1, Relaxed);
            let sees_sleeper = counters.peek().sleeping() > 0;
            become_inactive(counters);
            sees_sleeper
        }
    });
    let counters = rig.sleep.counters();
    counters.add_inactive();
    let seen = loop {
        let seen = counters.load();
        if counters.try_add_sleeping(seen) {
            break seen;
        }
    };
    let misses_job = seen.inactive() == 2 && !rig.any();
    let sees_sleeper = worker.join().unwrap();
    assert!(!misses_job || sees_sleeper, "neither sees the other");
}

#[test]
fn sleep_4_a_sleeper_that_finds_all_inactive_sees_their_posts() {
    check(10, None, || all_are_inactive(true, |counters| _ = counters.add_inactive()));
    check(5, None, || all_are_inactive(false, Counters::add_parked));
}

/// The pool ends while its workers fall asleep.
fn stop_against_sleep() {
    let rig = Rig::new(2, 1);
    let workers = [rig.spawn(0), rig.spawn(1)];
    rig.stop();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    rig.assert_counts_are_zero();
}

#[test]
fn sleep_6_every_worker_leaves_after_stop() {
    check(1_000, Some(2), stop_against_sleep);
}

/// A worker finds no work. If it does not fall asleep, or is woken, only the end of the pool can be
/// the reason: the worker sees that end.
fn only_stop_wakes() {
    let rig = Rig::new(1, 1);
    let sleeper = thread::spawn({
        let rig = rig.clone();
        move || {
            let idle = rig.try_to_sleep(false);
            assert!(rig.sleep.is_stopping(), "it would sleep again");
            rig.sleep.work_found(rig.sleep.own_bed(0), idle, || false);
        }
    });
    rig.stop();
    sleeper.join().unwrap();
    rig.assert_counts_are_zero();
}

#[test]
fn sleep_6_a_worker_that_stop_wakes_sees_the_end() {
    check(20, None, only_stop_wakes);
}

#[test]
fn canary_stop_wakes_no_worker() {
    canary(&[Step::SleepStopWakes], Some(2), stop_against_sleep);
}

/// A thread that finds a sleeper in the count also sees the sleeper's bit, or finds that the
/// sleeper has left.
fn a_counted_sleeper_has_its_bit() {
    let rig = Rig::new(1, 1);
    let sleeper = thread::spawn({
        let rig = rig.clone();
        move || {
            let idle = rig.try_to_sleep(true);
            rig.sleep.work_found(rig.sleep.own_bed(0), idle, || false);
        }
    });
    if rig.sleep.counters().load().sleeping() == 1 && rig.sleep.parked_word(0) == 0 {
        fence(Acquire);
        let counts = rig.sleep.counters().load();
        assert_eq!(counts.sleeping(), 0, "counted, but its bit is not set");
    }
    sleeper.join().unwrap();
    rig.assert_counts_are_zero();
}

#[test]
fn sleep_7_a_counted_sleeper_has_its_bit() {
    check(30, None, a_counted_sleeper_has_its_bit);
}

#[test]
fn canary_a_counted_sleeper_without_its_bit() {
    canary(&[Step::SleepBitFirst], None, a_counted_sleeper_has_its_bit);
}
