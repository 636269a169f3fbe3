//! Posters against guests that park, with the real sleep protocol.

use super::{Guest, Guests, Injected};
use crate::inject::Injector;
use crate::job::{HeapJob, Work};
use crate::latch::JobLatch;
use crate::prim::{AtomicBool, AtomicUsize, Relaxed, Step, canary, check, thread};
use crate::sleep::{Sleep, SleepPolicy};
use core::ptr::NonNull;
use std::sync::Arc;

/// A pool whose only worker is a guest.
struct Rig {
    sleep: Sleep,
    guests: Guests,
    injector: Injector,
    injected: Injected,
    /// A task in the queue that all workers look at.
    task: AtomicBool,
    ran: AtomicUsize,
}

impl Rig {
    fn new() -> Arc<Rig> {
        let sleep = Sleep::new(SleepPolicy::impatient(), true, 1);
        sleep.add_bed();
        // From now on a post changes no counter, so that only its fence orders anything.
        sleep.new_jobs(1, true);
        Arc::new(Rig {
            sleep,
            guests: Guests::new(),
            injector: Injector::new(),
            injected: Injected::new(false),
            task: AtomicBool::new(false),
            ran: AtomicUsize::new(0),
        })
    }

    fn job(self: &Arc<Rig>) -> Work {
        let rig = self.clone();
        // SAFETY: the closure borrows nothing, and unwinds only where the model has failed.
        unsafe {
            HeapJob::into_work(move || {
                rig.ran.fetch_add(1, Relaxed);
            })
        }
    }

    fn notify(&self, worker: usize) {
        self.sleep.bed(worker).expect("there is a bed").notify();
    }

    /// The steps of `ScopeCore::push`, then those of `Team::inject`.
    fn inject(self: &Arc<Rig>) {
        self.injected.set();
        let was_empty = self.injector.push(self.job());
        self.sleep.new_jobs(1, was_empty);
        self.guests.notify_of_job(|worker| self.notify(worker));
    }

    /// The steps of `sched::share::schedule_from_outside`.
    fn schedule(&self) {
        self.task.store(true, Relaxed);
        self.sleep.new_jobs(1, true);
        self.guests.notify_of_task(|worker| self.notify(worker));
    }

    /// The worker waits as a guest until it has run `enough` jobs and tasks.
    fn wait(&self, guest: Guest, enough: usize) {
        let bed = self.sleep.own_bed(guest.worker);
        let latch = JobLatch::new(NonNull::from(&*bed));
        self.guests.add(guest);
        let mut turns = 0;
        while self.ran.load(Relaxed) < enough {
            turns += 1;
            if turns > 3 {
                thread::yield_now();
            }
            if guest.tasks && self.task.load(Relaxed) {
                self.task.store(false, Relaxed);
                self.ran.fetch_add(1, Relaxed);
                continue;
            }
            let wants = || self.injected.get() && !self.injector.is_empty();
            if wants() {
                self.injector.take_all().for_each(|work| work.run(None));
                continue;
            }
            let look = || wants() || guest.tasks && self.task.load(Relaxed);
            let _ = self.sleep.wait_parked(bed, &latch, look, || false);
        }
        self.guests.remove(guest);
    }
}

/// One or two jobs are injected while the guest goes to sleep.
fn inject_beside_a_guest(jobs: usize) {
    let rig = Rig::new();
    let poster = thread::spawn({
        let rig = rig.clone();
        move || (0..jobs).for_each(|_| rig.inject())
    });
    rig.wait(Guest { worker: 0, tasks: false }, jobs);
    poster.join().unwrap();
    assert!(rig.injector.is_empty());
}

fn one_job() {
    inject_beside_a_guest(1);
}

/// A task is queued while the guest goes to sleep.
fn schedule_beside_a_guest() {
    let rig = Rig::new();
    let poster = thread::spawn({
        let rig = rig.clone();
        move || rig.schedule()
    });
    rig.wait(Guest { worker: 0, tasks: true }, 1);
    poster.join().unwrap();
}

#[test]
fn guests_1_a_guest_is_notified_of_injected_jobs() {
    check(800, Some(3), one_job);
    check(2_500, Some(2), || inject_beside_a_guest(2));
}

#[test]
fn guests_2_a_guest_is_notified_of_tasks() {
    check(450, Some(3), schedule_beside_a_guest);
}

#[test]
fn guests_3_a_notified_guest_sees_that_an_awaited_job_is_injected() {
    check(800, Some(3), one_job);
}

#[test]
fn canary_a_guest_is_not_counted() {
    canary(&[Step::GuestsCountJobs], Some(3), one_job);
}

#[test]
fn canary_a_guest_for_tasks_is_not_counted() {
    canary(&[Step::GuestsCountTasks], Some(3), schedule_beside_a_guest);
}

#[test]
fn canary_the_poster_has_no_fence() {
    canary(&[Step::SleepPostFence], Some(3), one_job);
}

#[test]
fn canary_the_guest_has_no_fence() {
    canary(&[Step::SleepLookFence], Some(3), one_job);
}
