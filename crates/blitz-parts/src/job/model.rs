//! Jobs under the model checker, in the queues that carry them.

use super::{Armed, Header, StackJob};
use crate::deque::{Deque, Steal, TakeBack};
use crate::latch::OnceLatch;
use crate::prim::{AtomicUsize, Relaxed, Step, canary, check, thread};
use crate::sleep::{Bed, Sleep, SleepPolicy};
use core::ptr::NonNull;
use std::sync::Arc;

/// An owner with its deque and its bed.
struct Rig {
    deque: Deque<Header>,
    sleep: Sleep,
    ran: AtomicUsize,
}

impl Rig {
    fn new() -> Arc<Rig> {
        let sleep = Sleep::new(SleepPolicy::impatient(), true, 1);
        sleep.add_bed();
        Arc::new(Rig { deque: Deque::new(), sleep, ran: AtomicUsize::new(0) })
    }

    fn bed(&self) -> &Bed {
        self.sleep.bed(0).expect("one bed")
    }

    fn arm(&self, job: NonNull<Header>) {
        // SAFETY: the deque calls `arm` for a job that no other thread can see yet (JOB-5).
        unsafe { Header::arm(job, NonNull::from(self.bed())) };
    }

    /// One attempt to steal the fork and run it.
    fn steal_and_run(&self) {
        if let Steal::Success(job) = self.deque.steal() {
            // SAFETY: by DEQUE-1 the job left the deque once.
            unsafe { super::Work::new(job) }.run(None);
        }
    }

    /// Forks a job, and takes it back or waits for it. The frame goes away at the end.
    fn fork(&self, publish: bool) {
        let fork = StackJob::new(Armed, |migrated: bool| {
            self.ran.fetch_add(1, Relaxed);
            usize::from(migrated) + 1
        });
        // SAFETY: only this thread owns the deque.
        let owner = unsafe { self.deque.owner() };
        // SAFETY: the fork is taken back, or waited for, below.
        let place = unsafe { owner.fork(fork.header()) };
        if publish {
            let _ = owner.publish(|_| 1, |job| self.arm(job));
        }
        let taken = owner.take_back(place)
            || owner.take_back_public(fork.header(), place) == TakeBack::Taken
            || owner.pop().is_some();
        let result = if taken {
            // SAFETY: the fork was taken back.
            unsafe { fork.run_inline() }
        } else {
            // SAFETY: a stolen fork was armed, and `pop` acquires that (JOB-5).
            let latch = unsafe { Header::latch(fork.header()) };
            while !latch.probe() {
                self.sleep.wait_parked(self.sleep.own_bed(0), latch, || false, || false);
            }
            assert_eq!(self.ran.load(Relaxed), 1, "set before the closure has run");
            // SAFETY: the latch was seen set, and this is the only taking.
            unsafe { fork.take_result() }.expect("it does not panic") + 10
        };
        assert!(result == 1 || result == 12, "{result}: 1 means run by the owner, 12 by the thief");
        assert_eq!(self.ran.load(Relaxed), 1);
    }
}

fn fork_against_steal() {
    let rig = Rig::new();
    let thief = thread::spawn({
        let rig = rig.clone();
        move || rig.steal_and_run()
    });
    rig.fork(true);
    thief.join().unwrap();
}

#[test]
fn job_1_a_fork_runs_once_here_or_there() {
    check(2_000, None, fork_against_steal);
}

#[test]
fn canary_the_latch_is_set_before_the_closure_runs() {
    canary(&[Step::JobResultFirst], None, fork_against_steal);
}

fn fork_against_force() {
    let rig = Rig::new();
    let thief = thread::spawn({
        let rig = rig.clone();
        move || {
            rig.deque.force(|job| rig.arm(job));
            rig.steal_and_run();
        }
    });
    rig.fork(false);
    thief.join().unwrap();
}

#[test]
fn job_5_a_forced_fork_is_armed_before_it_is_seen() {
    check(15_000, None, fork_against_force);
}

/// A job that a foreign thread waits for, in a box that is freed as soon as the latch is seen set.
fn the_frame_goes_after_the_latch() {
    let written = Arc::new(AtomicUsize::new(0));
    let closure = {
        let written = written.clone();
        move |_migrated: bool| {
            written.store(1, Relaxed);
            7
        }
    };
    let job = Box::new(StackJob::new(OnceLatch::new(), closure));
    // SAFETY: the box stays in place until its latch was seen set; the closure may be sent to other
    // threads.
    let work = unsafe { job.as_work() };
    let runner = thread::spawn(move || work.run(None));
    job.latch().wait();
    assert_eq!(written.load(Relaxed), 1, "what the closure wrote");
    // SAFETY: the latch was seen set, and this is the only taking.
    let result = unsafe { job.take_result() };
    assert_eq!(result.expect("it does not panic"), 7);
    drop(job);
    runner.join().unwrap();
}

#[test]
fn job_2_the_frame_goes_as_soon_as_the_latch_is_set() {
    check(25, None, the_frame_goes_after_the_latch);
}

#[test]
fn job_3_the_result_is_there_once_the_latch_is_set() {
    check(25, None, the_frame_goes_after_the_latch);
}
