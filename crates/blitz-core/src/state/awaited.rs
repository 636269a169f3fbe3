//! The jobs of `spawn_cpu` that tasks await, for threads that look at the pool.
//!
//! A job is here from the first poll of its handle that finds it unfinished until it has ended. So
//! a job whose handle is never polled costs nothing.

#![forbid(unsafe_code)]

use super::blocking::{AwaitedClosure, Listed};
use crate::base::Id;
use blitz_parts::prim::{Mutex, MutexGuard};
use blitz_parts::tuning::CHAIN_KEEPS;
use slab::Slab;
use std::sync::PoisonError;

/// Into how many parts the list is divided, so that workers rarely meet at one.
const PARTS: usize = 16;

/// The jobs of one pool that tasks await.
#[derive(Default)]
pub(crate) struct AwaitedJobs {
    parts: [Mutex<Slab<(Id, Listed)>>; PARTS],
}

/// The place of a job in its part of the list.
#[derive(Clone, Copy)]
pub(crate) struct ListedAt(usize);

impl AwaitedJobs {
    fn part(&self, id: Id) -> MutexGuard<'_, Slab<(Id, Listed)>> {
        lock(&self.parts[id.number() as usize % PARTS])
    }

    #[must_use]
    pub(crate) fn add(&self, id: Id, listed: Listed) -> ListedAt {
        ListedAt(self.part(id).insert((id, listed)))
    }

    /// Forgets the job at `place`, where [`add`](Self::add) has put it. The returned entry may be
    /// the last reference to a result, whose drop is user code.
    #[must_use]
    pub(crate) fn remove(&self, id: Id, place: ListedAt) -> Listed {
        let mut part = self.part(id);
        let (_, listed) = part.remove(place.0);
        if part.is_empty() && part.capacity() > CHAIN_KEEPS / PARTS {
            *part = Slab::new();
        }
        listed
    }

    /// Returns the jobs that tasks await now.
    pub(crate) fn awaited(&self) -> Vec<AwaitedClosure> {
        let awaited =
            |part| AwaitedClosure::all(lock(part).iter().map(|(_, (id, job))| (*id, job)));
        self.parts.iter().flat_map(awaited).collect()
    }
}

fn lock(part: &Mutex<Slab<(Id, Listed)>>) -> MutexGuard<'_, Slab<(Id, Listed)>> {
    // No user code runs under the lock.
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{AwaitedJobs, CHAIN_KEEPS, Id, Listed};
    use crate::base::context::Frame;
    use crate::state::Closure;
    use std::sync::Arc;

    struct Job;

    impl Closure for Job {
        fn has_begun(&self) -> bool {
            false
        }

        fn runs_at(&self) -> Option<Frame> {
            None
        }

        fn awaited_by(&self) -> Option<usize> {
            Some(7)
        }
    }

    #[test]
    fn a_burst_of_awaited_jobs_leaves_no_memory() {
        let jobs = AwaitedJobs::default();
        let listed = || Listed { closure: Arc::new(Job), type_name: "job" };
        let ids: Vec<_> = (0..CHAIN_KEEPS * 2).map(|_| Id::next()).collect();
        let places: Vec<_> = ids.iter().map(|&id| jobs.add(id, listed())).collect();
        assert_eq!(jobs.awaited().len(), ids.len());
        for (id, place) in ids.into_iter().zip(places) {
            assert_eq!(jobs.remove(id, place).type_name, "job");
        }
        assert!(jobs.awaited().is_empty());
        assert!(jobs.parts.iter().all(|part| part.lock().unwrap().capacity() == 0));
    }
}
