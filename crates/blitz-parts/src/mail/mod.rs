//! Jobs for one worker. Each runs once, on that worker. If the worker has left, a sender or the
//! thread that disowns the mailbox runs the job.
//!
//! # Who calls it
//! Any thread: [`Mailbox::post`]. The mailbox's worker: [`Mailbox::take_all`]. A worker that leaves
//! for good, or the thread that counts out a worker that could not be started:
//! [`Mailbox::disown`], perhaps several times. Caller: `blitz-core/worker`.
//!
//! # State
//! | word | meaning | who sets | who clears |
//! |---|---|---|---|
//! | `mail` | jobs that wait, an [`Injector`] | senders | the worker; the thread that disowns the mailbox; a sender that finds the worker gone |
//! | `gone` | the worker leaves for good, or could not be started: no later thread will be it | `disown` | never |
//!
//! # Transitions
//! ```text
//!  sender:   mail in ─▶ fence ─▶ gone? ──no──▶ Delivered: notify the worker
//!                                  └──yes──▶ Undeliverable: run what is there
//!  worker:   … ─▶ gone := true ─▶ fence ─▶ run what is there
//! ```
//!
//! # Invariants
//! - **MAIL-1** Each posted job is handed out once: to the worker, to the thread that disowns the
//!   mailbox, or to a sender that finds the worker gone.
//! - **MAIL-2** Once `disown` and every `post` have returned and the jobs that they handed out have
//!   run, no job is left, although the worker does not come back.
//! - **MAIL-3** What a sender wrote before `post` is visible to the thread that gets the job.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | fence between the push and the load of `gone` | SeqCst | O2 | MAIL-2: sender and disowner cannot both miss each other |
//! | O2 | fence between the store of `gone` and taking what is there | SeqCst | O1 | the same |
//! | O3 | `gone` store, load | Relaxed | – | it carries no data: jobs are handed over by the injector (INJECT-3) |
//!
//! # What this does not do
//! It wakes no worker and runs no job: the result of `post` tells the sender whether to notify the
//! worker or to run jobs.
//!
//! # Lineage
//! The store-fence-load pair of `sleep`, around `inject`.

#[cfg(all(test, blitz_loom))]
mod model;
#[cfg(all(test, not(blitz_loom)))]
mod test;

use crate::inject::{Batch, Injector};
use crate::job::Work;
use crate::prim::{AtomicBool, Relaxed, SeqCst, Step, broken, fence};

/// Jobs for one worker alone.
#[derive(Debug, Default)]
pub struct Mailbox {
    mail: Injector,
    gone: AtomicBool,
}

/// The result of posting a job.
#[must_use = "the worker has to be notified, or its mail to be run"]
pub enum Posted {
    /// The worker will find the job: the sender notifies the worker.
    Delivered,
    /// The worker has left: the sender runs these jobs. Another thread may have taken the sender's
    /// own job already.
    Undeliverable(Batch),
}

impl Mailbox {
    /// Creates an empty mailbox.
    ///
    /// ```
    /// use blitz_parts::mail::Mailbox;
    /// let mailbox = Mailbox::new();
    /// assert!(mailbox.is_empty() && mailbox.take_all().next().is_none());
    /// ```
    pub fn new() -> Mailbox {
        Mailbox::default()
    }

    /// Posts a job.
    pub fn post(&self, work: Work) -> Posted {
        self.mail.push(work);
        if !broken(Step::MailPostFence) {
            fence(SeqCst); // O1
        }
        if self.gone.load(Relaxed) && !broken(Step::MailPostLooks) {
            Posted::Undeliverable(self.mail.take_all()) // O3
        } else {
            Posted::Delivered
        }
    }

    /// Takes every job that is there.
    pub fn take_all(&self) -> Batch {
        self.mail.take_all()
    }

    /// Notes that no thread will be this worker any more. The caller runs the jobs that this call
    /// returns.
    pub fn disown(&self) -> Batch {
        self.gone.store(true, Relaxed); // O3
        if !broken(Step::MailDisownFence) {
            fence(SeqCst); // O2
        }
        self.mail.take_all()
    }

    /// Whether no job waits, at some recent moment.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.mail.is_empty()
    }
}
