//! Jobs for one worker alone, from any thread.

#![forbid(unsafe_code)]

use crate::base::context::Aside;
use crate::team::Worker;
use blitz_parts::job::Work;
use blitz_parts::prim::{Acquire, Release, SeqCst, fence};

/// Posts a job that `worker` alone may run. If the worker has left, the caller runs it.
pub(crate) fn post(worker: &Worker, work: Work) {
    worker.mail.push(work);
    worker.team().sleep().new_mail(worker.bed());
    // The fence in `new_mail` pairs with the one in `disown`: one of the two sees the other.
    if worker.gone.load(Acquire) {
        run_undeliverable(worker);
    }
}

/// No thread will be this worker any more: the caller runs what is in its mail.
pub(super) fn disown(worker: &Worker) {
    worker.gone.store(true, Release);
    fence(SeqCst);
    run_undeliverable(worker);
}

fn run_undeliverable(worker: &Worker) {
    // The caller may be in a task, which is none of the mail's.
    let _aside = Aside::begin();
    for work in worker.mail.take_all() {
        work.run(None);
    }
}
