//! Jobs that only one worker may run, from any thread.

#![forbid(unsafe_code)]

use crate::base::context::Aside;
use crate::team::Worker;
use blitz_parts::inject::Batch;
use blitz_parts::job::Work;
use blitz_parts::mail::Posted;

/// Posts a job that only `worker` may run. If the worker has left, the caller runs it.
pub(crate) fn post(worker: &Worker, work: Work) {
    match worker.mail.post(work) {
        Posted::Delivered => worker.team().sleep().new_mail(worker.bed()),
        Posted::Undeliverable(mail) => run_undeliverable(mail),
    }
}

/// Runs the mail of a worker that will have no thread any more.
pub(super) fn disown(worker: &Worker) {
    run_undeliverable(worker.mail.disown());
}

/// Runs mail of a worker that has left.
fn run_undeliverable(mail: Batch) {
    // The caller may be in a task, to which the mail does not belong.
    let _aside = Aside::begin();
    for work in mail {
        work.run(None);
    }
}
