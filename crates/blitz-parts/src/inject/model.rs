//! The injector under the model checker.

use super::Injector;
use crate::job::{HeapJob, Work};
use crate::prim::{AtomicUsize, Relaxed, Step, canary, check, thread};
use std::sync::Arc;

/// An injector. For each job: a word written before the push, and how often the job ran.
struct Rig {
    injector: Injector,
    written: [AtomicUsize; 3],
    ran: [AtomicUsize; 3],
}

impl Rig {
    fn new() -> Arc<Rig> {
        let zeros = || core::array::from_fn(|_| AtomicUsize::new(0));
        Arc::new(Rig { injector: Injector::new(), written: zeros(), ran: zeros() })
    }

    fn job(self: &Arc<Rig>, index: usize) -> Work {
        let rig = self.clone();
        let closure = move || {
            assert_eq!(rig.written[index].load(Relaxed), 1, "what the pusher wrote");
            rig.ran[index].fetch_add(1, Relaxed);
        };
        // SAFETY: the closure borrows nothing, and unwinds only where the model has failed.
        unsafe { HeapJob::into_work(closure) }
    }

    fn push(self: &Arc<Rig>, index: usize) -> bool {
        self.written[index].store(1, Relaxed);
        self.injector.push(self.job(index))
    }

    /// Takes a batch and runs it. Returns whether there was one.
    fn drain(&self) -> bool {
        let mut any = false;
        for work in self.injector.take_all() {
            work.run(None);
            any = true;
        }
        any
    }
}

/// Two pushers and a taker; one of the pushers pushes twice.
fn two_pushers_and_a_taker() {
    let rig = Rig::new();
    let pushers = [vec![0, 1], vec![2]].map(|mine| {
        let rig = rig.clone();
        thread::spawn(move || mine.into_iter().filter(|&index| rig.push(index)).count())
    });
    let mut batches = usize::from(rig.drain());
    let firsts: usize = pushers.into_iter().map(|pusher| pusher.join().unwrap()).sum();
    batches += usize::from(rig.drain());
    assert_eq!(rig.ran.each_ref().map(|ran| ran.load(Relaxed)), [1, 1, 1]);
    assert_eq!(firsts, batches, "one push per batch finds the injector empty");
}

#[test]
fn inject_1_every_job_is_in_one_batch() {
    check(30, Some(3), two_pushers_and_a_taker);
}

#[test]
fn inject_4_one_push_per_batch_finds_the_injector_empty() {
    check(30, Some(3), two_pushers_and_a_taker);
}

/// A pusher and two takers.
fn two_takers() {
    let rig = Rig::new();
    let takers = [(); 2].map(|()| {
        let rig = rig.clone();
        thread::spawn(move || rig.drain())
    });
    rig.push(0);
    rig.push(1);
    takers.into_iter().for_each(|taker| {
        taker.join().unwrap();
    });
    rig.drain();
    assert_eq!(rig.ran.each_ref().map(|ran| ran.load(Relaxed)), [1, 1, 0]);
}

#[test]
fn inject_3_a_taker_sees_the_pushers_writes() {
    check(400, Some(3), two_takers);
}

#[test]
fn canary_push_without_release() {
    canary(&[Step::InjectPushRelease], Some(3), two_takers);
}
