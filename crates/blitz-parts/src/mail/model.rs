//! Senders against a worker that leaves, under the model checker.

use super::{Mailbox, Posted};
use crate::job::{HeapJob, Work};
use crate::prim::{AtomicUsize, Relaxed, Step, canary, check, thread};
use std::sync::Arc;

const JOBS: usize = 2;

/// A mailbox. For each job: a word written before it is posted, and how often it ran.
struct Rig {
    mailbox: Mailbox,
    written: [AtomicUsize; JOBS],
    ran: [AtomicUsize; JOBS],
}

impl Rig {
    fn new() -> Arc<Rig> {
        let zeros = || core::array::from_fn(|_| AtomicUsize::new(0));
        Arc::new(Rig { mailbox: Mailbox::new(), written: zeros(), ran: zeros() })
    }

    fn job(self: &Arc<Rig>, index: usize) -> Work {
        let rig = self.clone();
        let closure = move || {
            assert_eq!(rig.written[index].load(Relaxed), 1, "what the sender wrote");
            rig.ran[index].fetch_add(1, Relaxed);
        };
        // SAFETY: the closure borrows nothing, and unwinds only where the model has failed.
        unsafe { HeapJob::into_work(closure) }
    }

    fn post(self: &Arc<Rig>, index: usize) {
        self.written[index].store(1, Relaxed);
        if let Posted::Undeliverable(mail) = self.mailbox.post(self.job(index)) {
            run(mail);
        }
    }

    fn assert_all_ran(&self) {
        assert_eq!(self.ran.each_ref().map(|ran| ran.load(Relaxed)), [1; JOBS]);
    }
}

fn run(mail: impl Iterator<Item = Work>) {
    mail.for_each(|work| work.run(None));
}

/// Two senders; the worker takes its mail once and leaves.
fn post_beside_disown() {
    let rig = Rig::new();
    let senders = [0, 1].map(|index| {
        let rig = rig.clone();
        thread::spawn(move || rig.post(index))
    });
    run(rig.mailbox.take_all());
    run(rig.mailbox.disown());
    senders.into_iter().for_each(|sender| sender.join().unwrap());
    rig.assert_all_ran();
    assert!(rig.mailbox.is_empty());
}

/// One sender that posts twice; the worker leaves at once.
fn post_twice_beside_disown() {
    let rig = Rig::new();
    let sender = thread::spawn({
        let rig = rig.clone();
        move || (0..JOBS).for_each(|index| rig.post(index))
    });
    run(rig.mailbox.disown());
    sender.join().unwrap();
    rig.assert_all_ran();
}

#[test]
fn mail_1_each_job_runs_once() {
    check(2_000, Some(3), post_beside_disown);
}

#[test]
fn mail_2_a_sender_runs_jobs_that_a_worker_left() {
    check(90, None, post_twice_beside_disown);
}

#[test]
fn mail_3_the_runner_sees_the_senders_writes() {
    check(2_000, Some(3), post_beside_disown);
}

#[test]
fn canary_a_sender_without_its_fence() {
    canary(&[Step::MailPostFence], Some(3), post_twice_beside_disown);
}

#[test]
fn canary_a_disowner_without_its_fence() {
    canary(&[Step::MailDisownFence], Some(3), post_twice_beside_disown);
}

#[test]
fn canary_a_sender_that_does_not_look() {
    canary(&[Step::MailPostLooks], Some(3), post_twice_beside_disown);
}

#[test]
fn canary_a_push_without_release() {
    canary(&[Step::InjectPushRelease], Some(3), post_beside_disown);
}
