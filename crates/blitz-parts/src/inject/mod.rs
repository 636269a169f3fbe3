//! Receives jobs from outside: a Treiber stack whose jobs are taken all at once.
//!
//! # Who calls it
//! Any thread pushes; workers take. Callers: `blitz-core/team`, `blitz-core/worker/jobs`, and
//! `mail`, where a sender may take, too.
//!
//! # State
//! | word | meaning | who sets | who clears |
//! |---|---|---|---|
//! | `head` | newest job, linked through `Header::next`; null: empty | pushers | takers |
//!
//! # Transitions
//! ```text
//!  null ──push──▶ a ──push──▶ b → a ──push──▶ c → b → a ──take_all (swap null)──▶ [a, b, c]
//! ```
//!
//! # Invariants
//! - **INJECT-1** Every pushed job is in exactly one batch that is taken.
//! - **INJECT-2** A batch lists its jobs oldest first.
//! - **INJECT-3** What the pusher wrote before `push` is visible to the taker.
//! - **INJECT-4** `push` returns whether the stack was empty: true for exactly one push per batch.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | exchange in `push` | AcqRel | O2 | INJECT-3, for this job and for the jobs below it |
//! | O2 | `swap(null)` | AcqRel | O1 | INJECT-3 |
//! | O3 | `is_empty` | Relaxed | – | it is only a hint whether to try O2; a worker that is about to sleep looks after a fence (`sleep`) |
//!
//! # What this does not do
//! It wakes no worker. It never takes one job alone. For that, a taker would read the newest node
//! before its exchange, when another taker may have run and freed that node. A taker that takes all
//! nodes reads them only after its exchange. So it reads no freed node, and has no ABA problem.
//!
//! # Lineage
//! Treiber 1986; taken all at once, as the errata in `docs/coverage.md` ask.

#[cfg(all(test, blitz_loom))]
mod model;
#[cfg(all(test, not(blitz_loom)))]
mod test;

use crate::job::{Header, Work};
use crate::prim::{AcqRel, AtomicPtr, Relaxed, Step, broken};
use core::ptr::{NonNull, null_mut};

/// A stack of jobs posted by any thread.
#[derive(Debug)]
pub struct Injector {
    head: AtomicPtr<Header>,
}

/// Jobs taken from an [`Injector`], oldest first. Dropping it would lose jobs: drain it.
#[must_use = "a batch that is dropped loses its jobs"]
pub struct Batch {
    oldest: *mut Header,
}

// SAFETY: a batch is a list of `Work`, which is `Send`.
unsafe impl Send for Batch {}

impl Injector {
    /// Creates an empty injector.
    pub fn new() -> Injector {
        Injector { head: AtomicPtr::new(null_mut()) }
    }

    /// Posts a job; returns whether the injector was empty before.
    pub fn push(&self, work: Work) -> bool {
        let node = work.into_raw();
        // SAFETY: the job is alive until it has run.
        let header = unsafe { node.as_ref() };
        let mut head = self.head.load(Relaxed);
        let order = if broken(Step::InjectPushRelease) { Relaxed } else { AcqRel };
        loop {
            // SAFETY: until the exchange succeeds the job is ours alone.
            unsafe { header.set_next(head) };
            match self.head.compare_exchange(head, node.as_ptr(), order, Relaxed) {
                Ok(_) => return head.is_null(), // O1
                Err(now) => head = now,
            }
        }
    }

    /// Takes every job there is.
    pub fn take_all(&self) -> Batch {
        if self.is_empty() {
            return Batch { oldest: null_mut() };
        }
        let mut newest = self.head.swap(null_mut(), AcqRel); // O2
        let mut oldest = null_mut();
        while let Some(node) = NonNull::new(newest) {
            // SAFETY: by INJECT-1 the list is ours now, and its jobs live until they run.
            let header = unsafe { node.as_ref() };
            // SAFETY: no other thread has the job, and `push` wrote the link.
            let below = unsafe { header.next() };
            // SAFETY: as above.
            unsafe { header.set_next(oldest) };
            oldest = node.as_ptr();
            newest = below;
        }
        Batch { oldest }
    }

    /// Whether no job waits, at some recent moment.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head.load(Relaxed).is_null() // O3
    }
}

impl Default for Injector {
    fn default() -> Self {
        Injector::new()
    }
}

impl Iterator for Batch {
    type Item = Work;

    fn next(&mut self) -> Option<Work> {
        let node = NonNull::new(self.oldest)?;
        // SAFETY: the batch owns the jobs that it still lists.
        let header = unsafe { node.as_ref() };
        // SAFETY: as above, and `take_all` wrote the link.
        self.oldest = unsafe { header.next() };
        // SAFETY: the job leaves the batch here, so this is its only word.
        Some(unsafe { Work::new(node) })
    }
}
