//! A latch for whoever the current thread is: a worker of any pool, or a foreign thread.

use crate::team::Team;
use crate::worker::{Help, Worker, current};
use blitz_parts::deque::Mark;
use blitz_parts::job::Header;
use blitz_parts::latch::{JobLatch, Latch, OnceLatch};
use blitz_parts::prim::AtomicBool;
use std::sync::Arc;

/// What the thread that made it waits for, whatever thread that is.
pub(crate) enum AnyLatch {
    /// A worker; its team is kept alive, for the setter may be of another one.
    Worker(JobLatch, Arc<Team>),
    /// A thread outside of every pool.
    Foreign(OnceLatch),
}

impl AnyLatch {
    /// A latch for the current thread.
    pub(crate) fn for_current_thread() -> AnyLatch {
        match current::current() {
            Some(worker) => AnyLatch::for_worker(worker),
            None => AnyLatch::Foreign(OnceLatch::new()),
        }
    }

    /// A latch for `worker`, which must be the current thread.
    pub(crate) fn for_worker(worker: &Worker) -> AnyLatch {
        AnyLatch::Worker(JobLatch::new(worker.bed_ptr()), worker.team().arc())
    }

    /// Sets a latch that is shared, and so alive during the call.
    pub(crate) fn set_shared(this: &Arc<AnyLatch>) {
        // SAFETY: the caller's count keeps the latch alive.
        unsafe { AnyLatch::set(Arc::as_ptr(this)) };
    }

    /// What the current worker, if the thread is one, pushes from now on lies above it.
    pub(crate) fn mark() -> Mark<Header> {
        current::current().map_or(Mark::START, Worker::mark)
    }

    /// Waits for jobs of `team`. A worker of that team looks at injected jobs only once `injected` says
    /// that one of its own is among them; a worker of another team, into which the jobs of `team` may
    /// call back, always looks at those of its own team.
    pub(crate) fn wait_for_jobs_of(&self, team: &Team, mark: Mark<Header>, injected: &AtomicBool) {
        match current::current() {
            Some(worker) if worker.is_in(team) => self.wait(mark, team.help(Some(injected))),
            _ => {
                let _outside = team.wait_outside();
                self.wait_for_anything(mark);
            }
        }
    }

    /// Waits for something outside of the worker's own team, which may need tasks of that team and jobs that
    /// are injected into it, whichever these are.
    pub(crate) fn wait_for_anything(&self, mark: Mark<Header>) {
        let help = current::current().map_or(Help::Anything, |worker| worker.team().help_outside());
        self.wait(mark, help);
    }

    /// Waits on the thread that made the latch. A worker helps meanwhile, as far as `help` lets it;
    /// `mark`: see [`Worker::wait_until`].
    pub(crate) fn wait(&self, mark: Mark<Header>, help: Help<'_>) {
        match (self, current::current()) {
            (AnyLatch::Worker(latch, _), Some(worker)) => worker.wait_until(latch, mark, help),
            (AnyLatch::Worker(..), None) => {
                unreachable!("a worker stays one until its job is done")
            }
            (AnyLatch::Foreign(latch), _) => latch.wait(),
        }
    }
}

// SAFETY: the pointer to the bed is only followed while the team that holds it is kept alive beside it;
// everything else is atomics.
unsafe impl Send for AnyLatch {}
// SAFETY: as above.
unsafe impl Sync for AnyLatch {}

impl Latch for AnyLatch {
    unsafe fn set(this: *const Self) {
        // SAFETY: `this` is live until the inner latch is set (obligation 1).
        match unsafe { &*this } {
            AnyLatch::Worker(latch, team) => {
                let latch = std::ptr::from_ref(latch);
                // Once set, the waiter may free the latch and its hold on the team; the bed that
                // `JobLatch::set` still touches is the team's.
                let team = team.clone();
                // SAFETY: the inner latch is live until it is set.
                unsafe { JobLatch::set(latch) };
                drop(team);
            }
            AnyLatch::Foreign(latch) => {
                let latch = std::ptr::from_ref(latch);
                // SAFETY: as above.
                unsafe { OnceLatch::set(latch) };
            }
        }
    }
}
