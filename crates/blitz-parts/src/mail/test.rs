//! The mailbox on one thread and on several.

use super::{Mailbox, Posted};
use crate::job::{HeapJob, Work};
use crate::prim::{AtomicUsize, Relaxed};
use std::sync::Arc;

/// A job that adds one to `ran`.
fn job(ran: &Arc<AtomicUsize>) -> Work {
    let ran = ran.clone();
    // SAFETY: the closure borrows nothing and does not unwind.
    unsafe {
        HeapJob::into_work(move || {
            ran.fetch_add(1, Relaxed);
        })
    }
}

fn run(mail: impl Iterator<Item = Work>) -> usize {
    mail.map(|work| work.run(None)).count()
}

#[test]
fn mail_1_the_worker_gets_its_mail_while_it_is_there() {
    let (mailbox, ran) = (Mailbox::new(), Arc::default());
    for _ in 0..3 {
        assert!(matches!(mailbox.post(job(&ran)), Posted::Delivered));
    }
    assert!(!mailbox.is_empty());
    assert_eq!(run(mailbox.take_all()), 3);
    assert!(mailbox.is_empty());
    assert_eq!(ran.load(Relaxed), 3);
}

#[test]
fn mail_2_the_sender_runs_later_jobs() {
    let (mailbox, ran) = (Mailbox::new(), Arc::default());
    assert!(matches!(mailbox.post(job(&ran)), Posted::Delivered));
    assert_eq!(run(mailbox.disown()), 1);
    let Posted::Undeliverable(mail) = mailbox.post(job(&ran)) else {
        panic!("the worker has left");
    };
    assert_eq!(run(mail), 1);
    assert!(mailbox.is_empty());
    assert_eq!(ran.load(Relaxed), 2);
}

#[test]
fn mail_2_nothing_is_left_beside_a_worker_that_leaves() {
    const ROUNDS: usize = 300;
    const MAILS: usize = 20;
    for _ in 0..ROUNDS {
        let (mailbox, ran) = (Mailbox::new(), Arc::default());
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..MAILS {
                        if let Posted::Undeliverable(mail) = mailbox.post(job(&ran)) {
                            run(mail);
                        }
                    }
                });
            }
            run(mailbox.take_all());
            run(mailbox.disown());
        });
        assert_eq!(ran.load(Relaxed), 2 * MAILS);
    }
}
