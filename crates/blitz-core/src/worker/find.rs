//! Where a worker looks for work, and in which order.
//!
//! Own deque (newest first), own mail, injected jobs (all of them: one is kept, the rest goes onto
//! the own deque), other workers' deques from a random start (oldest first). A worker that is about
//! to sleep looks harder: it also forces private jobs of workers that sit in a long leaf into the
//! open.

use super::Worker;
use crate::team::Team;
use blitz_parts::deque::Steal;
use blitz_parts::job::{Header, Work};
use std::ptr::NonNull;

/// How hard to look.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// At what others have published.
    Public,
    /// Also at what they have not, at the price of a heavy fence.
    Hard,
}

impl Worker {
    /// Any work at all, for the main loop. Own thread only.
    pub(crate) fn find(&self, look: Look) -> Option<Work> {
        self.pop().or_else(|| self.open_mail()).or_else(|| self.find_elsewhere(look))
    }

    /// Work of others. Own thread only.
    pub(crate) fn find_elsewhere(&self, look: Look) -> Option<Work> {
        self.take_injected().or_else(|| self.steal(look))
    }

    /// The newest own job. Own thread only, and only where no frame still counts on its job being the
    /// newest: in the main loop, or above every such job.
    pub(crate) fn pop(&self) -> Option<Work> {
        let job = self.own().pop()?;
        self.counters.popped.add(1);
        // Whoever has more such jobs may not push again for long.
        self.share_if_wanted();
        Some(taken(job))
    }

    /// The newest own job, if its index is at least `base`: jobs below belong to frames that will
    /// take them back by their index. Own thread only.
    pub(crate) fn pop_above(&self, base: isize) -> Option<Work> {
        if self.own().bottom() > base { self.pop() } else { None }
    }

    /// The oldest own job, taken like a thief does, so that the frame it may belong to finds it
    /// stolen. Own thread only.
    pub(crate) fn take_oldest(&self) -> Option<Work> {
        if self.deque.is_empty() {
            return None;
        }
        if self.deque.public_len() == 0 {
            let _ = self.publish(1);
        }
        self.give()
    }

    /// The oldest job for this worker alone. Own thread only.
    pub(crate) fn open_mail(&self) -> Option<Work> {
        let mut opened = self.opened_mail.borrow_mut();
        if opened.is_empty() && self.has_mail() {
            opened.extend(self.mail.take_all());
        }
        opened.pop_front()
    }

    pub(super) fn take_injected(&self) -> Option<Work> {
        let team = self.team();
        if team.injector().is_empty() {
            return None;
        }
        let mut batch = team.injector().take_all();
        let first = batch.next()?;
        self.counters.injected.add(1);
        for work in batch {
            self.push(work);
        }
        // They have nothing to do with each other: the next one must not wait for the first.
        self.publish_and_tell(usize::MAX);
        Some(first)
    }

    fn steal(&self, look: Look) -> Option<Work> {
        let team = self.team();
        let workers = team.num_workers();
        if workers < 2 {
            return None;
        }
        self.counters.steals_tried.add(1);
        let start = self.rng.below(workers);
        let victims = || {
            (start..workers)
                .chain(0..start)
                .filter(|&index| index != self.index)
                .filter_map(|index| team.worker(index))
        };
        let public = victims().find_map(|victim| victim.give());
        let found = match look {
            Look::Public => public,
            Look::Hard => public.or_else(|| {
                victims().find_map(|victim| if victim.force() { victim.give() } else { None })
            }),
        };
        self.counters.steals_won.add(u64::from(found.is_some()));
        found
    }

    /// The oldest public job of this worker, for whoever calls.
    pub(super) fn give(&self) -> Option<Work> {
        self.give_if(|| true)
    }

    /// The same, if `valid` still holds when the job is known.
    pub(super) fn give_if(&self, valid: impl Fn() -> bool) -> Option<Work> {
        loop {
            match self.deque.steal_if(&valid) {
                Steal::Success(job) => return Some(taken(job)),
                Steal::Empty => return None,
                Steal::Retry => {}
            }
        }
    }
}

/// A job that just left a deque.
fn taken(job: NonNull<Header>) -> Work {
    // SAFETY: what is in a deque came from `Work::into_raw`, and by DEQUE-1 it leaves it once.
    unsafe { Work::new(job) }
}

impl Team {
    /// Whether there is work that an arbitrary worker could take, private jobs included.
    pub(crate) fn has_work(&self) -> bool {
        !self.injector().is_empty() || self.workers().any(|worker| !worker.deque.is_empty())
    }
}
