//! Forte: heartbeat scheduling; a `&Worker` is handed from job to job.

use super::{Build, Rival, Work};

/// A pool of its own, which is never shut down.
///
/// Why leak it? Forte's pools are `'static`, and `depopulate` of this version deadlocks: it joins
/// the heartbeat thread while it holds the lock that the heartbeat thread needs. A contestant is a
/// process of its own that is killed at the end, so the leak does no harm.
pub struct Forte(&'static ::forte::ThreadPool);

impl Build for Forte {
    fn build(workers: usize) -> Result<Self, String> {
        let others = workers.checked_sub(1).ok_or("Forte needs at least one thread")?;
        let pool: &'static ::forte::ThreadPool = Box::leak(Box::new(::forte::ThreadPool::new()));
        pool.resize_to(others);
        Ok(Self(pool))
    }
}

impl Forte {
    /// The pool itself.
    pub(crate) fn pool(&self) -> &'static ::forte::ThreadPool {
        self.0
    }
}

impl Rival for Forte {
    type Ctx<'c> = &'c ::forte::Worker;

    #[inline]
    fn enter<T: Send, F: Work<Self, T>>(&self, f: F) -> T {
        self.0.with_worker(|mut worker| f(&mut worker))
    }

    /// Forte offers its first closure and runs its second, so they are swapped here.
    #[inline]
    fn join<A, B, RA, RB>(worker: &mut &::forte::Worker, a: A, b: B) -> (RA, RB)
    where
        RA: Send,
        RB: Send,
        A: Work<Self, RA>,
        B: Work<Self, RB>,
    {
        let (rb, ra) = worker.join(|mut worker| b(&mut worker), |mut worker| a(&mut worker));
        (ra, rb)
    }
}
